/**
 * After a walk: everything is healed, and a person goes through the house until it is as it was. What
 * does not come right then is a violation too.
 *
 *     heal ─> changes end ─> mode left, first model back ─> tiers readmitted ─> adopted ─> quiet
 *
 * @module
 */

import type { Act } from "./act.ts";
import type { AgentAsks } from "./agent_asks.ts";
import { ask, type Words } from "./client.ts";
import type { StatusSample, Transcript, Violation } from "./facts.ts";
import { type Operators, wordOf } from "./operators.ts";
import { elapsed, pause } from "./time.ts";
import { sampleOf } from "./watch.ts";
import type { World } from "./world.ts";

const INVARIANT = "what was harmed comes right again";

/** How it ended. */
export interface Settled {
  readonly quiet: readonly StatusSample[];
  readonly transcripts: readonly Transcript[];
  readonly violations: readonly Violation[];
}

interface Parts {
  readonly world: World;
  readonly asks: AgentAsks;
  readonly operators: Operators;
  readonly words: Words;
  readonly seed: string;
  readonly say: (text: string) => void;
}

/** Brings every host back, one after the other. */
export async function settle(parts: Parts): Promise<Settled> {
  const { world, say } = parts;
  await world.heal();
  const violations: Violation[] = [];
  const quiet: StatusSample[] = [];
  const transcripts: Transcript[] = [];
  for (const host of world.hosts) {
    const trouble = await new Round(parts, host).go(quiet, transcripts);
    if (trouble === null) continue;
    say(`${host} does not come right: ${trouble}`);
    violations.push({ invariant: INVARIANT, detail: `${host}: ${trouble}` });
  }
  return { quiet, transcripts, violations };
}

/** Asks until `good` says so; null, or what was seen last. */
async function until<T>(
  what: string,
  ms: number,
  look: () => Promise<T>,
  good: (seen: T) => boolean,
): Promise<string | null> {
  const end = elapsed() + ms;
  for (;;) {
    const seen = await look();
    if (good(seen)) return null;
    if (elapsed() > end) return `${what}: ${JSON.stringify(seen)?.slice(0, 600)}`;
    await pause(500);
  }
}

interface Change {
  readonly change: string;
  readonly state: string;
}

class Round {
  readonly #parts: Parts;
  readonly #host: string;
  #steps = 0;

  constructor(parts: Parts, host: string) {
    this.#parts = parts;
    this.#host = host;
  }

  async go(quiet: StatusSample[], transcripts: Transcript[]): Promise<string | null> {
    const { world, words, seed } = this.#parts;
    const host = this.#host;
    return await this.#answers() ?? await this.#changesEnd() ?? await this.#modeLeft() ??
      await this.#firstModel() ?? await this.#serves() ?? await this.#readmitted() ??
      await this.#adopts() ?? await (async () => {
        for (const alias of ["llm.primary", "llm.embed"]) {
          const seen = await ask(world.data(host), {
            marker: `m-${seed}-${host}-last-${alias.replace(".", "-")}`,
            ...{ host, alias, dialect: "openai", stream: true, tokens: 5, leavesAfter: null },
          }, words);
          transcripts.push(seen);
          if (seen.end !== "whole") return `${alias} is answered as ${seen.end} ${seen.code}`;
        }
        const stopped = await until(
          "nothing is in flight",
          20_000,
          () => sampleOf(world, host, 0),
          (seen) => seen !== null && seen.tiers.every((one) => one.in_flight + one.waiting === 0),
        );
        const last = await sampleOf(world, host, 0);
        if (last !== null) quiet.push(last);
        return stopped;
      })();
  }

  #answers(): Promise<string | null> {
    const { world, asks } = this.#parts;
    return until("agent and router answer", 60_000, async () => ({
      health: (await asks.read(this.#host, "node.identity"))?.status ?? null,
      router: await sampleOf(world, this.#host, 0) !== null,
    }), ({ health, router }) => health === 200 && router);
  }

  async #changes(): Promise<{ live: string | null; newest: Change | null } | null> {
    const said = await this.#parts.asks.read(this.#host, "promotion.status", { most: 1 });
    if (said?.status !== 200) return null;
    const result = said.body["result"] as { live: string | null; changes: Change[] };
    return { live: result.live, newest: result.changes[0] ?? null };
  }

  /** Waits for what goes on, and goes on with what is stuck, as a person would. */
  async #changesEnd(): Promise<string | null> {
    for (let turn = 0; turn < 4; turn++) {
      const waited = await until(
        "no change is worked on",
        90_000,
        () => this.#changes(),
        (seen) => seen !== null && seen.live === null,
      );
      if (waited !== null) return waited;
      const newest = (await this.#changes())?.newest ?? null;
      if (newest === null || !/manual_recovery|going/.test(newest.state)) return null;
      const abandon = turn === 3;
      this.#parts.say(`${this.#host}: ${newest.change} is ${newest.state}: resumed`);
      await this.#mutate("promotion.resume", { change: newest.change, abandon });
    }
    return null;
  }

  async #modeLeft(): Promise<string | null> {
    const { asks } = this.#parts;
    const state = async () => {
      const said = await asks.read(this.#host, "mode.status");
      const result = said?.body["result"] as { modes?: { state: string }[] } | undefined;
      return result?.modes?.[0]?.state ?? wordOf(said);
    };
    let last = "";
    for (let turn = 0; turn < 3; turn++) {
      if (await state() === "outside") return null;
      last = await this.#mutate("mode.leave", { mode: "studio", drain_seconds: 10 });
      await this.#changesEnd();
    }
    const now = await state();
    return now === "outside" ? null : `the mode is ${now} after leaving: ${last}`;
  }

  async #firstModel(): Promise<string | null> {
    const { world, operators } = this.#parts;
    const isFirst = async () =>
      (await sampleOf(world, this.#host, 0))?.tiers.find(({ tier }) => tier === "primary")
        ?.members[0]?.id === "chat";
    let last = "";
    for (let turn = 0; turn < 3 && !await isFirst(); turn++) {
      last = await operators.promote(this.#act(), false, "back");
      await this.#changesEnd();
    }
    return await isFirst() ? null : `the first model does not come back: ${last}`;
  }

  /** What runs outside of modes runs. */
  async #serves(): Promise<string | null> {
    for (const serve of ["chat", "embed"]) {
      let last = "";
      for (let turn = 0; turn < 3 && last !== "done"; turn++) {
        last = await this.#mutate("serves.up", { serve });
      }
      if (last !== "done") return `${serve} does not come up: ${last}`;
    }
    return null;
  }

  async #readmitted(): Promise<string | null> {
    const { world } = this.#parts;
    for (const tier of ["primary", "embed"]) {
      let last = "";
      for (let turn = 0; turn < 5 && last !== "done"; turn++) {
        last = await this.#mutate("router.transition", { tier, action: "readmit" });
        if (last !== "done") await pause(1000);
      }
      if (last !== "done") return `${tier} is not readmitted: ${last}`;
    }
    return await until(
      "both tiers are ready",
      30_000,
      () => sampleOf(world, this.#host, 0),
      (seen) =>
        seen !== null &&
        seen.tiers.every(({ tier, readiness, intent }) =>
          tier === "video" || (readiness === "ready" && /^admit/.test(intent))
        ),
    );
  }

  /** A good candidate is adopted and proven. */
  async #adopts(): Promise<string | null> {
    const { world } = this.#parts;
    const rev = `last${this.#host.replace("-", "")}`;
    const published = await world.publish(this.#host, rev, "good");
    await this.#mutate("candidates.resume", {});
    const before = await world.adoption(this.#host);
    return await until(
      `a good candidate (${published}) is proven`,
      90_000,
      async () => {
        await world.adopterTurn(this.#host);
        const seen = await world.adoption(this.#host);
        // Manual recovery is an end too, when there is no way back: a person looks, and says so.
        if (seen.proven !== seen.current) {
          await world.adopter(this.#host, "recovered", "--why", "the walk is over");
        }
        return seen;
      },
      (seen) => seen.proven !== before.proven && seen.proven === seen.current,
    );
  }

  #act(): Act {
    const name = `last-${this.#host}-${++this.#steps}`;
    return { at: 0, kind: "promote", host: this.#host, name, again: 0, atOnce: false };
  }

  async #mutate(operation: string, input: object): Promise<string> {
    const key = `chaos-${this.#parts.seed}-${this.#act().name}`;
    return wordOf(await this.#parts.asks.mutate({ host: this.#host, operation, input, key }));
  }
}

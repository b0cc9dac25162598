/**
 * What the acts of a walk do: real operations on real agents, real candidates.
 *
 * @module
 */

import { createHash } from "node:crypto";
import type { Act } from "./act.ts";
import type { AgentAsks, Said } from "./agent_asks.ts";
import { pause } from "./time.ts";
import type { World } from "./world.ts";

const DRAIN_SECONDS = 8;

/** Acts. */
export class Operators {
  /** Tokens that were made, to be found nowhere. */
  readonly secrets: string[] = [];
  readonly #world: World;
  readonly #asks: AgentAsks;
  readonly #seed: string;
  readonly #say: (text: string) => void;

  constructor(world: World, asks: AgentAsks, seed: string, say: (text: string) => void) {
    this.#world = world;
    this.#asks = asks;
    this.#seed = seed;
    this.#say = say;
  }

  /** Performs one. Never rejects for what the world does. */
  async perform(act: Act): Promise<void> {
    const { kind, host, name } = act;
    const said = await this.#perform(act);
    this.#say(`${name} ${kind} on ${host}: ${said}`);
  }

  async #perform(act: Act): Promise<string> {
    const { kind, host, name } = act;
    switch (kind) {
      case "drain": {
        const input = { tier: "embed", action: "drain", timeout_seconds: DRAIN_SECONDS };
        const drained = await this.#mutate(act, "router.transition", input, "1");
        await pause(500);
        const readmit = { tier: "embed", action: "readmit" };
        const back = await this.#mutate(act, "router.transition", readmit, "2");
        return `${drained}, readmit ${back}`;
      }
      case "mode": {
        const input = { mode: "studio", drain_seconds: DRAIN_SECONDS };
        const entered = await this.#mutate(act, "mode.enter", input, "1");
        await pause(1500);
        return `${entered}, left ${await this.#mutate(act, "mode.leave", input, "2")}`;
      }
      case "promote": {
        const there = await this.promote(act, true, "1");
        await pause(1500);
        return `${there}, back ${await this.promote(act, false, "2")}`;
      }
      case "restart_serve":
        return await this.#mutate(act, "serves.restart", { serve: "embed" }, "1");
      case "rotate_token": {
        const token = this.#token(name);
        const input = { client: "watch", token: token.input, overlap_seconds: 0 };
        return await this.#mutate(act, "tokens.rotate", input, "1");
      }
      case "issue_token": {
        const token = this.#token(name);
        const client = `watch-${name}`;
        const input = { client, scopes: ["node.health:read"], token: token.input };
        return await this.#mutate(act, "tokens.issue", input, "1", token.hash);
      }
      case "adopt": {
        const staged = await this.#mutate(act, "candidates.stage", {}, "1");
        return `${staged}, adopt ${await this.#mutate(act, "candidates.adopt", {}, "2")}`;
      }
      case "rollback":
        return await this.#mutate(act, "candidates.rollback", {}, "1");
      case "hold": {
        const input = { reason: "chaos", hours: 1 };
        const held = await this.#mutate(act, "candidates.pause", input, "1");
        await pause(3000);
        return `${held}, resumed ${await this.#mutate(act, "candidates.resume", {}, "2")}`;
      }
      case "publish_good":
        return await this.#world.publish(host, `${name}good`, "good");
      case "publish_bad":
        return await this.#world.publish(host, `${name}worse`, "bad");
      case "publish_tampered":
        return await this.#world.publish(host, `${name}false`, "tampered");
      case "publish_other":
        return await this.#world.publish(host, `${name}other`, "other_host");
      case "look":
        return `exit ${await this.#world.operator("fleet", "status", "--target", "all")}`;
    }
  }

  /** Gives the primary alias its next model, or its first. */
  async promote(act: Act, next: boolean, step: string): Promise<string> {
    const { host } = act;
    const wish = {
      alias: "llm.primary",
      config: this.#world.routerText(host, next),
      evidence: await this.#world.evidence(host, next),
      drain_seconds: DRAIN_SECONDS,
    };
    const planned = await this.#asks.read(host, "promotion.plan", wish);
    if (planned?.status !== 200) return `no plan: ${wordOf(planned)}`;
    const { digest } = planned.body["result"] as { readonly digest: string };
    return await this.#mutate(act, "promotion.apply", { ...wish, plan: digest }, step);
  }

  async #mutate(
    { host, name, again, atOnce }: Act,
    operation: string,
    input: object,
    step: string,
    hash?: string,
  ): Promise<string> {
    const key = `chaos-${this.#seed}-${name}-${step}`;
    const mutation = { host, operation, input, key, ...(hash === undefined ? {} : { hash }) };
    return wordOf(await this.#asks.mutate(mutation, again, atOnce));
  }

  #token(name: string) {
    const secret = `anvil_${createHash("sha256").update(`${this.#seed}/${name}`).digest("hex")}`;
    this.secrets.push(secret);
    const hash = createHash("sha256").update(secret).digest("hex");
    return { hash, input: { id: `tk-${name}`, sha256: hash } };
  }
}

/** What was said, in a word. */
export function wordOf(said: Said | null): string {
  if (said === null) return "no answer";
  if (said.status === 200) return "done";
  const detail = said.status < 500 ? "" : ` (${String(said.body["detail"]).slice(0, 120)})`;
  return `${said.status} ${said.body["code"]}${detail}`;
}

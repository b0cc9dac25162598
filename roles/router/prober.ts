/**
 * Asks every member, again and again and never on a request's path, which model it serves.
 *
 * @module
 */

import type { Clock } from "../../lib/core/clock.ts";
import type { Secret } from "../../lib/core/secret.ts";
import {
  AGENT_KIND,
  AGENT_PROOF_TARGET,
  agentQuestion,
  judgeAgent,
} from "../../lib/identity/agent_proof.ts";
import { judge, probePath } from "../../lib/identity/kinds.ts";
import type { Finding, Readiness } from "../../lib/identity/readiness.ts";
import type {
  ByteSource,
  Endpoint,
  HeaderList,
  Upstream,
  UpstreamAsk,
} from "../../lib/relay/upstream.ts";
import type { Member, Tier } from "./tier.ts";

/** A longer probe answer is not read. */
const MOST_ANSWER_BYTES = 1024 * 1024;

/** What the prober needs. */
export interface ProberPorts {
  readonly clock: Clock;
  readonly upstream: Upstream;
  /** This host's id: what an agent that is asked must be. */
  readonly node: string;
  /** The agent's token for this router; null where it asks for none. */
  readonly agentToken: (tier: Tier) => Secret | null;
  /** Told when what is known of a member changed. */
  readonly changed: (tier: Tier, member: Member, before: Readiness, after: Readiness) => void;
}

/** How often and how long. */
export interface ProbeTimes {
  readonly interval_ms: number;
  readonly timeout_ms: number;
}

/** Probes the members of all tiers until it is stopped. */
export class Prober {
  readonly #ports: ProberPorts;
  readonly #times: ProbeTimes;
  readonly #stop = new AbortController();
  /** Members to be probed again at once, and what ends the pause before their next probe. */
  readonly #nudged = new Set<Member>();
  readonly #pauses = new Map<Member, AbortController>();
  #running: Promise<unknown> = Promise.resolve();

  constructor(ports: ProberPorts, times: ProbeTimes) {
    this.#ports = ports;
    this.#times = times;
  }

  /** Starts one loop per member. */
  start(tiers: readonly Tier[]): void {
    this.#running = Promise.all(
      tiers.flatMap((tier) => tier.config.members.map((member) => this.#watch(tier, member))),
    );
  }

  /** Stops all loops; resolves when none runs. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** Probes a member now rather than at its next turn: something on the request path failed. */
  nudge(member: Member): void {
    this.#nudged.add(member);
    this.#pauses.get(member)?.abort();
  }

  async #watch(tier: Tier, member: Member): Promise<void> {
    const { clock } = this.#ports;
    while (!this.#stop.signal.aborted) {
      this.#nudged.delete(member);
      await this.probe(tier, member);
      const pause = new AbortController();
      this.#pauses.set(member, pause);
      // A nudge that came while the probe ran is about what the probe may not have seen.
      if (this.#nudged.has(member)) pause.abort();
      const woken = AbortSignal.any([pause.signal, this.#stop.signal]);
      await clock.sleep(this.#times.interval_ms, woken).catch(() => {});
      const staleAfterMs = 3 * (this.#times.interval_ms + this.#times.timeout_ms);
      this.#tell(tier, member, { kind: "tick", at: clock.monotonic(), staleAfterMs });
    }
  }

  /** One probe, judged and taken in. */
  async probe(tier: Tier, member: Member): Promise<Finding> {
    const { epoch } = tier.readinessOf(member.id);
    const finding = await this.#find(tier, member);
    if (!this.#stop.signal.aborted) {
      this.#tell(tier, member, {
        kind: "probed",
        epoch,
        finding,
        inFlight: tier.inFlightOn(member.id),
        at: this.#ports.clock.monotonic(),
      });
    }
    return finding;
  }

  #tell(tier: Tier, member: Member, event: Parameters<Tier["observe"]>[1]): void {
    const [before, after] = tier.observe(member.id, event);
    if (before.state !== after.state || before.observed !== after.observed) {
      this.#ports.changed(tier, member, before, after);
    }
  }

  /** What the agent of the member's host is asked about the member's port. */
  #agentAsk(
    tier: Tier,
    member: Member,
    endpoint: Endpoint,
  ): Omit<UpstreamAsk, "connectMs" | "signal"> {
    const { node, agentToken } = this.#ports;
    const token = agentToken(tier);
    const body = encoder.encode(agentQuestion(member.endpoint.port));
    return {
      endpoint,
      method: "POST",
      target: AGENT_PROOF_TARGET,
      headers: [
        ...PLAIN,
        ["content-type", "application/json"],
        ["x-anvil-node", tier.config.host ?? node],
        ...(token === null ? [] : [["authorization", `Bearer ${token.reveal()}`] as const]),
      ],
      body: { kind: "bytes", size: body.length, chunks: [body] },
    };
  }

  async #find(tier: Tier, member: Member): Promise<Finding> {
    const { clock, upstream } = this.#ports;
    const { identity, served_model, timeouts } = tier.config;
    const question = identity.kind === AGENT_KIND
      ? this.#agentAsk(tier, member, identity.agent ?? member.endpoint)
      : {
        endpoint: member.endpoint,
        method: "GET" as const,
        target: probePath(identity.kind),
        headers: PLAIN,
        body: { kind: "none" as const },
      };
    const over = new AbortController();
    const timer = new AbortController();
    clock.sleep(this.#times.timeout_ms, AbortSignal.any([timer.signal, this.#stop.signal]))
      .then(() => over.abort(), () => over.abort());
    try {
      const answer = await upstream.send({
        ...question,
        connectMs: Math.min(timeouts.connect_ms, this.#times.timeout_ms),
        signal: over.signal,
      });
      if (answer.kind === "failed") {
        if (over.signal.aborted || answer.code === "connect_timeout") return { kind: "silent" };
        const nobody = answer.code === "connect_refused";
        return { kind: "refused", detail: nobody ? "nothing listens there" : "no whole answer" };
      }
      if (answer.status !== 200) {
        answer.body.cancel();
        return { kind: "status", status: answer.status };
      }
      const text = await wholeText(answer.body);
      if (over.signal.aborted) return { kind: "silent" };
      if (text === null) {
        return { kind: "unparseable", detail: "the answer is cut or larger than 1 MiB" };
      }
      return identity.kind === AGENT_KIND
        ? judgeAgent(served_model, text)
        : judge(identity.kind, served_model, text);
    } finally {
      timer.abort();
    }
  }
}

const PLAIN: HeaderList = [["accept", "application/json"], ["accept-encoding", "identity"]];
const encoder = new TextEncoder();

async function wholeText(body: ByteSource): Promise<string | null> {
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for (;;) {
    const read = await body.read(new Uint8Array(16 * 1024));
    if (read.kind === "end") return text + decoder.decode();
    if (read.kind === "broken") return null;
    size += read.bytes.length;
    if (size > MOST_ANSWER_BYTES) {
      body.cancel();
      return null;
    }
    text += decoder.decode(read.bytes, { stream: true });
  }
}

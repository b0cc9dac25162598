/**
 * Metrics in the Prometheus text format. Counters start at zero with the process and say when that
 * was; nothing is kept across a restart. Gauges are read from the router when they are asked for.
 *
 * @module
 */

import { Gauge, Registry } from "prom-client";
import type { FailureCode } from "../../lib/relay/failure.ts";
import type { Core } from "./core.ts";
import type { Decision } from "./decision.ts";
import type { Decisions } from "./decisions.ts";
import { Spread, Tally } from "./tallies.ts";

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
/** Label value where a request named no tier. */
const NONE = "none";

/** What the metrics need besides the core. */
export interface MetricsPorts {
  readonly version: string;
  /** Resident memory of this process, in bytes. */
  readonly residentBytes: () => number;
}

/** The metrics of one router. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #requests = new Tally({
    name: "anvil_router_requests_total",
    help: "Requests that ended, by how they ended.",
    labelNames: ["tier", "dialect", "outcome", "code"] as const,
    registers: [this.#registry],
  });
  readonly #dispatched = new Tally({
    name: "anvil_router_dispatches_total",
    help: "Requests of which any byte may have reached a member.",
    labelNames: ["tier", "member"] as const,
    registers: [this.#registry],
  });
  readonly #turnedAway = new Tally({
    name: "anvil_router_turned_away_total",
    help: "Refused before they were a model request: no HTTP, no such path, no token for a list.",
    labelNames: ["code"] as const,
    registers: [this.#registry],
  });
  readonly #bytes = new Tally({
    name: "anvil_router_body_bytes_total",
    help: "Body bytes received from and sent to clients.",
    labelNames: ["tier", "direction"] as const,
    registers: [this.#registry],
  });
  readonly #tokens = new Tally({
    name: "anvil_router_tokens_total",
    help: "Tokens as the members stated them.",
    labelNames: ["tier", "direction"] as const,
    registers: [this.#registry],
  });
  readonly #duration = this.#histogram("request", "From arrival to the end of the answer.");
  readonly #firstByte = this.#histogram("first_byte", "From arrival to the member's first byte.");
  readonly #queue = this.#histogram("queue", "Time a granted request waited for its lease.");

  constructor(core: Core, decisions: Decisions, ports: MetricsPorts) {
    const started = core.startedAt / 1000;
    this.#gauge(
      "process_start_time_seconds",
      "Start of the process since the epoch.",
      () => started,
    );
    this.#gauge("process_resident_memory_bytes", "Resident memory.", ports.residentBytes);
    this.#gauge(
      "anvil_router_open_requests",
      "Requests that have not ended.",
      () => core.open.size,
    );
    this.#gauge(
      "anvil_router_buffered_bytes",
      "Request body bytes held.",
      () => core.bounds.budget.held,
    );
    this.#gauge("anvil_router_draining", "1 while the router stops.", () => core.draining ? 1 : 0);
    this.#gauge(
      "anvil_router_decisions_lost",
      "Decision records that could not be kept since the start.",
      () => decisions.lost,
    );
    const tiers = [...core.tiers.values()];
    this.#tierGauge("in_flight", "Leases held.", tiers, (tier) => tier.inFlight);
    this.#tierGauge("waiting", "Requests in the queue.", tiers, (tier) => tier.waiting);
    this.#tierGauge(
      "ready_members",
      "Members that proved the pinned model.",
      tiers,
      (tier) => tier.report().members.filter((member) => member.state === "ready").length,
    );
    this.#tierGauge("admits", "1 when requests are taken.", tiers, (tier) => tier.admits ? 1 : 0);
    new Gauge({
      name: "anvil_router_build_info",
      help: "Which build this is; always 1.",
      labelNames: ["version", "node"] as const,
      registers: [this.#registry],
    }).set({ version: ports.version, node: core.config.node }, 1);
  }

  /** Counts a request that was refused before it was an exchange. */
  turnedAway(code: FailureCode): void {
    this.#turnedAway.add(code, 1, () => ({ code }));
  }

  /** Takes one ended request in. */
  take(decision: Decision): void {
    const { outcome, bytes_in, bytes_out, ttft_ms, queue_ms } = decision;
    const tier = decision.tier ?? NONE;
    const dialect = decision.dialect ?? NONE;
    const code = decision.code ?? NONE;
    this.#requests.add(
      `${tier} ${dialect} ${outcome} ${code}`,
      1,
      () => ({ tier, dialect, outcome, code }),
    );
    if (decision.dispatched === 1) {
      const member = decision.member ?? NONE;
      this.#dispatched.add(`${tier} ${member}`, 1, () => ({ tier, member }));
    }
    inAndOut(this.#bytes, tier, bytes_in, bytes_out);
    const { input_tokens = null, output_tokens = null } = decision.usage ?? {};
    inAndOut(this.#tokens, tier, input_tokens, output_tokens);
    this.#duration.note(tier, decision.duration_ms / 1000);
    if (ttft_ms !== null) this.#firstByte.note(tier, ttft_ms / 1000);
    if (queue_ms !== null) this.#queue.note(tier, queue_ms / 1000);
  }

  /** All metrics, and the content type they have. */
  async text(): Promise<{ readonly body: string; readonly contentType: string }> {
    return { body: await this.#registry.metrics(), contentType: this.#registry.contentType };
  }

  #histogram(what: string, help: string): Spread {
    return new Spread({
      name: `anvil_router_${what}_seconds`,
      help,
      labelNames: ["tier"] as const,
      buckets: SECONDS,
      registers: [this.#registry],
    });
  }

  #gauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name,
      help,
      registers: [this.#registry],
      collect() {
        this.set(read());
      },
    });
  }

  #tierGauge<Tier extends { readonly config: { readonly id: string } }>(
    what: string,
    help: string,
    tiers: readonly Tier[],
    read: (tier: Tier) => number,
  ): void {
    new Gauge({
      name: `anvil_router_tier_${what}`,
      help,
      labelNames: ["tier"] as const,
      registers: [this.#registry],
      collect() {
        for (const tier of tiers) this.set({ tier: tier.config.id }, read(tier));
      },
    });
  }
}

function inAndOut(
  tally: Tally<"tier" | "direction">,
  tier: string,
  into: number | null,
  out: number | null,
): void {
  if (into !== null) tally.add(`${tier} in`, into, () => ({ tier, direction: "in" }));
  if (out !== null) tally.add(`${tier} out`, out, () => ({ tier, direction: "out" }));
}

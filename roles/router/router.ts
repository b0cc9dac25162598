/**
 * A router at work: listeners, probes, sweeps and the decision log, from start to drained stop.
 *
 *     start: roster -> listeners -> probes          stop: draining -> data listener closed
 *                                                         -> streams end, or are ended at the deadline
 *                                                         -> sinks flushed -> admin listener closed
 *
 * @module
 */

import type { Refusal } from "../../lib/core/refusal.ts";
import type { Clock } from "../../lib/core/clock.ts";
import type { RandomBytes } from "../../lib/core/ids.ts";
import type { Secret } from "../../lib/core/secret.ts";
import type { Remarks } from "../../lib/core/remarks.ts";
import type { RecordSink } from "../../lib/core/record_sink.ts";
import type { Upstream } from "../../lib/relay/upstream.ts";
import type { AcceptedConn } from "../../lib/intake/asked.ts";
import { handleAdmin } from "./admin.ts";
import type { RouterRoster } from "./clients.ts";
import type { RouterConfig } from "./config_shape.ts";
import { Core, type RequestSpan } from "./core.ts";
import { DataListener, type Door } from "./data_listener.ts";
import type { Decision } from "./decision.ts";
import { Decisions } from "./decisions.ts";
import { FORGETFUL, type IntentStore } from "./intent_file.ts";
import { Metrics } from "./metrics.ts";
import { Prober } from "./prober.ts";
import type { Tier } from "./tier.ts";
import { Transitions } from "./transition.ts";
import type { Endpoint } from "../../lib/relay/upstream.ts";

/** A listener that was opened. */
export interface Listener {
  readonly kind: "listening";
  readonly port: number;
  /** Refuses new connections at once; resolves when the last response has ended. */
  shutdown(): Promise<void>;
}

/** Everything a router needs from outside. */
export interface RouterPorts {
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly upstream: Upstream;
  readonly remarks: Remarks;
  /** Where decisions are kept; null keeps only the newest in memory. */
  readonly decisions: RecordSink<Decision> | null;
  /** Opens the admin listener. */
  readonly listen: (
    at: Endpoint,
    handler: (request: Request) => Response | Promise<Response>,
  ) => Listener | Refusal;
  /** Opens the data listener. */
  readonly accept: (
    at: Endpoint,
    reusePort: boolean,
    take: (conn: AcceptedConn) => void,
  ) => Door | Refusal;
  /** The agent's token for a tier whose identity an agent proves; null where it asks for none. */
  readonly agentToken: (tier: Tier) => Secret | null;
  /** Takes the span of a request that ended; null while nobody wants traces. */
  readonly traced: ((span: RequestSpan) => void) | null;
  /** Where intent is kept; null forgets it with the process. */
  readonly intents: IntentStore | null;
  /** Resident memory of this process, in bytes. */
  readonly residentBytes: () => number;
  readonly version: string;
  /** SHA-256 that names the build; from source there is none. */
  readonly buildDigest?: string | null;
  readonly configDigest: string;
}

/** How often deadlines are looked at, in milliseconds: how late one may fire. */
const SWEEP_MS = 100;

/** A running router. */
export class Router {
  readonly core: Core;
  readonly #ports: RouterPorts;
  readonly #prober: Prober;
  readonly #decisions: Decisions;
  readonly #metrics: Metrics;
  readonly #transitions: Transitions;
  readonly #sweeping = new AbortController();
  readonly #data: DataListener;
  #admin: Listener | null = null;

  constructor(config: RouterConfig, ports: RouterPorts, roster: (() => RouterRoster) | null) {
    this.#ports = ports;
    const { clock, random, upstream, remarks } = ports;
    this.core = new Core(config, {
      clock,
      random,
      upstream,
      traced: ports.traced,
      turnedAway: (code) => this.#metrics.turnedAway(code),
      decided: (decision) => {
        this.#decisions.take(decision);
        this.#metrics.take(decision);
      },
      onMemberTrouble: (tier, member, cause) => {
        remarks.warn("member {member} of tier {tier} failed a request: {cause}", {
          tier: tier.config.id,
          member: member.id,
          cause,
        });
        this.#prober.nudge(member);
      },
      onBug: (error) =>
        remarks.error("a request failed in a way nobody foresaw: {error}", { error }),
    }, roster);
    this.#prober = new Prober({
      clock,
      upstream,
      node: config.node,
      agentToken: ports.agentToken,
      changed: (tier, member, before, after) => {
        const said = after.state === "ready" ? remarks.info : remarks.warn;
        said(
          "member {member} of tier {tier} is {state}: expected {expected}, observed {observed}",
          {
            tier: tier.config.id,
            member: member.id,
            state: after.state,
            before: before.state,
            expected: tier.config.served_model,
            observed: after.observed,
          },
        );
      },
    }, config.probes);
    this.#decisions = new Decisions(ports.decisions);
    this.#metrics = new Metrics(this.core, this.#decisions, ports);
    this.#data = new DataListener(this.core);
    this.#transitions = new Transitions(this.core, {
      clock,
      intents: ports.intents ?? FORGETFUL,
      persisted: ports.intents !== null,
      prober: this.#prober,
    });
  }

  /** Ports the listeners are bound to. */
  get ports(): { readonly data: number; readonly admin: number } {
    return { data: this.#data.port, admin: this.#admin?.port ?? 0 };
  }

  /** Opens both listeners and starts to probe; null, or why it cannot. */
  async start(): Promise<Refusal | null> {
    const { listen, remarks } = this.#ports;
    const { config } = this.core;
    const unknown = await this.#transitions.restore();
    if (unknown !== null) {
      remarks.error("every tier starts quiesced: {unknown}; readmit them one by one", { unknown });
    }
    const admin = listen(
      config.listen.admin, // never shared: a transition would reach the wrong one of two routers
      (request) =>
        handleAdmin(this.core, {
          decisions: this.#decisions,
          metrics: this.#metrics,
          transitions: this.#transitions,
          version: this.#ports.version,
          buildDigest: this.#ports.buildDigest ?? null,
          configDigest: this.#ports.configDigest,
        }, request),
    );
    if (admin.kind === "refused") return admin;
    this.#prober.start([...this.core.tiers.values()]);
    // Half of all connections would come here at once, away from a router that answers them.
    if (config.listen.reuse_port) await this.#untilReady();
    const refused = this.#data.open(this.#ports.accept);
    if (refused !== null) {
      await Promise.all([admin.shutdown(), this.#prober.stop()]);
      return refused;
    }
    this.#admin = admin;
    void this.#sweep();
    return null;
  }

  /**
   * Stops: refuses new work at once, lets what runs finish within the drain budget, ends the rest
   * with an error event, flushes. `hurry` cuts the budget short. Returns how many were ended.
   */
  async stop(hurry?: AbortSignal): Promise<{ readonly cut: number }> {
    const { clock, remarks } = this.#ports;
    const { core } = this;
    core.draining = true;
    core.refusing = !core.config.listen.reuse_port;
    remarks.info("stopping: {open} requests are open", { open: core.open.size });
    const closed = this.#data.shutdown();
    const over = new AbortController();
    const budget = core.config.limits.drain_seconds * 1000;
    const deadline = clock.sleep(budget, AbortSignal.any([over.signal, ...(hurry ? [hurry] : [])]))
      .catch(() => {});
    await Promise.race([closed, deadline]);
    over.abort();
    const cut = core.open.size;
    if (cut > 0) {
      for (const exchange of [...core.open]) exchange.stop();
      // What they are owed goes out now; a client that does not read it is not waited for.
      await atMost(CLOSING_MS, closed, clock);
    }
    this.#data.abandon();
    await atMost(CLOSING_MS, closed, clock);
    // Exchanges whose connection was just broken still have their decision to record.
    for (let look = 0; core.open.size > 0 && look < 100; look++) await clock.sleep(10);
    this.#sweeping.abort();
    await this.#prober.stop();
    this.#ports.upstream.close();
    await this.#decisions.close();
    // Not awaited without bound either: a keep-alive connection may stay.
    await atMost(CLOSING_MS, this.#admin?.shutdown(), clock);
    remarks.info("stopped: {cut} requests were cut", { cut });
    return { cut };
  }

  /** Waits until every tier that is wanted has a ready member, or for as long as a takeover may take. */
  async #untilReady(): Promise<void> {
    const { clock, remarks } = this.#ports;
    const tiers = [...this.core.tiers.values()];
    const until = clock.monotonic() + TAKEOVER_MS;
    while (tiers.some((tier) => !tier.admits && tier.report().intent === "admit")) {
      if (clock.monotonic() > until) {
        return remarks.warn("takes requests although not every tier is ready", {});
      }
      await clock.sleep(20);
    }
  }

  async #sweep(): Promise<void> {
    const { signal } = this.#sweeping;
    while (!signal.aborted) {
      this.core.sweep();
      this.#data.sweep();
      await this.#ports.clock.sleep(SWEEP_MS, signal).catch(() => {});
    }
  }
}

/** How long a router that shares its port waits to become ready before it takes requests, in ms. */
const TAKEOVER_MS = 20_000;

/** How long the last bytes may take to leave, in milliseconds. */
const CLOSING_MS = 1000;

/** Waits for `done`, but no longer than `ms`; leaves no timer behind. */
async function atMost(ms: number, done: Promise<void> | undefined, clock: Clock): Promise<void> {
  const over = new AbortController();
  await Promise.race([done, clock.sleep(ms, over.signal).catch(() => {})]);
  over.abort();
}

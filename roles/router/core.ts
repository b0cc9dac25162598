/**
 * What all exchanges share: configuration, tiers, and the requests open now.
 *
 * @module
 */

import type { Clock } from "../../lib/core/clock.ts";
import { countedIds, type RandomBytes } from "../../lib/core/ids.ts";
import type { FailureCode } from "../../lib/relay/failure.ts";
import type { Upstream } from "../../lib/relay/upstream.ts";
import { type AskBounds, BufferBudget } from "./ask.ts";
import type { NamedHeaders } from "../../lib/credential/clients.ts";
import { type Authenticated, LOOPBACK, type RouterRoster } from "./clients.ts";
import type { RouterConfig } from "./config_shape.ts";
import type { Decision } from "./decision.ts";
import type { Exchange } from "./exchange.ts";
import { type Member, Tier } from "./tier.ts";

/** A request as a trace shows it: no query, no header, no content. */
export interface RequestSpan {
  /** Method and route. */
  readonly name: string;
  /** Epoch milliseconds. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly failed: boolean;
  /** As the client sent it. */
  readonly traceparent: string | null;
}

/** What the data side needs from outside. */
export interface CorePorts {
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly upstream: Upstream;
  /** Told of a request that was refused before it was an exchange. */
  readonly turnedAway: (code: FailureCode) => void;
  /** Takes the record of a request that ended. Must not wait or throw. */
  readonly decided: (decision: Decision) => void;
  /** Takes the span of a request that ended; null while nobody wants traces. */
  readonly traced: ((span: RequestSpan) => void) | null;
  /** Told when a send to a member failed. `cause` may name an address: for the log only. */
  readonly onMemberTrouble: (tier: Tier, member: Member, cause: string) => void;
  /** Told of an exception nobody expected. */
  readonly onBug: (error: unknown) => void;
}

const MIB = 1024 * 1024;

/** The shared state of one router. */
export class Core {
  readonly ports: CorePorts;
  readonly config: RouterConfig;
  readonly tiers: ReadonlyMap<string, Tier>;
  /** The clients known now; null when every request on the loopback is trusted. */
  readonly roster: (() => RouterRoster) | null;
  readonly #loopback: Authenticated = { kind: "known", principal: LOOPBACK };
  readonly bounds: AskBounds;
  /** Names an exchange. */
  readonly nextId: () => string;
  /** Requests that have not ended. */
  readonly open = new Set<Exchange>();
  /** The router stops: it is not ready, and takes no transition. */
  draining = false;
  /** New requests are refused. Not so while a successor shares the port: then they are few, and served. */
  refusing = false;
  /** Epoch milliseconds. */
  readonly startedAt: number;

  constructor(config: RouterConfig, ports: CorePorts, roster: (() => RouterRoster) | null) {
    this.config = config;
    this.ports = ports;
    this.roster = roster;
    this.nextId = countedIds("ex", ports.random);
    this.startedAt = ports.clock.now();
    this.tiers = new Map(config.tiers.map((tier) => [tier.id, new Tier(tier, ports.clock)]));
    this.bounds = {
      bodyBytes: config.limits.body_mib * MIB,
      budget: new BufferBudget(config.limits.buffered_mib * MIB),
    };
  }

  /** Whose request it is whose headers these are. */
  authenticate(headers: NamedHeaders): Authenticated {
    return this.roster === null
      ? this.#loopback
      : this.roster().authenticate(headers, this.ports.clock.now());
  }

  /** Cuts short every exchange whose deadline is past. */
  sweep(): void {
    const now = this.ports.clock.monotonic();
    for (const exchange of this.open) exchange.expire(now);
  }
}

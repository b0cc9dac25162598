/**
 * What is written down of a walk, and judged by the invariants. Times are milliseconds since the
 * walk began, by one monotonic clock, unless a name says otherwise.
 *
 * @module
 */

import type { Fault } from "./fault.ts";

/** The header in which a client marks a request, so that every record of it can be joined. */
export const MARKER_HEADER = "x-chaos-marker";

/** How a request ended, as its client saw it. */
export type ClientEnd =
  /** The answer was whole and ended as its dialect ends. */
  | "whole"
  /** A stream that ended with an error event, and said so. */
  | "error_event"
  /** A status of 400 or more. */
  | "refused"
  /** The connection ended in the middle: the client can see that. */
  | "cut"
  /** The framing says whole, and neither a terminator nor an error came. */
  | "untrue"
  /** The client left. */
  | "left"
  /** The client waited too long and left. */
  | "gave_up"
  /** Nobody answered the connection. */
  | "unreachable";

/** One request, as its client saw it. */
export interface Transcript {
  readonly marker: string;
  readonly host: string;
  readonly alias: string;
  readonly stream: boolean;
  /** The engine was told to answer it wrongly. */
  readonly spoiled: boolean;
  readonly began: number;
  readonly ended: number;
  readonly status: number | null;
  readonly end: ClientEnd;
  /** The dialect's terminator was seen. */
  readonly terminator: boolean;
  /** The tokens that came are 1, 2, … up to as many as were asked for. */
  readonly complete: boolean;
  /** `x-anvil-code` of a refusal, or the code in an error event. */
  readonly code: string | null;
}

/** A line of an engine's diary. */
export interface DiaryLine {
  readonly host: string;
  readonly program: string;
  readonly model: string;
  readonly marker: string;
  readonly when: "came" | "sent_whole" | "broken_off";
  /** By the walk's clock. */
  readonly at: number;
}

/** A decision of a router, as far as it is judged. */
export interface DecisionFact {
  readonly host: string;
  readonly request_id: string;
  readonly outcome: string;
  readonly code: string | null;
  readonly status: number | null;
  readonly dispatched: 0 | 1;
  readonly tier: string | null;
}

/** One life of a program. */
export interface Life {
  readonly host: string;
  readonly program: string;
  /** Of an engine: what it serves, and what the tier expects at its port. */
  readonly model: string | null;
  readonly expected: string | null;
  readonly began: number;
  readonly ended: number | null;
}

/** A look at a router's status. It was made between `from` and `to`. */
export interface StatusSample {
  readonly host: string;
  readonly from: number;
  readonly to: number;
  /** Requests of the walk's clients open on this host, or ended less than ten seconds ago. */
  readonly open: number;
  readonly tiers: readonly {
    readonly tier: string;
    readonly intent: string;
    readonly readiness: string;
    readonly in_flight: number;
    readonly waiting: number;
    readonly members: readonly {
      readonly id: string;
      readonly state: string;
      readonly age_ms: number | null;
      readonly program: string;
    }[];
  }[];
}

/** One answer of an agent to a mutation. */
export interface AskFact {
  readonly host: string;
  readonly operation: string;
  readonly key: string;
  readonly at: number;
  readonly status: number | null;
  /** `done`, or the code of the refusal; null when no answer came. */
  readonly said: string | null;
  readonly run: string | null;
  /** State of the run in the answer; null when none was told. */
  readonly state: string | null;
  readonly effect: string | null;
  /** Of a token operation: the hash that was given. */
  readonly hash: string | null;
}

/** A row of an agent's ledger. */
export interface LedgerRow {
  readonly host: string;
  readonly id: string;
  readonly key: string;
  readonly operation: string;
  readonly state: string;
  readonly effect: string;
}

/** A record of an agent's audit, as far as it is judged. */
export interface AuditFact {
  readonly host: string;
  readonly phase: string;
  readonly operation: string;
  readonly key: string | null;
  /** `read`, `plan` or `apply`. */
  readonly action: string;
  readonly outcome: string | null;
}

/** An order that reached a host's supervisor from a program of ours. */
export interface OrderFact {
  readonly host: string;
  readonly at: number;
  readonly verb: string;
  readonly unit: string;
}

/** A look at what an adopter says of itself. */
export interface AdoptionSample {
  readonly host: string;
  readonly at: number;
  /** Digest of the proven generation. */
  readonly proven: string | null;
  readonly current: string | null;
}

/** A run of a host's probe. */
export interface ProbeRun {
  readonly host: string;
  readonly digest: string;
  readonly pass: boolean;
  /** By the machine's uptime, which nobody sets. */
  readonly upMs: number;
}

/** A candidate that was published. `good`: its probes pass and its envelope is true. */
export interface Published {
  readonly host: string;
  readonly digest: string;
  readonly good: boolean;
}

/** A place where a secret was found. */
export interface Leak {
  readonly sink: string;
  readonly what: string;
}

/** A fault as it was really inflicted. */
export interface Inflicted {
  readonly fault: Fault;
  readonly from: number;
  readonly to: number;
}

/** Everything that is known of a walk. */
export interface Facts {
  readonly hosts: readonly string[];
  readonly inflicted: readonly Inflicted[];
  readonly transcripts: readonly Transcript[];
  readonly diary: readonly DiaryLine[];
  readonly decisions: readonly DecisionFact[];
  readonly lives: readonly Life[];
  readonly samples: readonly StatusSample[];
  readonly asks: readonly AskFact[];
  readonly ledger: readonly LedgerRow[];
  readonly audit: readonly AuditFact[];
  readonly orders: readonly OrderFact[];
  readonly adoption: readonly AdoptionSample[];
  readonly probes: readonly ProbeRun[];
  readonly published: readonly Published[];
  /** SHA-256 of the tokens in each agent's clients file, at the end. */
  readonly tokens: readonly { readonly host: string; readonly hash: string }[];
  readonly leaks: readonly Leak[];
  /** Trouble of the records themselves: an audit whose chain breaks, a ledger that cannot be read. */
  readonly broken: readonly { readonly host: string; readonly what: string }[];
  /** After everything was healed and it was quiet. */
  readonly quiet: readonly StatusSample[];
}

/** What must never be. */
export interface Violation {
  readonly invariant: string;
  readonly detail: string;
}

/**
 * Whether a member may be sent requests: what its last probe said, and whether that still counts.
 *
 *     unknown ──match──> ready ──mismatch, refused, unparseable──> wrong / unreachable / unreadable
 *        ^                 │──silent while busy──> ready (a busy engine is not an unhealthy one)
 *        └──epoch moved────┘──silent while idle, twice──> unreachable
 *
 * A probe carries the epoch it began in. An epoch that moved meanwhile (a transition, a restart)
 * makes its answer void: nothing that was asked before can make anything ready after.
 *
 * @module
 */

import type { Verdict } from "./kinds.ts";

/** What one probe found. */
export type Finding =
  | Verdict
  /** Nobody took the connection. */
  | { readonly kind: "refused"; readonly detail: string }
  /** No whole answer in time. */
  | { readonly kind: "silent" }
  /** An answer with another status than 200. */
  | { readonly kind: "status"; readonly status: number };

/** What is known of one member. */
export interface Readiness {
  readonly epoch: number;
  readonly state: "unknown" | "ready" | "identity_mismatch" | "unreachable" | "unparseable";
  /** For people: what was observed; names of models, never an address. */
  readonly observed: string;
  /** When the finding behind `state` was made, in monotonic milliseconds; null before the first. */
  readonly at: number | null;
  /** Silent probes in a row. */
  readonly silences: number;
}

/** Something that happened to a member. */
export type ReadinessEvent =
  | {
    readonly kind: "probed";
    /** The epoch the probe began in. */
    readonly epoch: number;
    readonly finding: Finding;
    /** Requests of ours the member was serving when the probe ended. */
    readonly inFlight: number;
    readonly at: number;
  }
  /** A transition or restart: what was known before counts no more. */
  | { readonly kind: "epoch-moved" }
  | { readonly kind: "tick"; readonly at: number; readonly staleAfterMs: number };

/** A member nobody has probed yet. */
export const UNPROBED: Readiness = {
  epoch: 0,
  state: "unknown",
  observed: "not probed yet",
  at: null,
  silences: 0,
};

/** Silent probes in a row that make an idle member unreachable. */
const SILENCES_TOLERATED = 1;

/** The state after `event`. */
export function step(readiness: Readiness, event: ReadinessEvent): Readiness {
  switch (event.kind) {
    case "epoch-moved":
      return { ...UNPROBED, epoch: readiness.epoch + 1 };
    case "tick":
      return readiness.at !== null && event.at - readiness.at > event.staleAfterMs
        ? { ...readiness, state: "unknown", observed: "the last finding is too old", at: null }
        : readiness;
    case "probed":
      return event.epoch === readiness.epoch ? found(readiness, event) : readiness;
  }
}

function found(
  readiness: Readiness,
  event: ReadinessEvent & { readonly kind: "probed" },
): Readiness {
  const { finding, at } = event;
  const { epoch } = readiness;
  switch (finding.kind) {
    case "match":
      return { epoch, state: "ready", observed: "the pinned model", at, silences: 0 };
    case "mismatch":
      return {
        epoch,
        state: "identity_mismatch",
        observed: finding.observed.length === 0 ? "no model" : shown(finding.observed),
        at,
        silences: 0,
      };
    case "unparseable":
      return { epoch, state: "unparseable", observed: finding.detail, at, silences: 0 };
    case "refused":
      return { epoch, state: "unreachable", observed: finding.detail, at, silences: 0 };
    case "status":
      return {
        epoch,
        state: "unreachable",
        observed: `the identity probe was answered with status ${finding.status}`,
        at,
        silences: 0,
      };
    case "silent": {
      if (event.inFlight > 0) return { ...readiness, at: readiness.at === null ? null : at };
      const silences = readiness.silences + 1;
      return silences > SILENCES_TOLERATED
        ? { epoch, state: "unreachable", observed: "no answer in time", at, silences }
        : { ...readiness, silences };
    }
  }
}

/** At most five names, so that an engine cannot fill the log. */
function shown(names: readonly string[]): string {
  const first = names.slice(0, 5).map((name) => JSON.stringify(name.slice(0, 200)));
  return names.length > 5 ? `${first.join(", ")} and ${names.length - 5} more` : first.join(", ");
}

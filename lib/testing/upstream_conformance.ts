/**
 * The conformance suite of the upstream port. Every implementation runs all of it; where one falls
 * short, it names the shortfall with its reason, and the test asserts the weaker thing instead.
 *
 * @module
 */

import { answersConform } from "./upstream_conformance_answers.ts";
import { bodiesConform } from "./upstream_conformance_bodies.ts";
import { endsConform } from "./upstream_conformance_ends.ts";
import { sendsOnce } from "./upstream_conformance_once.ts";
import type { MakeUpstream } from "./upstream_rig.ts";

/** What an implementation cannot do -> why. An absent key promises that it can. */
export interface Shortfalls {
  /** Gives up on a connection after `connectMs`, and knows that nothing was sent. */
  readonly connectTimeout?: string;
  /** Sends a request without a body once, too. */
  readonly bodilessOnce?: string;
  /** Says truthfully whether an idle connection served. */
  readonly reused?: string;
  /** A connection is used again after a chunked answer, always. */
  readonly chunkedReuse?: string;
  /** Tells `truncated`, `reset` and `malformed` bodies apart. */
  readonly brokenDetail?: string;
  /** Keeps response headers in order and apart. */
  readonly headerOrder?: string;
  /** Sends no header nobody asked for. */
  readonly addedHeaders?: string;
  /** Refuses every head of the table; the reason stands by the names of those it accepts. */
  readonly lenientHeads?: { readonly accepted: readonly string[]; readonly reason: string };
}

/** Registers the suite for `make` under `name`. */
export function upstreamConformance(
  name: string,
  make: MakeUpstream,
  shortfalls: Shortfalls = {},
): void {
  sendsOnce(name, make, shortfalls);
  bodiesConform(name, make, shortfalls);
  answersConform(name, make, shortfalls);
  endsConform(name, make, shortfalls);
}

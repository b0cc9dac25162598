/**
 * Every invariant.
 *
 * @module
 */

import type { Facts, Violation } from "../facts.ts";
import { blessedUnproven } from "./blessing.ts";
import { dispatchedTwice } from "./dispatch.ts";
import { untrueEnd } from "./ends.ts";
import { gatewayChanged } from "./gateway.ts";
import { wrongIdentity } from "./identity.ts";
import { leakedLease } from "./leases.ts";
import { ranTwice, untruthfulKey } from "./operations.ts";
import { secretInSink } from "./secrets.ts";

/** Records that are not whole: an audit chain that breaks, a ledger nobody can read. */
export function brokenRecord({ broken }: Pick<Facts, "broken">): readonly Violation[] {
  return broken.map(({ host, what }) => ({
    invariant: "records are whole",
    detail: `${host}: ${what}`,
  }));
}

/** In the order in which they are told. */
export const INVARIANTS: readonly ((facts: Facts) => readonly Violation[])[] = [
  dispatchedTwice,
  untrueEnd,
  wrongIdentity,
  ranTwice,
  untruthfulKey,
  blessedUnproven,
  leakedLease,
  secretInSink,
  gatewayChanged,
  brokenRecord,
];

/** Everything that was violated. */
export function violationsOf(facts: Facts): readonly Violation[] {
  return INVARIANTS.flatMap((invariant) => invariant(facts));
}

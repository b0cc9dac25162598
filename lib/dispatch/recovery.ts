/**
 * The gate before SSH: asked for by name, and only after proof that the agent is down and that
 * nothing had been sent to it.
 *
 * @module
 */

import { type Refusal, refuse } from "../core/refusal.ts";
import type { FleetIndex } from "../topology/fleet_index.ts";
import { recoveryWay } from "../topology/transport.ts";
import type { Outcome } from "./outcome.ts";

/**
 * What becomes of a wish to recover a host whose agent failed with `outcome`. The receiver, which
 * would be asked over SSH, is not built yet: also a wish that is allowed is refused, and says so.
 */
export function recover(
  index: FleetIndex,
  outcome: Pick<Outcome, "host" | "kind" | "failure" | "notSent">,
): Refusal | null {
  if (outcome.kind === "done") return null;
  const { host, notSent } = outcome;
  // Whatever the code says: without the proof that nothing was sent it is ambiguous.
  const failure = notSent || outcome.failure === null ? outcome.failure : "after_dispatch";
  const way = recoveryWay(index, { host, recovery: true, failure });
  return way.kind === "refused" ? way : refuse(
    "receiver_absent",
    `${host} may be recovered over SSH, but this version has no receiver to ask there`,
    "log in by hand, start the agent, and ask again",
  );
}

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
 * What becomes of a wish to reach a host whose agent failed with `outcome` over SSH. The receiver there
 * knows the five verbs of bootstrap and no operation: a wish that is allowed is told what to do.
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
    "operation_not_over_ssh",
    `${host} may be recovered over SSH, and no operation goes that way: its receiver installs agents`,
    `\`anvil-operator bootstrap apply --target host:${host} --recover-via-ssh\`, then ask again`,
  );
}

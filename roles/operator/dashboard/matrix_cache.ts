/**
 * The capability matrix of the fleet as it is known now, made again only when something changed, and
 * for a large fleet not more than once a second.
 *
 * @module
 */

import type { Clock } from "../../../lib/core/clock.ts";
import type { CapabilityMatrix, HostTold } from "../../../lib/dispatch/capability.ts";
import { capabilityMatrix } from "../../../lib/dispatch/capability_matrix.ts";
import type { FleetWatch } from "./fleet_watch.ts";

/** Hosts from which on it is not made at every change; and how often it is then, in milliseconds. */
const LARGE = 100;
const LEAST_MS = 1000;

const NOT_ASKED = { kind: "unknown", code: "not_asked", detail: "it was not asked yet" } as const;

/** Gives the matrix of `watch`. */
export function matrixCache(
  watch: FleetWatch,
  clock: Pick<Clock, "monotonic">,
): () => CapabilityMatrix {
  let made: { readonly version: number; readonly at: number; matrix: CapabilityMatrix } | null =
    null;
  let text = "";
  return () => {
    const now = clock.monotonic();
    const { index, hosts, expected } = watch.watched;
    const young = made !== null && hosts.length >= LARGE && now - made.at < LEAST_MS;
    if (made !== null && (made.version === watch.version || young)) return made.matrix;
    const told = watch.views.map(({ host, told }): HostTold =>
      told ?? { host, serves: NOT_ASKED, router: NOT_ASKED }
    );
    const fresh = capabilityMatrix({ index, told, expected, only: null });
    // The same matrix stays the same value, so that nobody sends it again.
    const said = JSON.stringify(fresh);
    const matrix = made !== null && said === text ? made.matrix : fresh;
    text = said;
    made = { version: watch.version, at: now, matrix };
    return matrix;
  };
}

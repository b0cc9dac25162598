/**
 * Which host may back a promoted alias: derived, never declared.
 *
 * Measurements of a machine that sleeps, travels and throttles cannot be reproduced, so they must
 * not become what a fleet promises.
 *
 * @module
 */

import type { Host } from "./shape.ts";
import { covers } from "./vocabulary.ts";

/** Why a host is not eligible. */
export type Ineligible = "model_free" | "opportunistic" | "reserved_for_other";

/** What each reason means, for a person. */
export const INELIGIBLE: Readonly<Record<Ineligible, string>> = {
  model_free: "the host has no runtime class: it serves no models",
  opportunistic: "the host is opportunistic: what is measured on it cannot be reproduced",
  reserved_for_other: "the host's resources are reserved for another capability",
};

/** Every reason why `host` may not back a promotion, of `capability` if one is named; none: it may. */
export function ineligible(
  host: Pick<Host, "runtime" | "availability" | "reserved">,
  capability?: string,
): readonly Ineligible[] {
  const reasons: Ineligible[] = [];
  if (host.runtime === undefined) reasons.push("model_free");
  if (host.availability === "opportunistic") reasons.push("opportunistic");
  const isReserved = host.reserved !== undefined && capability !== undefined &&
    !covers(host.reserved, capability);
  if (isReserved) reasons.push("reserved_for_other");
  return reasons;
}

/**
 * What a machine went through, from several looks at it: the worst that was seen, and `unknown`
 * wherever one look did not see.
 *
 * @module
 */

import type { Conditions } from "../evidence/evidence_shape.ts";

type Power = Conditions["power"]["source"];
type Thermal = Conditions["thermal"]["state"];

/** The looks as one; null when nobody looked. */
export function worstOf(looks: readonly Conditions[]): Conditions | null {
  if (looks.length === 0) return null;
  const of = <Value>(take: (one: Conditions) => Value) => looks.map(take);
  return {
    samples: looks.reduce((sum, one) => sum + one.samples, 0),
    power: {
      source: powerOf(of((one) => one.power.source)),
      battery_percent_min: least(of((one) => one.power.battery_percent_min)),
    },
    thermal: {
      state: thermalOf(of((one) => one.thermal.state)),
      celsius_max: most(of((one) => one.thermal.celsius_max)),
    },
    pressure: {
      cpu_max: most(of((one) => one.pressure.cpu_max)),
      memory_max: most(of((one) => one.pressure.memory_max)),
      io_max: most(of((one) => one.pressure.io_max)),
    },
  };
}

/** One look that did not see is enough: it may have been another source then. */
function powerOf(seen: readonly Power[]): Power {
  if (seen.includes("mixed")) return "mixed";
  const known = new Set(seen.filter((one) => one !== "unknown"));
  if (known.size > 1) return "mixed";
  return seen.includes("unknown") ? "unknown" : [...known][0] ?? "unknown";
}

/** Throttled once is throttled; unseen once is not nominal. */
function thermalOf(seen: readonly Thermal[]): Thermal {
  if (seen.includes("throttled")) return "throttled";
  return seen.includes("unknown") ? "unknown" : "nominal";
}

function most(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : Math.max(...known);
}

function least(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : Math.min(...known);
}

/**
 * Under which conditions a figure holds, in words. There is one wording, and every rendering of a
 * measurement carries it: a table, a list, a chart.
 *
 * @module
 */

import { type Refusal, refuse } from "../core/refusal.ts";
import { INELIGIBLE, ineligible } from "../topology/eligibility.ts";
import type { Conditions, Evidence } from "./evidence_shape.ts";

/** Why a measurement is not published. */
export type PublishFault =
  | "conditions_missing" // of an opportunistic host, and nobody looked at it
  | "conditions_unstated" // somebody looked, and nothing could be seen
  | "evidence_incomplete" // cancelled or given up: figures of half a workload
  | "evidence_empty"; // not one answer came whole: there is no figure

/** What is said of a measurement's conditions, availability first; never empty. */
export function conditionsText(
  { host, conditions }: {
    readonly host: Pick<Evidence["host"], "availability">;
    readonly conditions: Conditions | null;
  },
): string {
  const stated = conditions === null ? "conditions not observed" : statedText(conditions);
  return `${host.availability}; ${stated}`;
}

function statedText({ power, thermal, pressure, samples }: Conditions): string {
  const battery = power.battery_percent_min === null
    ? ""
    : ` (down to ${round(power.battery_percent_min)} %)`;
  const heat = thermal.celsius_max === null ? "" : ` (up to ${round(thermal.celsius_max)} °C)`;
  const pressures = (["cpu", "memory", "io"] as const).map((key) => {
    const most = pressure[`${key}_max`];
    return `${key} ${most === null ? "unknown" : `${round(most)} %`}`;
  });
  return [
    `power ${power.source}${battery}`,
    `thermal ${thermal.state}${heat}`,
    `pressure ${pressures.join(", ")}`,
    `${samples} ${samples === 1 ? "look" : "looks"}`,
  ].join("; ");
}

function round(value: number): string {
  return String(Math.round(value * 10) / 10);
}

/** True when something was seen, whatever it was. */
export function stated({ power, thermal, pressure }: Conditions): boolean {
  return power.source !== "unknown" || thermal.state !== "unknown" ||
    thermal.celsius_max !== null || Object.values(pressure).some((value) => value !== null);
}

/** Why this measurement may not be shown to others; null when it may. */
export function refusePublication(body: Evidence): Refusal<PublishFault> | null {
  const { host, conditions, run, measures } = body;
  if (host.availability === "opportunistic" && conditions === null) {
    return refuse(
      "conditions_missing",
      `${host.node} is opportunistic, and nothing says under which conditions it was measured`,
      "measure again: benchmarks.run looks at power, heat and pressure while it runs",
    );
  }
  if (host.availability === "opportunistic" && conditions !== null && !stated(conditions)) {
    return refuse(
      "conditions_unstated",
      `${host.node} is opportunistic, and neither power nor heat nor pressure could be seen`,
      "see `op node.facts` of that host for why, then measure again",
    );
  }
  if (!run.complete) {
    return refuse(
      "evidence_incomplete",
      `${measures.requests.sent} requests of the workload were sent, then it ended`,
      "let the benchmark come to its end",
    );
  }
  return measures.requests.completed > 0 ? null : refuse(
    "evidence_empty",
    "not one answer came whole",
    "see the errors of the measurement, and whether the model is up",
  );
}

/** Why a measurement on this host can back no promotion, by the axes it had then; null when it can. */
export function ineligibleEvidence({ host }: Pick<Evidence, "host">): string | null {
  const { runtime, availability, reserved } = host;
  const axes = {
    availability,
    ...(runtime === null ? {} : { runtime }),
    ...(reserved === null ? {} : { reserved }),
  };
  const [first] = ineligible(axes);
  return first === undefined ? null : INELIGIBLE[first];
}

/**
 * What is so before anything changes: the bytes once more, what would change, and every probe.
 *
 * @module
 */

import { timestamp } from "../core/clock.ts";
import type { Impact } from "./backend.ts";
import type { Event } from "./event.ts";
import { rule } from "./gate.ts";
import type { AdoptionPorts, AdoptionRules } from "./perform.ts";
import { readProbes } from "./sample.ts";
import type { Attempt, RejectionClass, Slots } from "./slots.ts";
import { cannotJudge } from "./verdict.ts";

/** Takes the baseline of `attempt`, or says why it may not begin. */
export async function takeBaseline(
  ports: AdoptionPorts,
  rules: AdoptionRules,
  slots: Slots,
  attempt: Attempt,
): Promise<Event> {
  const { backend, clock, probes } = ports;
  const now = () => timestamp(clock.now());
  const no = (code: string, detail: string, cls: RejectionClass | null): Event => ({
    kind: "refused",
    code,
    detail,
    class: cls,
    at: now(),
  });
  const facts = await backend.facts();
  if (facts.kind === "refused") return no("facts_unknown", facts.detail, "environment");
  if (facts.current === attempt.path) return no("already_current", "it runs already", null);
  const whole = await backend.verify(attempt.path, attempt.candidate);
  if (whole.kind === "refused") return no(whole.code, whole.detail, whole.class);
  const impact = await backend.impact(attempt.path, slots.pending?.path ?? null);
  if ("kind" in impact) return no(impact.code, impact.detail, "environment");
  const sensitive = disturbed(impact, attempt, rules);
  if (sensitive.length > 0 && !overridden(attempt, "restart-sensitive")) {
    const reasons = sensitive.map((unit) =>
      rule("restart-sensitive", "restart_sensitive", `${unit} would be restarted`, now())
    );
    return { kind: "gates_busy", reasons, at: now() };
  }
  const sample = await readProbes(probes, clock);
  const blind = cannotJudge(sample, rules.verdict.required);
  if (blind.length > 0 && !overridden(attempt, "baseline")) {
    const said = blind.map(({ probe, code }) => `${probe} ${code}`).join(", ");
    return no("cannot_judge", `required probes could not tell before: ${said}`, "environment");
  }
  return {
    kind: "baseline_taken",
    baseline: {
      ...sample,
      boot_id: facts.boot_id,
      boot_pending: impact.mode === "switch" && impact.boot_parts.length > 0,
    },
    previous: facts.current,
    revert_to: await wayBack(ports, slots, attempt, facts.current),
    impact,
  };
}

/** The last proven generation when it is here and whole, else what runs. */
async function wayBack(
  { backend }: AdoptionPorts,
  { proven }: Slots,
  attempt: Attempt,
  current: string | null,
): Promise<string | null> {
  if (proven === null || proven.path === attempt.path || proven.path === current) return current;
  const whole = await backend.verify(proven.path, null);
  return whole.kind === "ok" ? proven.path : current;
}

/** Units that only a person may restart, and that the activation would. */
export function disturbed(
  impact: Impact,
  attempt: Pick<Attempt, "candidate">,
  rules: Pick<AdoptionRules, "restartSensitive">,
): readonly string[] {
  if (impact.mode === "boot") return [];
  const named = new Set([
    ...rules.restartSensitive,
    ...(attempt.candidate?.restart_sensitive ?? []),
  ]);
  return [...new Set([...impact.stop, ...impact.restart])].filter((unit) => named.has(unit));
}

function overridden(attempt: Attempt, what: "restart-sensitive" | "baseline"): boolean {
  return attempt.overrides?.rules.includes(what) ?? false;
}

/**
 * What is so before anything changes: the bytes once more, what would change, and every probe. Of a
 * path that runs already and is only to be proven: the same, but for what would change.
 *
 * @module
 */

import { timestamp } from "../core/clock.ts";
import type { Impact } from "./backend.ts";
import { offerAgainst } from "./candidate.ts";
import type { Event } from "./event.ts";
import { rule } from "./gate.ts";
import type { AdoptionPorts, AdoptionRules } from "./perform.ts";
import { readProbes } from "./sample.ts";
import type { Attempt, RejectionClass, Slots } from "./slots.ts";
import { cannotJudge, type Sample } from "./verdict.ts";

/** Takes the baseline of `attempt`, or says why it may not begin. */
export async function takeBaseline(
  ports: AdoptionPorts,
  rules: AdoptionRules,
  slots: Slots,
  attempt: Attempt,
): Promise<Event> {
  const { backend, clock } = ports;
  const now = () => timestamp(clock.now());
  const no = refusals(ports);
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
  const sample = await firstSample(ports, rules, attempt);
  if ("kind" in sample) return sample;
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

const NO_IMPACT: Impact = {
  ...{ mode: "switch", boot_parts: [], stop: [], restart: [], reload: [], start: [], skipped: [] },
  ...{ added: 0, removed: 0, changed: 0 },
};

/** The same for a path that runs already: nothing will change, so nobody is asked whether it may. */
export async function takeProof(
  ports: AdoptionPorts,
  rules: AdoptionRules,
  slots: Slots,
  attempt: Attempt,
): Promise<Event> {
  const { backend, clock } = ports;
  const no = refusals(ports);
  const facts = await backend.facts();
  if (facts.kind === "refused") return no("facts_unknown", facts.detail, "environment");
  if (facts.current !== attempt.path) {
    return { kind: "superseded", found: facts.current, at: timestamp(clock.now()) };
  }
  const against = offerAgainst(attempt.candidate, slots.withdrawn, clock.now());
  if (against !== null) return no(against.code, against.detail, null);
  const whole = await backend.verify(attempt.path, attempt.candidate);
  if (whole.kind === "refused") return no(whole.code, whole.detail, whole.class);
  const sample = await firstSample(ports, rules, attempt);
  if ("kind" in sample) return sample;
  return {
    kind: "baseline_taken",
    baseline: { ...sample, boot_id: facts.boot_id, boot_pending: false },
    // What was proven before is what a person can go back to, and retention leaves it alone.
    previous: slots.proven?.path ?? null,
    revert_to: null,
    impact: NO_IMPACT,
  };
}

/** Every probe once; a refusal when a required one cannot tell. */
async function firstSample(
  ports: AdoptionPorts,
  rules: AdoptionRules,
  attempt: Attempt,
): Promise<Sample | Event> {
  const sample = await readProbes(ports.probes, ports.clock);
  const blind = cannotJudge(sample, rules.verdict.required);
  if (blind.length === 0 || overridden(attempt, "baseline")) return sample;
  const said = blind.map(({ probe, code }) => `${probe} ${code}`).join(", ");
  const no = refusals(ports);
  return no("cannot_judge", `required probes could not tell before: ${said}`, "environment");
}

function refusals({ clock }: AdoptionPorts) {
  return (code: string, detail: string, cls: RejectionClass | null): Event => ({
    kind: "refused",
    code,
    detail,
    class: cls,
    at: timestamp(clock.now()),
  });
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

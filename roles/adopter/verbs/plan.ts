/** `plan`: what `adopt` would do and what stands in its way; changes nothing. @module */

import type { Impact } from "../../../lib/adoption/backend.ts";
import { disturbed } from "../../../lib/adoption/baseline.ts";
import { reasonsOf, rule } from "../../../lib/adoption/gate.ts";
import { settleIdle } from "../../../lib/adoption/hysteresis.ts";
import { admit } from "../../../lib/adoption/policy.ts";
import { readGates } from "../../../lib/adoption/sample.ts";
import type { Json } from "../../../lib/core/canonical_json.ts";
import { timestamp } from "../../../lib/core/clock.ts";
import type { Adopter } from "../adopter.ts";
import { fine, type Outcome, refusedBy } from "../outcome.ts";

/** Looks at everything; nothing is written, not even what idle gates remember. */
export async function plan(adopter: Adopter): Promise<Outcome> {
  const { backend, acting, ports, config, by } = adopter;
  const slots = await adopter.adoption.slots();
  const facts = await backend.facts();
  if (facts.kind === "refused") return refusedBy("facts_unknown", facts.detail);
  const now = ports.clock.now();
  const admission = admit(slots, facts, {
    ...{ by, despite: [], policy: config.policy.adopt, now },
    probed: config.probes.length > 0,
  });
  const proves = admission.kind === "begin" && admission.purpose === "prove";
  const seen = await readGates(acting.gates, ports.clock);
  const remembered = await acting.gateMemory.read();
  const { readings } = settleIdle(remembered, seen, acting.idleMs, now);
  const reasons = [
    ...(admission.kind === "wait" ? admission.reasons : []),
    // Nobody is asked whether what disturbs nothing may be done.
    ...(proves ? [] : reasonsOf(readings)),
  ];
  const staged = slots.staged;
  let impact: Impact | null = null;
  if (staged !== null && staged.path !== facts.current) {
    const found = await backend.impact(staged.path, slots.pending?.path ?? null);
    if ("kind" in found) return refusedBy(found.code, found.detail, found.nextStep);
    impact = found;
    const at = timestamp(now);
    for (const unit of disturbed(impact, { candidate: staged.candidate }, adopter.rules)) {
      const detail = `${unit} would be restarted`;
      reasons.push(rule("restart-sensitive", "restart_sensitive", detail, at));
    }
  }
  const offered = slots.offered?.candidate ?? null;
  const missing = offered === null ? null : await backend.missing(offered);
  const free = proves ? "would_prove" : "would_adopt";
  return fine(
    admission.kind === "begin" && reasons.length === 0 ? free : "would_wait",
    "",
    {
      admission: admission.kind,
      admission_code: "code" in admission ? admission.code : null,
      staged: staged === null ? null : { path: staged.path, rev: staged.candidate.rev },
      offered: offered === null ? null : { id: offered.id, rev: offered.rev },
      missing_bytes: missing,
      impact: impact as Json,
      gates: readings.map((one) => ({ ...one })),
      blocked_by: reasons.map((one) => ({ ...one })),
    },
  );
}

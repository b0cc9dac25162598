/**
 * What the adopter said, as an operation's own end.
 *
 * | exit | with                          | this run is                                      |
 * | ---- | ----------------------------- | ------------------------------------------------ |
 * | 0    | `busy`                        | refused: `adopter_busy`, nothing was done        |
 * | 0    | anything else, a delay too    | done; `code` says which                          |
 * | 1    | an ending that changed things | failed: `candidate_rolled_back`, or `_failed`    |
 * | 1    | no ending                     | failed: `candidate_refused`, what runs runs on   |
 * | 2    |                               | refused: `adopter_misconfigured`                 |
 * | 3    |                               | failed: `candidate_manual_recovery`              |
 * | none | killed, late, no JSON         | failed: `adopter_unclear`                        |
 *
 * Details name the adopter's code only: its own texts hold paths, and are in `candidates.status`.
 *
 * @module
 */

import { z } from "zod";
import type { Json } from "../../../lib/core/canonical_json.ts";
import { type Refusal, refuse } from "../../../lib/core/refusal.ts";
import {
  type Effect,
  type Failed,
  jsonShape,
  type OperationContext,
  type Ran,
} from "../../../lib/operation/operation.ts";
import type { AdopterProgram, AdopterSaid } from "../adopter_program.ts";
import { type CandidatesStatus, candidatesStatusShape } from "./candidates_shown.ts";

/** How a verb ended well. */
export const outcomeShape = z.strictObject({
  code: z.string().describe("As the adopter says it: a delay is no failure, and has its own."),
  detail: z.string(),
  ending: z.string().nullable().describe("Of an attempt; null when there was none."),
  rev: z.string().nullable(),
  reasons: z.array(jsonShape).describe("Every reason to wait."),
});

/** How a verb ended well. */
export type CandidateOutcome = z.infer<typeof outcomeShape>;

/** What a look or a plan says, as the adopter gives it. */
export async function asked(
  adopter: AdopterProgram,
  words: readonly string[],
  { principal, signal }: OperationContext,
  deadlineMs: number,
): Promise<Ran<{ readonly [key: string]: Json }>> {
  const said = await adopter({ words, who: who(principal), outlives: false, deadlineMs, signal });
  if (said.kind === "refused") return said;
  if (said.kind === "unclear") return unanswered(said);
  if (said.exit === 0) return { kind: "ok", value: said.data };
  return refuse("candidate_refused", `the adopter says ${said.code}`, LOOK);
}

/** The adopter's status; who may not read all of it gets what there is. */
export async function statusOf(
  adopter: AdopterProgram,
  { principal, signal }: OperationContext,
  deadlineMs: number,
): Promise<Ran<CandidatesStatus>> {
  const words = ["status"];
  const said = await adopter({ words, who: who(principal), outlives: false, deadlineMs, signal });
  if (said.kind === "refused") return said;
  if (said.kind === "unclear") return unanswered(said);
  if (!("freshness" in said.data)) {
    return refuse("candidates_unknown", `the adopter says ${said.code}`, "let it `offer` once");
  }
  const read = candidatesStatusShape.safeParse(said.data);
  return read.success ? { kind: "ok", value: read.data } : refuse(
    "adopter_unusable",
    "the installed adopter answers in another form",
    "bring agent and adopter to one version",
  );
}

/** Does one verb. */
export async function acted(
  adopter: AdopterProgram,
  words: readonly string[],
  { principal, signal, step }: OperationContext,
  { deadlineMs, outlives = false }: { readonly deadlineMs: number; readonly outlives?: boolean },
): Promise<Ran<CandidateOutcome>> {
  const [verb = ""] = words;
  step(verb, "unknown");
  const said = await adopter({ words, who: who(principal), outlives, deadlineMs, signal });
  switch (said.kind) {
    case "refused":
      return said;
    case "unclear":
      return failed("adopter_unclear", `${said.detail}; it may still be at work`, "unknown");
    case "said":
      return outcomeOf(said);
  }
}

const LOOK = "look at `candidates.status`";

/** Nobody says `agent:` of a person at the host. */
function who(principal: string): string {
  return `agent:${principal}`;
}

function unanswered({ detail }: { readonly detail: string }): Refusal {
  return refuse("adopter_unusable", detail, "see `[adopter]` in agent.toml");
}

function outcomeOf(said: Extract<AdopterSaid, { kind: "said" }>): Ran<CandidateOutcome> {
  const { exit, code, detail, data } = said;
  const { ending = null, rev = null, reasons = [] } = data;
  if (exit === 0) {
    return {
      kind: "ok",
      value: {
        code,
        detail,
        ending: typeof ending === "string" ? ending : null,
        rev: typeof rev === "string" ? rev : null,
        reasons: Array.isArray(reasons) ? [...reasons] : [],
      },
    };
  }
  if (exit === 3) {
    return failed("candidate_manual_recovery", `a person must look: ${code}`, "unknown");
  }
  if (ending === "rolled-back") {
    return failed("candidate_rolled_back", `it was tried, and gone back from: ${code}`, "applied");
  }
  if (ending === "refused" || ending === null) {
    // Facts that nobody could tell may lie on either side of a switch.
    const effect = code === "facts_unknown" ? "unknown" : "none";
    return failed("candidate_refused", `the adopter says ${code}`, effect);
  }
  return failed("candidate_failed", `it ended as ${JSON.stringify(ending)}: ${code}`, "unknown");
}

function failed(code: string, detail: string, effect: Effect): Failed {
  return { kind: "failed", code, detail, effect };
}

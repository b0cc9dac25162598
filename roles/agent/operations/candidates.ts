/**
 * `candidates.status|stage|adopt|rollback|pause|resume|unreject`: the adopter of this host, asked.
 *
 *     plan:  what the adopter says would be done ──> shown
 *     run:   the verb itself, in the name of who asked; its exit code decides what this run was
 *
 * Adopting may replace and restart this agent. The run is then settled as interrupted by the next
 * process, and `candidates.status` tells the end: the adopter goes on without us.
 *
 * @module
 */

import { z } from "zod";
import type { Json } from "../../../lib/core/canonical_json.ts";
import { type Refusal, refuse } from "../../../lib/core/refusal.ts";
import { defineMutation, defineRead, type Operation } from "../../../lib/operation/operation.ts";
import type { AdopterProgram } from "../adopter_program.ts";
import { acted, asked, outcomeShape, statusOf } from "./candidates_asked.ts";
import { candidatesStatusShape } from "./candidates_shown.ts";

const STATUS_MS = 60_000;
/** Gates are looked at, each under its own deadline. */
const PLAN_MS = 5 * 60_000;
/** As long as the adopter's own units may take. */
const STAGE_MS = 2 * 3_600_000;
const ADOPT_MS = 4 * 3_600_000;
const SAY_MS = PLAN_MS;

/** What a person may set aside, each by its own flag of the adopter. */
const RULES = [
  "gates",
  "pause",
  "rejection",
  "baseline",
  "restart-sensitive",
  "downgrade",
] as const;

/** A text of a person that becomes one argument. */
const why = z.string().min(1).max(500).regex(/^[^\p{Cc}]*\S[^\p{Cc}]*$/u, "expected one line");
const target = z.string().max(300).regex(
  /^(sha256:[0-9a-f]{64}|\/nix\/store\/[A-Za-z0-9+._?=-]+)$/,
  "expected sha256: and a digest, or a path of the Nix store",
);
const despiteInput = {
  despite: z.array(z.enum(RULES)).max(RULES.length).default([]).describe(
    "Rules that are set aside; each is on record, and needs `why`.",
  ),
  why: why.optional().describe("Why rules are set aside."),
};

/** All of them; none on a host without an adopter. */
export function candidateOperations(adopter: AdopterProgram | null): Operation[] {
  return adopter === null ? [] : [
    statusOperation(adopter),
    stageOperation(adopter),
    adoptOperation(adopter),
    rollbackOperation(adopter),
    ...saidOperations(adopter),
  ];
}

function statusOperation(adopter: AdopterProgram): Operation {
  return defineRead({
    name: "candidates.status",
    brief: "What runs, what waits, what was refused, and how old all of it is",
    effect: "read",
    roles: null,
    deadlineMs: STATUS_MS,
    input: z.strictObject({}),
    output: candidatesStatusShape,
    run: (_input, context) => statusOf(adopter, context, STATUS_MS),
  });
}

function stageOperation(adopter: AdopterProgram): Operation {
  return defineMutation({
    name: "candidates.stage",
    brief: "Ask the publisher, and bring what it offers here; restarts nothing",
    effect: "mutate",
    destructive: false,
    roles: null,
    deadlineMs: STAGE_MS,
    input: z.strictObject({}),
    output: outcomeShape,
    // The publisher is not asked by a dry run: it shows what was offered before.
    plan: (_input, context) => asked(adopter, ["plan"], context, PLAN_MS),
    run: async (_plan, context) => {
      const offer = await acted(adopter, ["offer"], context, { deadlineMs: STAGE_MS });
      if (offer.kind !== "ok") return offer;
      const stage = await acted(adopter, ["stage"], context, { deadlineMs: STAGE_MS });
      // Nothing is there to stage: whether the publisher has none or was silent, the offer knows.
      return stage.kind === "ok" && stage.value.code === "no_candidate" ? offer : stage;
    },
  });
}

function adoptOperation(adopter: AdopterProgram): Operation {
  return defineMutation({
    name: "candidates.adopt",
    brief: "Adopt what is staged: gates, switch, probes, and proven or gone back",
    effect: "mutate",
    destructive: true,
    roles: null,
    deadlineMs: ADOPT_MS,
    input: z.strictObject(despiteInput),
    output: outcomeShape,
    plan: async (input, context) => {
      const flags = despiteFlags(input);
      if ("kind" in flags) return flags;
      const plan = await asked(adopter, ["plan"], context, PLAN_MS);
      if (plan.kind !== "ok") return plan;
      const { admission, blocked_by } = plan.value;
      const free = Array.isArray(blocked_by) && blocked_by.length === 0;
      const would_adopt = admission === "begin" && free;
      return { kind: "ok", value: { ...plan.value, would_adopt, flags } };
    },
    run: ({ flags }, context) =>
      acted(adopter, ["adopt", ...flags], context, { deadlineMs: ADOPT_MS, outlives: true }),
  });
}

function rollbackOperation(adopter: AdopterProgram): Operation {
  return defineMutation({
    name: "candidates.rollback",
    brief: "Go back to the last proven generation, or to a named one; needs no network",
    effect: "mutate",
    destructive: true,
    roles: null,
    deadlineMs: ADOPT_MS,
    input: z.strictObject({ to: target.optional(), ...despiteInput }),
    output: outcomeShape,
    plan: async (input, context) => {
      const flags = despiteFlags(input);
      if ("kind" in flags) return flags;
      const read = await statusOf(adopter, context, STATUS_MS);
      if (read.kind !== "ok") return read;
      const { state, current, current_rev, proven, manual_recovery } = read.value;
      const known = proven !== null && proven.path !== current ? proven.path : null;
      const value: RollbackPlan = {
        state,
        from: current,
        from_rev: current_rev,
        // Null: the adopter takes what ran before, which its status does not tell.
        to: input.to ?? known,
        manual_recovery: manual_recovery?.code ?? null,
        flags: [...(input.to === undefined ? [] : [`--to=${input.to}`]), ...flags],
      };
      return { kind: "ok", value };
    },
    run: ({ flags }, context) =>
      acted(adopter, ["rollback", ...flags], context, { deadlineMs: ADOPT_MS, outlives: true }),
  });
}

type RollbackPlan = { readonly [key: string]: Json; readonly flags: readonly string[] };

/** What a person says to the adopter: one word, one line in its journal. */
function saidOperations(adopter: AdopterProgram): Operation[] {
  const said = <In>(
    name: string,
    brief: string,
    input: z.ZodType<In>,
    words: (input: In) => readonly string[],
  ) =>
    defineMutation({
      name,
      brief,
      effect: "mutate",
      destructive: false,
      roles: null,
      deadlineMs: SAY_MS,
      input,
      output: outcomeShape,
      plan: async (input, context) => {
        const read = await statusOf(adopter, context, STATUS_MS);
        if (read.kind !== "ok") return read;
        const { state, policy, paused, rejected } = read.value;
        return { kind: "ok", value: { state, policy, paused, rejected, words: words(input) } };
      },
      run: ({ words }, context) => acted(adopter, words, context, { deadlineMs: SAY_MS }),
    });
  return [
    said(
      "candidates.pause",
      "Adopt nothing until resumed, or until the time is over; staging goes on",
      z.strictObject({ reason: why, hours: z.int().min(1).max(8760).optional() }),
      ({ reason, hours }) => [
        ...["pause", `--reason=${reason}`],
        ...(hours === undefined ? [] : [`--hours=${hours}`]),
      ],
    ),
    said("candidates.resume", "End a pause", z.strictObject({}), () => ["resume"]),
    said(
      "candidates.unreject",
      "Let a rejected target be tried again",
      z.strictObject({ id: target, why }),
      ({ id, why }) => ["unreject", id, `--why=${why}`],
    ),
  ];
}

function despiteFlags(
  { despite, why }: { readonly despite: readonly string[]; readonly why?: string | undefined },
): readonly string[] | Refusal {
  if (despite.length === 0) return [];
  return why === undefined
    ? refuse("why_missing", "rules are set aside, and nobody said why", "send `why`")
    : [...despite.map((rule) => `--despite-${rule}`), `--why=${why}`];
}

/**
 * What operations on changes share: how a plan and a change are shown, and how a change that was
 * asked for ends in the ledger.
 *
 *     reached ──> done          returned ──> failed, effect none
 *     nothing to do ──> done    manual_recovery, interrupted ──> failed, effect unknown
 *
 * @module
 */

import { z } from "zod";
import type { Json } from "../../../lib/core/canonical_json.ts";
import type { Clock } from "../../../lib/core/clock.ts";
import { type Refusal, refuse } from "../../../lib/core/refusal.ts";
import type { OperationContext, Ran } from "../../../lib/operation/operation.ts";
import {
  type ChangeAsk,
  type ChangeEnd,
  type Conductor,
  planDigest,
} from "../../../lib/serves/machines/conductor.ts";
import { type Step, stepText } from "../../../lib/serves/machines/step.ts";
import type { ChangeRecord, ChangeStore } from "../../../lib/serves/machines/store.ts";
import { type SurveyPorts, takeSurvey } from "../../../lib/serves/machines/survey.ts";
import { type Plan, planShape } from "../../../lib/serves/machines/transaction.ts";

/** What the operations act through. */
export interface ChangeParts {
  readonly conductor: Conductor;
  readonly store: ChangeStore;
  /** Reads manifest and topology anew; refuses when they have problems. */
  readonly survey: (signal: AbortSignal) => Promise<SurveyPorts | Refusal>;
  /** The benchmark that a change would end; null when there is none. */
  readonly measuring: () => string | null;
  readonly clock: Clock;
}

/** `open`, but not while a change works on this host: it would find another world than it left. */
export function whileFree<Host>(
  change: () => string | null,
  open: () => Promise<Host | Refusal>,
): () => Promise<Host | Refusal> {
  return () => {
    const busy = change();
    return busy === null ? open() : Promise.resolve(busyWith(busy));
  };
}

/** Nothing else is changed on this host meanwhile. */
export function busyWith(change: string): Refusal {
  return refuse(
    "host_busy",
    `${change} is working on this host`,
    "wait for its end: see `promotion.status`",
  );
}

/** Starts may take hours, drains an hour: a change that is still not over is turned back. */
export const CHANGE_MS = 4 * 3600 * 1000;
/** A plan asks every runtime once and runs the router's check. */
export const PLAN_MS = 120_000;

/** `drain_seconds` of an input. */
export const drainShape = z.int().min(0).max(3600).default(60).describe(
  "How long each tier may take to end what is in flight; then the change is taken back.",
);

/** The name of a plan. */
export const digestShape = z.string().regex(/^[0-9a-f]{64}$/, "expected the digest of a plan");

/** A plan and its name. */
export const plannedShape = z.strictObject({
  digest: digestShape,
  plan: planShape,
  /** The steps in words. */
  steps: z.array(z.string()),
  ends_benchmark: z.string().nullable().describe("The benchmark that runs now and would end."),
});

/** A plan as it is shown. */
export type Shown = z.infer<typeof plannedShape>;

/** `plan` as it is shown; it is the same plan whether something is `measured` now or not. */
export function shown(plan: Plan, measured: string | null): Shown {
  const ends_benchmark = plan.steps.length === 0 ? null : measured;
  return { digest: planDigest(plan), plan, steps: plan.steps.map(stepText), ends_benchmark };
}

/** Plans from a fresh survey. */
export async function planned(
  { survey, measuring }: ChangeParts,
  make: Planner,
  signal: AbortSignal,
): Promise<Ran<Shown>> {
  const ports = await survey(signal);
  if ("kind" in ports) return ports;
  const plan = await make(ports, signal);
  return plan.kind === "refused" ? plan : { kind: "ok", value: shown(plan, measuring()) };
}

/** Makes a plan out of what this host is now. */
export type Planner = (ports: SurveyPorts, signal: AbortSignal) => Promise<Plan | Refusal>;

/** A planner that looks at everything first. */
export function surveyed(
  make: (
    survey: Extract<Awaited<ReturnType<typeof takeSurvey>>, { kind: "survey" }>,
    ports: SurveyPorts,
    signal: AbortSignal,
  ) => Promise<Plan | Refusal>,
): Planner {
  return async (ports, signal) => {
    const seen = await takeSurvey(ports, signal);
    return seen.kind === "refused" ? seen : await make(seen, ports, signal);
  };
}

/** How a change ended that came about. */
export const reachedShape = z.strictObject({
  /** Null when nothing was to be done. */
  change: z.string().nullable(),
  subject: z.string(),
  steps: z.array(z.string()),
});

/** Carries out what was shown; anything else is stale. */
export async function applied(
  parts: ChangeParts,
  wish: { readonly expected: string; readonly make: Planner; readonly config: string | null },
  context: OperationContext,
): Promise<Ran<z.infer<typeof reachedShape>>> {
  const ports = await parts.survey(context.signal);
  if ("kind" in ports) return ports;
  const ask: ChangeAsk = {
    // Under the lock everything is looked at again, files included.
    plan: async (signal) => {
      const now = await parts.survey(signal);
      return "kind" in now ? now : await wish.make(now, signal);
    },
    expected: wish.expected,
    serves: ports.facts.serves,
    config: wish.config,
    run: context.run,
  };
  return ended(await parts.conductor.begin(ask, journalled(context), context.signal));
}

/** Steps of a change as the steps of its run. */
export function journalled({ step }: OperationContext) {
  return (id: string, one: Step, when: "before" | "after") =>
    step(`${id}: ${stepText(one)}`, when === "before" ? "unknown" : "applied");
}

/** A change's end as the end of a run. */
export function ended(end: ChangeEnd): Ran<z.infer<typeof reachedShape>> {
  switch (end.kind) {
    case "refused":
      return end;
    case "already":
      return { kind: "ok", value: { change: null, subject: end.plan.subject, steps: [] } };
    case "interrupted":
      return failure("change_interrupted", `${end.id}: ${end.detail}`, "unknown");
    case "ended": {
      const { id, state } = end.record;
      switch (state.at) {
        case "reached": {
          const { subject, steps } = state.plan;
          return { kind: "ok", value: { change: id, subject, steps: steps.map(stepText) } };
        }
        case "returned":
          return failure(
            "change_returned",
            `${id} was taken back, everything is as it was: ${why(state.why)}`,
            "none",
          );
        case "stuck":
          return failure(
            "manual_recovery",
            `${id} could not be taken back: ${why(state.trouble)}; it began with ` +
              `${why(state.why)}`,
            "unknown",
          );
        case "abandoned":
          return failure("change_abandoned", `${id} was ended as it stands`, "unknown");
        case "idle":
        case "forward":
        case "back":
          return failure("change_interrupted", `${id} is not over`, "unknown");
      }
    }
  }
}

function failure(code: string, detail: string, effect: "none" | "unknown"): Ran<never> {
  return { kind: "failed", code, detail, effect };
}

function why(failure: { readonly code: string; readonly detail: string } | null): string {
  return failure === null ? "nobody knows why" : `${failure.code}, ${failure.detail}`;
}

/** A change as people look at it. */
export const changeShape = z.strictObject({
  change: z.string(),
  kind: z.string(),
  subject: z.string(),
  state: z.enum([
    "going_forward",
    "going_back",
    "manual_recovery",
    "reached",
    "returned",
    "abandoned",
  ]),
  /** The run of the operation that asked for it. */
  run: z.string().nullable(),
  /** Why it turned back; null when it did not. */
  why: z.string().nullable(),
  /** What stands against the step that is owed; null when nothing does. */
  trouble: z.string().nullable(),
  /** Steps in words with what was observed, oldest first. */
  done: z.array(z.strictObject({ step: z.string(), observed: z.string() })),
  /** Steps that are still owed. */
  left: z.array(z.string()),
});

const STATES = {
  forward: "going_forward",
  back: "going_back",
  stuck: "manual_recovery",
  reached: "reached",
  returned: "returned",
  abandoned: "abandoned",
} as const;

/** `record` as people look at it; null for a folder in which nothing was begun. */
export function changeView({ id, state, course }: ChangeRecord):
  | z.infer<
    typeof changeShape
  >
  | null {
  if (state.at === "idle") return null;
  const { plan } = state;
  const left = state.at === "forward"
    ? plan.steps.slice(state.done)
    : state.at === "back" || state.at === "stuck"
    ? state.todo
    : [];
  const told = (failure: { readonly code: string; readonly detail: string } | null) =>
    failure === null ? null : `${failure.code}: ${failure.detail}`;
  return {
    change: id,
    kind: plan.kind,
    subject: plan.subject,
    state: STATES[state.at],
    run: state.run,
    why: state.at === "forward" ? null : told(state.why),
    trouble: state.at === "forward" ? null : told(state.trouble),
    done: course.flatMap(({ step, event }) => {
      if (step === null) return [];
      const observed = event.kind === "done"
        ? event.observed
        : event.kind === "failed"
        ? `failed: ${event.failure.code}, ${event.failure.detail}`
        : event.kind;
      return [{ step: stepText(step), observed }];
    }),
    left: left.map(stepText),
  };
}

/** The newest changes, newest first. */
export async function changesOf(
  store: ChangeStore,
  most: number,
): Promise<{ readonly kind: "ok"; readonly value: z.infer<typeof changeShape>[] } | Refusal> {
  const names = await store.names();
  if ("kind" in names) return names;
  const views: z.infer<typeof changeShape>[] = [];
  for (const name of names.toReversed().slice(0, most)) {
    const record = await store.record(name);
    if ("kind" in record) return record;
    const view = changeView(record);
    if (view !== null) views.push(view);
  }
  return { kind: "ok", value: views };
}

/** For hosts whose agent was told of no serves. */
export const NOT_CONFIGURED: Refusal = refuse(
  "serves_not_configured",
  "agent.toml names no `serves` file",
  "add `serves`, and restart the agent",
);

/** Any plan as JSON, for a dry run. */
export type ShownJson = Shown & Json;

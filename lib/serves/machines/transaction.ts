/**
 * The machine of every change of this host: a plan is walked forward, or taken back.
 *
 *     idle ──begin──> forward ──done, the last one──────────────────────> reached   the new state
 *                     │  ^ │                                       ┌────> returned  the old state
 *                 done└──┘ │failed                                 │
 *                          v             done, the last one        │
 *                     back: what was done, in reverse ─────────────┤
 *                     │  ^ │                                       │
 *                 done└──┘ │failed, so many times         abandoned└──── by a person
 *                          v                                       │
 *                     stuck: manual_recovery ──────────────────────┘
 *                          │ resumed, by a person
 *                          └────────> back
 *
 *     resumed, at every start of the agent: the tiers that are held are quiesced again first. A router
 *     that does not run admits nothing: what brings it back then goes before.
 *
 * `step` and `owed` are pure. Whatever the machine owed when the agent died, it owes when it is
 * back; nothing is remembered besides the journal.
 *
 * @module
 */

import { z } from "zod";
import type { Machine } from "../../core/machine.ts";
import { heldBy, isRouterStep, type Step, stepShape, undoOf } from "./step.ts";

const text = z.string().max(4096);
const digest = z.string().max(64).nullable();

/** What a transaction is for. */
export const KINDS = ["enter", "leave", "promote", "install", "restore"] as const;
/** One of {@link KINDS}. */
export type Kind = (typeof KINDS)[number];

/** What is going to be done, as data: what a dry run prints is what a live run does. */
export const planShape = z.strictObject({
  kind: z.enum(KINDS),
  node: text,
  /** The mode, the alias, or `router.toml`. */
  subject: text,
  /** Of a promotion: the measurement it rests on, as `ev-…`. Null: it is no promotion, or of an earlier version. */
  evidence: text.nullable().default(null),
  /** What the plan was made from; it is refused once any of it has changed. */
  bound: z.strictObject({ config: digest, manifest: digest, topology: digest }),
  steps: z.array(stepShape).max(4096),
  /** The serves behind each tier before the change. */
  before: z.record(text, z.array(text)),
  drain_seconds: z.int(),
  /** What a person should know, in order of importance. */
  notes: z.array(text).max(64),
});

/** A plan. */
export type Plan = z.infer<typeof planShape>;

const failureShape = z.strictObject({ code: text, detail: text });

/** Why a step did not come about. */
export type Failure = z.infer<typeof failureShape>;

/** What happens to a transaction. */
export const eventShape = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("begin"), plan: planShape, run: text.nullable() }),
  z.strictObject({ kind: z.literal("done"), observed: text }),
  z.strictObject({
    kind: z.literal("failed"),
    failure: failureShape,
    /** False only when it is certain that the step changed nothing. */
    changed: z.boolean(),
  }),
  z.strictObject({ kind: z.literal("resumed"), by: z.enum(["start", "person"]) }),
  z.strictObject({ kind: z.literal("abandoned"), by: text }),
]);

/** What happens to a transaction. */
export type Event = z.infer<typeof eventShape>;

/** Where a transaction stands. */
export type State =
  | { readonly at: "idle" }
  | (Begun & {
    readonly at: "forward";
    readonly done: number;
    /** An earlier life may have begun the step that is owed. */
    readonly again: boolean;
  } & Assurance)
  | (Begun & {
    readonly at: "back" | "stuck";
    readonly why: Failure;
    /** What is still to be taken back, in this order. */
    readonly todo: readonly Step[];
    /** Failures of the first step of `todo` so far. */
    readonly tries: number;
    readonly trouble: Failure | null;
  } & Assurance)
  | (Begun & {
    readonly at: "reached" | "returned" | "abandoned";
    readonly why: Failure | null;
    readonly trouble: Failure | null;
  });

interface Assurance {
  /** Tiers to quiesce again before anything else. */
  readonly assure: readonly string[];
  /** The router did not answer: after the steps that bring it back. */
  readonly deferred: boolean;
}

interface Begun {
  readonly plan: Plan;
  /** The run of the operation that began it; null when nobody's key stands behind it. */
  readonly run: string | null;
}

/** How often one step of the way back may fail before a person is asked. */
export const MOST_TRIES = 3;

function step(state: State, event: Event): State {
  if (event.kind === "begin") {
    return state.at === "idle" ? forward(event, event.plan, 0) : bug(state, event);
  }
  switch (state.at) {
    case "forward":
      return stepForward(state, event);
    case "back":
      return stepBack(state, event);
    case "stuck":
      if (event.kind === "abandoned") {
        const { plan, run, why, trouble } = state;
        return { at: "abandoned", plan, run, why, trouble };
      }
      // The next start of the agent changes nothing here: a person was asked.
      return event.kind === "resumed" && event.by === "person"
        ? { ...state, ...assured(heldBack(state.todo)), ...retried(state.todo) }
        : event.kind === "resumed"
        ? state
        : bug(state, event);
    case "idle":
    case "reached":
    case "returned":
    case "abandoned":
      return event.kind === "resumed" ? state : bug(state, event);
  }
}

/** Waiting again for a router that did not come helps nobody: it is restarted again first. */
function retried(todo: readonly Step[]) {
  const [next] = todo;
  const again: Step[] = next?.do === "await" ? [{ do: "restart", digest: next.digest }] : [];
  return { at: "back", tries: 0, todo: [...again, ...todo] } as const;
}

function forward({ run }: Pick<Begun, "run">, plan: Plan, done: number): State {
  return done < plan.steps.length
    ? { at: "forward", plan, run, done, again: false, ...assured([]) }
    : { at: "reached", plan, run, why: null, trouble: null };
}

function assured(assure: readonly string[]): Assurance {
  return { assure, deferred: false };
}

function nextOf(state: Extract<State, Assurance>): Step | undefined {
  return state.at === "forward" ? state.plan.steps[state.done] : state.todo[0];
}

/** The tier that is quiesced again now; null when something else is owed. */
function assuring(state: Extract<State, Assurance>): string | null {
  const next = nextOf(state);
  if (state.deferred && next !== undefined && isRouterStep(next)) return null;
  return state.assure[0] ?? null;
}

/** True of a failed assurance that can wait until the router is back. */
function canWait(state: Extract<State, Assurance>, { code }: Failure): boolean {
  const next = nextOf(state);
  return assuring(state) !== null && !state.deferred && code === "router_unreachable" &&
    next !== undefined && isRouterStep(next);
}

function stepForward(state: Extract<State, { at: "forward" }>, event: Event): State {
  const { plan, done } = state;
  switch (event.kind) {
    case "done":
      return assuring(state) !== null
        ? { ...state, assure: state.assure.slice(1) }
        : kept(state, forward(state, plan, done + 1));
    case "failed": {
      if (canWait(state, event.failure)) return { ...state, deferred: true };
      const begun = event.changed || state.again ? done + 1 : done;
      const todo = undoOf(plan.steps.slice(0, begun), undoContext(plan));
      return back(state, event.failure, todo);
    }
    case "resumed":
      return { ...state, again: true, ...assured(heldBy(plan.steps.slice(0, done))) };
    default:
      return bug(state, event);
  }
}

/** What was put off stays owed on the next step. */
function kept({ assure, deferred }: Assurance, next: State): State {
  return next.at === "forward" ? { ...next, assure, deferred } : next;
}

function back({ plan, run }: Begun, why: Failure, todo: readonly Step[]): State {
  return todo.length > 0
    ? { at: "back", plan, run, why, todo, ...assured([]), tries: 0, trouble: null }
    : { at: "returned", plan, run, why, trouble: null };
}

function stepBack(state: Extract<State, { at: "back" | "stuck" }>, event: Event): State {
  const { plan, run, why, todo, tries } = state;
  switch (event.kind) {
    case "done":
      if (assuring(state) !== null) return { ...state, assure: state.assure.slice(1) };
      return todo.length > 1
        ? { ...state, todo: todo.slice(1), tries: 0, trouble: null }
        : { at: "returned", plan, run, why, trouble: null };
    case "failed":
      if (canWait(state, event.failure)) return { ...state, deferred: true };
      return {
        ...state,
        at: tries + 1 < MOST_TRIES ? "back" : "stuck",
        tries: tries + 1,
        trouble: event.failure,
      };
    case "resumed":
      return { ...state, ...assured(heldBack(todo)) };
    default:
      return bug(state, event);
  }
}

/** Tiers that the way back has still to readmit. */
function heldBack(todo: readonly Step[]): readonly string[] {
  return todo.flatMap((step) => step.do === "readmit" ? [step.tier] : []);
}

function undoContext(plan: Plan) {
  return {
    servesOf: (tier: string) => plan.before[tier] ?? [],
    drainSeconds: plan.drain_seconds,
  };
}

function owed(state: State): Step | null {
  if (state.at !== "forward" && state.at !== "back") return null;
  const held = assuring(state);
  return held !== null ? { do: "quiesce", tier: held } : nextOf(state) ?? null;
}

function bug(state: State, event: Event): never {
  throw new Error(`a transaction that is ${state.at} cannot take ${event.kind}`);
}

/** The machine. */
export const TRANSACTION: Machine<State, Event, Step> = { initial: { at: "idle" }, step, owed };

/** True when nothing is owed and nobody is asked. */
export function isOver(state: State): boolean {
  return state.at === "reached" || state.at === "returned" || state.at === "abandoned" ||
    state.at === "idle";
}

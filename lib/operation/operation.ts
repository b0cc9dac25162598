/**
 * An operation: one typed value from which its route, its document, its command and its page come.
 *
 *     read:    input ──> run(input, context) ──> output
 *     mutate:  input ──> plan(input, context) ──> shown, and a dry run ends here
 *                                             └─> run(plan, context) ──> output
 *
 * A dry run and a live run share `plan`, so what was shown is what is done.
 *
 * @module
 */

import { z } from "zod";
import type { Json } from "../core/canonical_json.ts";
import type { Checked } from "../core/problem.ts";
import type { Refusal } from "../core/refusal.ts";
import { checkShape } from "../document/shape.ts";

/** Any JSON, for what has no narrower shape. */
export const jsonShape: z.ZodType<Json> = z.json();

/** What is known of the world outside after a step: `unknown` lies between before and after. */
export type Effect = "none" | "unknown" | "applied";

/** What a running operation gets besides its input. */
export interface OperationContext {
  /** Who asked. */
  readonly principal: string;
  /** The id of the run; null for a read or a dry run, which leave no row. */
  readonly run: string | null;
  /** Aborted at the deadline, on cancellation and at shutdown. */
  readonly signal: AbortSignal;
  /**
   * Writes down how far the run is, before and after each effect. Throws when the run was settled
   * meanwhile: whoever hears that must not go on.
   */
  readonly step: (name: string, effect: Effect) => void;
}

interface Described<In, Out> {
  /** `noun.verb`. */
  readonly name: string;
  /** One line for lists and documents. */
  readonly brief: string;
  /** Roles of a host that have it; null for every host. */
  readonly roles: readonly string[] | null;
  readonly deadlineMs: number;
  readonly input: z.ZodType<In>;
  readonly output: z.ZodType<Out>;
  /** Answers although everything else is busy: what people need to end what hangs. */
  readonly control?: true;
  /** A read that answers although the audit cannot be written: what people need to see why. */
  readonly vital?: true;
}

/** An operation that changes nothing. */
export interface ReadOperation<In, Out> extends Described<In, Out> {
  readonly effect: "read";
  readonly run: (input: In, context: OperationContext) => Promise<Ran<Out>>;
}

/** An operation that changes something. */
export interface MutateOperation<In, Plan extends Json, Out> extends Described<In, Out> {
  readonly effect: "mutate";
  /** Needs `confirm: true` to run live. */
  readonly destructive: boolean;
  /** Decides, changes nothing. What it gives is what a dry run shows. */
  readonly plan: (input: In, context: OperationContext) => Promise<Ran<Plan>>;
  readonly run: (plan: Plan, context: OperationContext) => Promise<Ran<Out>>;
}

/** It ended otherwise than asked for, in a way the operation knows, and something may be changed. */
export interface Failed {
  readonly kind: "failed";
  readonly code: string;
  /** One sentence: what was observed, what was expected. Holds no address, path or secret. */
  readonly detail: string;
  readonly effect: Effect;
}

/** What a part of an operation gave. A refusal of `run` says that nothing was changed. */
export type Ran<Value> = { readonly kind: "ok"; readonly value: Value } | Refusal | Failed;

/** An operation whose types were checked where it was defined. */
export interface Operation {
  readonly name: string;
  readonly brief: string;
  readonly effect: "read" | "mutate";
  readonly destructive: boolean;
  readonly control: boolean;
  readonly vital: boolean;
  readonly roles: readonly string[] | null;
  readonly deadlineMs: number;
  readonly input: z.ZodType;
  readonly output: z.ZodType;
  /** Reads an input; every problem, when it is none. */
  readonly prepare: (input: Json) => Checked<Prepared>;
}

/** An operation with its input. */
export type Prepared =
  | { readonly kind: "read"; readonly run: (context: OperationContext) => Promise<Ran<Json>> }
  | {
    readonly kind: "mutate";
    readonly plan: (context: OperationContext) => Promise<Ran<Planned>>;
  };

/** What would be done, and the way to do just that. */
export interface Planned {
  readonly shown: Json;
  readonly run: (context: OperationContext) => Promise<Ran<Json>>;
}

/** Defines a read. Throws for a name that is not `noun.verb`. */
export function defineRead<In, Out extends Json>(of: ReadOperation<In, Out>): Operation {
  return {
    ...described(of, false),
    prepare: (input) =>
      checked(of.input, input, (value) => ({
        kind: "read",
        run: async (context) => shaped(of, await of.run(value, context)),
      })),
  };
}

/** Defines a mutation. Throws for a name that is not `noun.verb`. */
export function defineMutation<In, Plan extends Json, Out extends Json>(
  of: MutateOperation<In, Plan, Out>,
): Operation {
  return {
    ...described(of, of.destructive),
    prepare: (input) =>
      checked(of.input, input, (value) => ({
        kind: "mutate",
        plan: async (context) => {
          const planned = await of.plan(value, context);
          if (planned.kind !== "ok") return planned;
          const plan = planned.value;
          const run = async (live: OperationContext) => shaped(of, await of.run(plan, live));
          return { kind: "ok", value: { shown: plan, run } };
        },
      })),
  };
}

/** `noun.verb`, both in lower case with `-`. */
export const OPERATION_NAME = /^[a-z][a-z0-9-]*\.[a-z][a-z0-9-]*$/;

function described<In, Out>(
  of: Described<In, Out> & { readonly effect: "read" | "mutate" },
  destructive: boolean,
): Omit<Operation, "prepare"> {
  if (!OPERATION_NAME.test(of.name)) throw new TypeError(`${of.name} is not noun.verb`);
  const { name, brief, effect, roles, deadlineMs, input, output } = of;
  const vital = of.vital === true && effect === "read";
  const control = of.control === true;
  return { name, brief, effect, destructive, control, vital, roles, deadlineMs, input, output };
}

function checked<In>(
  shape: z.ZodType<In>,
  input: Json,
  prepare: (value: In) => Prepared,
): Checked<Prepared> {
  const read = checkShape(shape, input);
  return read.kind === "ok" ? { kind: "ok", model: prepare(read.model) } : read;
}

/** An output that has another shape than the document says is a bug. */
function shaped<In, Out extends Json>(of: Described<In, Out>, ran: Ran<Out>): Ran<Json> {
  if (ran.kind !== "ok") return ran;
  const read = checkShape(of.output, ran.value);
  if (read.kind === "ok") return { kind: "ok", value: read.model };
  const where = read.problems.map(({ path, code }) => `${path}: ${code}`).join(", ");
  throw new TypeError(`${of.name} gave another output than it declares: ${where}`);
}

/**
 * Who may do what: a token's scopes are patterns over operations and actions; nothing matches by
 * default.
 *
 *     scope      = operation [":" action]       operation = "*" | noun ".*" | noun "." verb
 *     action     = "read" | "plan" | "apply"    none means every action
 *
 * `plan` is the dry run of a mutation, `apply` the live one; whoever may apply may plan.
 *
 * @module
 */

import { z } from "zod";
import { type Refusal, refuse } from "../core/refusal.ts";

/** What is done with an operation. */
export const ACTIONS = ["read", "plan", "apply"] as const;

/** One of {@link ACTIONS}. */
export type Action = (typeof ACTIONS)[number];

/** A pattern as above. */
const SCOPE = /^(?:\*|([a-z][a-z0-9-]*)\.(?:\*|([a-z][a-z0-9-]*)))(?::(read|plan|apply))?$/;

/** One scope in the clients file. */
export const scopeShape: z.ZodType<string> = z.string().max(128).regex(
  SCOPE,
  "expected `*`, `noun.*` or `noun.verb`, and perhaps `:read`, `:plan` or `:apply`",
);

/** Null when one of `scopes` opens the operation for the action, else a refusal that names it. */
export function authorize(
  scopes: Iterable<string>,
  operation: string,
  action: Action,
): Refusal<"scope_missing"> | null {
  for (const scope of scopes) if (opens(scope, operation, action)) return null;
  return refuse(
    "scope_missing",
    `this client has no scope for \`${action}\``,
    `give it the scope \`${operation}:${action}\` or a wider one`,
  );
}

/** The narrowest scopes that open each action of an operation. */
export function scopesOf(
  operation: { readonly name: string; readonly effect: "read" | "mutate" },
): string[] {
  const actions: readonly Action[] = operation.effect === "read" ? ["read"] : ["plan", "apply"];
  return actions.map((action) => `${operation.name}:${action}`);
}

/** True when whoever has `held` may already do everything that `scope` opens. */
export function holds(held: Iterable<string>, scope: string): boolean {
  const wanted = SCOPE.exec(scope);
  if (wanted === null) return false;
  const [, noun, verb, action] = wanted;
  for (const one of held) {
    const parts = SCOPE.exec(one);
    if (parts === null) continue;
    const [, itsNoun, itsVerb, allowed] = parts;
    if (itsNoun !== undefined && itsNoun !== noun) continue;
    if (itsVerb !== undefined && itsVerb !== verb) continue;
    if (
      allowed === undefined || allowed === action || (allowed === "apply" && action === "plan")
    ) return true;
  }
  return false;
}

function opens(scope: string, operation: string, action: Action): boolean {
  const parts = SCOPE.exec(scope);
  if (parts === null) return false;
  const [, noun, verb, allowed] = parts;
  const [itsNoun, itsVerb] = operation.split(".");
  if (noun !== undefined && noun !== itsNoun) return false;
  if (verb !== undefined && verb !== itsVerb) return false;
  return allowed === undefined || allowed === action ||
    (allowed === "apply" && action === "plan");
}

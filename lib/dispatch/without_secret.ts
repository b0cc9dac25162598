/**
 * An answer that repeats the token it was asked with is told without it.
 *
 * @module
 */

import type { Json } from "../core/canonical_json.ts";
import type { Secret } from "../core/secret.ts";
import type { Outcome } from "./outcome.ts";
import { objectOf } from "./reply.ts";

/** `outcome` with the mask in the place of the secret, in whatever text the agent sent. */
export function withoutSecret(outcome: Outcome, secret: Secret): Outcome {
  const value = secret.reveal();
  const sent = [outcome.detail, outcome.nextStep, outcome.result, outcome.run, outcome.health];
  // Looked for where it would be spelled: quotes and backslashes have escapes there.
  if (!JSON.stringify(sent).includes(JSON.stringify(value).slice(1, -1))) return outcome;
  const text = (from: string) => from.replaceAll(value, String(secret));
  const masked = (from: Json): Json => {
    if (typeof from === "string") return text(from);
    if (Array.isArray(from)) return from.map(masked);
    const object = objectOf(from);
    return object === null
      ? from
      : Object.fromEntries(Object.entries(object).map(([key, one]) => [text(key), masked(one)]));
  };
  return {
    ...outcome,
    detail: text(outcome.detail),
    nextStep: outcome.nextStep === null ? null : text(outcome.nextStep),
    result: masked(outcome.result),
    run: masked(outcome.run),
    health: objectOf(masked(outcome.health)),
  };
}

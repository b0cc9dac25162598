/**
 * No secret in any sink: tokens, private keys, prompts, completions, header values.
 *
 * @module
 */

import type { Facts, Leak, Violation } from "../facts.ts";
import type { Canary } from "../world.ts";

/** Canaries in a text. */
export function findCanaries(
  sink: string,
  text: string,
  canaries: readonly Canary[],
): readonly Leak[] {
  return canaries.filter(({ text: canary }) => text.includes(canary))
    .map(({ what }) => ({ sink, what }));
}

/** A sink that holds one. */
export function secretInSink({ leaks }: Pick<Facts, "leaks">): readonly Violation[] {
  return leaks.map(({ sink, what }) => ({
    invariant: "no secret in any sink",
    detail: `${what} is in ${sink}`,
  }));
}

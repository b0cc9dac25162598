/**
 * Parity in words.
 *
 * @module
 */

import type { Divergence } from "./divergence.ts";
import type { Parity } from "./parity_shape.ts";

/** What each verdict says. */
export const VERDICTS: Readonly<Record<Parity["verdict"], string>> = {
  agree: "agree",
  diverge: "diverge",
  not_comparable: "not comparable",
};

/** Where two answers part, and into what. */
export function divergenceText({ unit, index, left, right, nats }: Divergence): string {
  const place = unit === "token" ? `token ${index}` : `code point ${index} of the text`;
  const sure = nats === null ? "" : ` (${nats.toFixed(2)} nats)`;
  return `at ${place}: ${quoted(left)} / ${quoted(right)}${sure}`;
}

function quoted(token: string | null): string {
  return token === null ? "the end" : JSON.stringify(token);
}

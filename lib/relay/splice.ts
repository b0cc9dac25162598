/**
 * Puts the served model's name where the client's alias stood, and touches nothing else.
 *
 * @module
 */

import type { Span } from "./body_facts.ts";
import type { Route } from "./dialect.ts";

const encoder = new TextEncoder();

/** What replaces the value of `model`: JSON text with its quotes, or a form field's plain text. */
export function modelText(servedModel: string, body: Route["body"]): Uint8Array {
  return encoder.encode(body === "json" ? JSON.stringify(servedModel) : servedModel);
}

/** How many bytes the body grows (or shrinks, when negative) by the replacement. */
export function growth(span: Span, replacement: Uint8Array): number {
  return replacement.length - (span.end - span.start);
}

/**
 * The body's chunks with the span replaced. No byte outside the span is copied: the result holds
 * views over the chunks given. `chunks` must reach at least to the span's end.
 */
export function splice(
  chunks: readonly Uint8Array[],
  span: Span,
  replacement: Uint8Array,
): Uint8Array[] {
  const spliced: Uint8Array[] = [];
  let at = 0;
  let replaced = false;
  for (const chunk of chunks) {
    const end = at + chunk.length;
    if (at < span.start) spliced.push(chunk.subarray(0, Math.min(chunk.length, span.start - at)));
    if (!replaced && end >= span.end) {
      spliced.push(replacement);
      replaced = true;
    }
    if (end > span.end) spliced.push(chunk.subarray(Math.max(0, span.end - at)));
    at = end;
  }
  if (!replaced) throw new Error("splice: the chunks end before the span does");
  return spliced.filter((piece) => piece.length > 0);
}

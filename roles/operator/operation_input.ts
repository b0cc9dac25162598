/**
 * `--input`: JSON on the command line, out of a file, or from standard input.
 *
 * @module
 */

import type { Json } from "../../lib/core/canonical_json.ts";
import { type Refusal, refuse } from "../../lib/core/refusal.ts";
import { INPUT_BOUNDS, readJson } from "../../lib/core/strict_json.ts";
import type { Operator } from "./operator.ts";

/** Reads what `text` says: `@FILE`, `-`, or the JSON itself. */
export async function readInput(
  operator: Operator,
  text: string,
): Promise<{ readonly kind: "ok"; readonly value: Json } | Refusal> {
  const bytes = await bytesOf(operator, text);
  if ("kind" in bytes) return bytes;
  const read = readJson(bytes);
  return read.kind === "ok" ? read : refuse(read.code, `--input: ${read.detail}`);
}

async function bytesOf(operator: Operator, text: string): Promise<Uint8Array | Refusal> {
  if (text === "-") {
    const bytes = await operator.dispatch.readStdin(INPUT_BOUNDS.bytes);
    return bytes ?? refuse("json_too_large", `--input: more than ${INPUT_BOUNDS.bytes} bytes`);
  }
  if (!text.startsWith("@")) return new TextEncoder().encode(text);
  const read = await operator.ports.files.readBounded(text.slice(1), INPUT_BOUNDS.bytes);
  if (read.kind === "ok") return read.bytes;
  return read.kind === "absent"
    ? refuse("file_absent", "--input: there is no such file")
    : refuse(read.code, `--input: ${read.detail}`);
}

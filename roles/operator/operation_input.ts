/**
 * What operations are given: `--input` as JSON from the command line, a file or standard input, and
 * files that are sent as they are.
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

/** Bytes of a configuration that an operation takes. */
const MOST_TEXT_BYTES = 900_000;

/** Reads a file that is sent as text; `named` is how the command line calls it. */
export async function readText(
  { ports }: Operator,
  named: string,
  path: string,
): Promise<{ readonly kind: "ok"; readonly text: string } | Refusal> {
  const read = await ports.files.readBounded(path, MOST_TEXT_BYTES);
  if (read.kind === "absent") return refuse("file_absent", `${named}: there is no such file`);
  if (read.kind === "refused") return refuse(read.code, `${named}: ${read.detail}`);
  try {
    return { kind: "ok", text: new TextDecoder("utf-8", { fatal: true }).decode(read.bytes) };
  } catch {
    return refuse("file_unreadable", `${named}: it is no UTF-8 text`);
  }
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

/**
 * The receipt of a generation: what was exported, byte for byte, from which commit, when and by whom.
 *
 * @module
 */

import * as z from "zod";
import { canonicalJson } from "../core/canonical_json.ts";
import { hex } from "../core/ids.ts";
import type { ExportedFile } from "./export_commit.ts";
import type { HomePorts } from "./ports.ts";

const DIGEST = /^[0-9a-f]{64}$/;

/** A SHA-256 in lower-case hex. */
export const digestShape = z.string().regex(DIGEST, "expected a SHA-256 in lower-case hex");

/** One file of a generation. */
const fileShape = z.strictObject({
  path: z.string().min(1),
  size: z.int().min(0),
  sha256: digestShape,
});

/** `receipt.json`. */
export const receiptShape = z.strictObject({
  schema: z.literal(1),
  /** Names commit, path and files; the directory is called so. */
  digest: digestShape,
  commit: z.string().regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/),
  /** The exported directory of the commit; empty for all of it. */
  path: z.string(),
  files: z.array(fileShape),
  /** When, ISO 8601 in UTC. */
  at: z.iso.datetime(),
  /** By whom, as they call themselves. */
  by: z.string().min(1).max(256),
});

/** A receipt. */
export type Receipt = z.infer<typeof receiptShape>;

/** The part of a receipt that its digest is made of. */
export type Content = Pick<Receipt, "commit" | "path" | "files">;

/** What a set of files is. */
export function contentOf(
  sha256: HomePorts["sha256"],
  commit: string,
  path: string,
  files: readonly ExportedFile[],
): Content {
  return {
    commit,
    path,
    files: files.map((file) => ({
      path: file.path,
      size: file.bytes.length,
      sha256: hex(sha256(file.bytes)),
    })),
  };
}

/** The name of a generation: of everything in it but when and by whom. */
export function digestOf(sha256: HomePorts["sha256"], { commit, path, files }: Content): string {
  return hex(sha256(canonicalJson({ schema: 1, commit, path, files })));
}

/** The text of `receipt.json`. */
export function receiptText(receipt: Receipt): string {
  return `${JSON.stringify(receipt, null, 2)}\n`;
}

/** Reads a receipt; null when it is none, or does not name its own content. */
export function readReceipt(sha256: HomePorts["sha256"], bytes: Uint8Array): Receipt | null {
  const receipt = parseJson(receiptShape, bytes);
  return receipt !== null && digestOf(sha256, receipt) === receipt.digest ? receipt : null;
}

/** JSON bytes of a shape; null when they are not. */
export function parseJson<Shape>(shape: z.ZodType<Shape>, bytes: Uint8Array): Shape | null {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return shape.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

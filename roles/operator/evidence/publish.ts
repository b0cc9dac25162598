/**
 * Puts evidence into a folder that others read: documents first, then what is made of them. Every file
 * is replaced at once; a command that dies in between is made good by the next one.
 *
 * @module
 */

import { type Refusal, refuse } from "../../../lib/core/refusal.ts";
import { type Document, nameOf } from "../../../lib/evidence/document.ts";
import { derivedFiles, refuseDocument } from "../../../lib/evidence/publication.ts";
import { within } from "../../../lib/host/paths.ts";
import type { Operator } from "../operator.ts";
import { readShelf, type Sound } from "./shelf.ts";

/** What was published. */
export interface Published {
  readonly kind: "published";
  /** What was asked for, by name. */
  readonly documents: readonly string[];
  /** All that is in the folder now. */
  readonly inFolder: number;
  /** Files that were written: none when all was there. */
  readonly written: readonly string[];
}

/** Why nothing was published: of each document that may not be. */
export interface Unpublished {
  readonly kind: "unpublished";
  readonly refusals: readonly (Refusal & { readonly document: string })[];
}

/** Publishes `documents` into `folder`. All of them, or nothing is touched. */
export async function publish(
  operator: Operator,
  folder: string,
  documents: readonly Sound[],
): Promise<Published | Unpublished | Refusal> {
  const refusals = refusalsOf(documents.map(({ document }) => document));
  if (refusals.length > 0) return { kind: "unpublished", refusals };
  const { directories, tryLock } = operator.ports;
  const made = await directories.make(folder, 0o755);
  if (made.kind === "refused") return refuse("publish_unwritable", made.detail, SEE);
  const lock = await tryLock(within(folder, ".publish.lock"));
  if (lock.kind === "refused") return refuse("publish_unwritable", lock.detail, SEE);
  if (lock.kind === "busy") {
    return refuse("publish_busy", "another command publishes into this folder", "wait for it");
  }
  await using _held = lock;
  return await locked(operator, folder, documents);
}

async function locked(
  operator: Operator,
  folder: string,
  documents: readonly Sound[],
): Promise<Published | Unpublished | Refusal> {
  const there = await readShelf(operator, folder);
  if ("kind" in there) return there;
  const damaged = there.find(({ document }) => document === null);
  if (damaged !== undefined) {
    return refuse(
      "published_damaged",
      `${damaged.digest}.json in the folder: ${damaged.problems[0]?.code ?? "not readable"}`,
      "take it back from version control, or remove it, then publish again",
    );
  }
  const all = new Map(
    there.flatMap(({ digest, document }) => document === null ? [] : [[digest, document] as const]),
  );
  for (const { digest, document, signature } of documents) {
    // What was signed over there stays signed.
    if (signature !== null || !all.has(digest)) all.set(digest, document);
  }
  // Whoever copied a document there by hand did not make it fit to be shown.
  const refusals = refusalsOf([...all.values()]);
  if (refusals.length > 0) return { kind: "unpublished", refusals };
  const encode = (text: string) => new TextEncoder().encode(text);
  const files = [
    ...documents.flatMap(({ digest, bytes, signature }) => [
      ...(signature === null ? [] : [{ name: `${digest}.sig.json`, bytes: signature }]),
      { name: `${digest}.json`, bytes },
    ]),
    ...derivedFiles([...all.values()]).map(({ name, text }) => ({ name, bytes: encode(text) })),
  ];
  const written: string[] = [];
  for (const { name, bytes } of files) {
    const path = within(folder, name);
    const before = await operator.ports.files.readBounded(path, bytes.length);
    if (before.kind === "ok" && same(before.bytes, bytes)) continue;
    const put = await operator.ports.files.replaceFile(path, bytes, 0o644);
    if (put.kind === "refused") return refuse("publish_unwritable", `${name}: ${put.detail}`, SEE);
    written.push(name);
  }
  return {
    kind: "published",
    documents: documents.map(({ document }) => nameOf(document)),
    inFolder: all.size,
    written,
  };
}

const SEE = "see to the folder of --to";

function refusalsOf(documents: readonly Document[]): Unpublished["refusals"] {
  return documents.flatMap((document) => {
    const no = refuseDocument(document);
    return no === null ? [] : [{ ...no, document: nameOf(document) }];
  });
}

function same(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, at) => byte === right[at]);
}

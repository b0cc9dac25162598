/**
 * Where the operator keeps evidence: a folder of the home, mode 0600, filled by hand or from nodes.
 * It is outside of the generations: what was measured is no part of what is desired, and no switch of
 * the home changes it.
 *
 *     <home>/evidence/<digest>.json            a document of evidence or of parity
 *                     <digest>.records.jsonl   the answers of a measurement, where they were handed over
 *                     <digest>.sig.json        signatures over it
 *
 * A document is written last: what is there is whole.
 *
 * @module
 */

import type { FileRefusal } from "../../../lib/core/files.ts";
import type { Problem } from "../../../lib/core/problem.ts";
import { type Refusal, refuse } from "../../../lib/core/refusal.ts";
import {
  type Document,
  MOST_DOCUMENT_BYTES,
  readDocument,
} from "../../../lib/evidence/document.ts";
import {
  type AnswerRecord,
  MOST_RECORDS_BYTES,
  readRecords,
} from "../../../lib/evidence/record.ts";
import { MOST_SIGNATURE_BYTES } from "../../../lib/evidence/signature.ts";
import { within } from "../../../lib/host/paths.ts";
import { noHome, type WrongFile } from "../fleet_source.ts";
import type { Operator } from "../operator.ts";

/** Documents of one folder that are looked at. */
const MOST_FILES = 30_000;

/** A document that is kept, or what is wrong with it. */
export interface Kept {
  readonly digest: string;
  /** Null when it is not what its name says, or says nothing that is understood. */
  readonly document: Document | null;
  readonly problems: readonly Problem[];
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The file of signatures, where there is one. */
  readonly signature: Uint8Array<ArrayBuffer> | null;
  /** Whether a file of records stands beside it; it is not read for that. */
  readonly records: boolean;
}

/** A document that is sound. */
export type Sound = Kept & { readonly document: Document };

type Ports = Pick<Operator, "ports" | "home">;

/** The folder: as it is named, or that of the home. */
export function shelfOf(
  operator: Ports,
  flags: { readonly home?: string; readonly evidenceDir?: string },
): string | Refusal {
  const home = flags.home ?? operator.home;
  return flags.evidenceDir ?? (home === null ? noHome() : within(home, "evidence"));
}

/** Names of documents in a folder, in order; none when there is no folder. */
export async function digestsIn(
  { ports }: Ports,
  folder: string,
): Promise<readonly string[] | Refusal> {
  const names = await namesIn(ports, folder);
  return "kind" in names ? names : digestsOf(names);
}

/** Every document of a folder, sound or not. */
export async function readShelf(
  { ports }: Ports,
  folder: string,
): Promise<readonly Kept[] | Refusal> {
  const names = await namesIn(ports, folder);
  if ("kind" in names) return names;
  const kept: Kept[] = [];
  for (const digest of digestsOf(names)) {
    const one = await readKept(ports, folder, digest, names);
    if (one === "absent") continue;
    if ("kind" in one) return one;
    kept.push(one);
  }
  return kept;
}

/** The one document that `name` means: `ev-` or not, and as many digits as tell it from others. */
export async function findKept(
  { ports }: Ports,
  folder: string,
  name: string,
): Promise<Sound | WrongFile | Refusal> {
  const names = await namesIn(ports, folder);
  if ("kind" in names) return names;
  const digits = name.replace(/^ev-/, "");
  const found = digestsOf(names).filter((digest) => digest.startsWith(digits));
  const [digest] = found;
  if (digest === undefined) return absent(name);
  if (found.length > 1) {
    return refuse(
      "evidence_ambiguous",
      `${found.length} documents begin with ${digits}`,
      "give more digits of the one that is meant",
    );
  }
  const kept = await readKept(ports, folder, digest, names);
  if (kept === "absent") return absent(name);
  if ("kind" in kept) return kept;
  const { document } = kept;
  return document === null
    ? { kind: "invalid", file: `${digest}.json`, problems: kept.problems }
    : { ...kept, document };
}

/** A measurement that is sound. */
export type Measured = Kept & { readonly document: Extract<Document, { kind: "evidence" }> };

/** As {@link findKept}, where a measurement is needed: a parity is made of two, and is none. */
export async function findMeasured(
  operator: Ports,
  folder: string,
  name: string,
): Promise<Measured | WrongFile | Refusal> {
  const kept = await findKept(operator, folder, name);
  if ("kind" in kept) return kept;
  const { document } = kept;
  return document.kind === "evidence" ? { ...kept, document } : refuse(
    "evidence_is_parity",
    "a parity is no measurement: it is made of two",
    "name one of `evidence list` that is evidence",
  );
}

function absent(name: string): Refusal {
  return refuse(
    "evidence_absent",
    `no document ${name} is kept here`,
    "see `evidence list`, or fetch it: `evidence fetch --target host:<id> --id RUN`",
  );
}

/** The answers of a measurement; null when they are not kept. Checked against the document. */
export async function recordsOf(
  { ports }: Ports,
  folder: string,
  { document, digest }: Sound,
): Promise<readonly AnswerRecord[] | null | WrongFile | Refusal> {
  if (document.kind !== "evidence" || document.body.records === null) return null;
  const file = `${digest}.records.jsonl`;
  const read = await ports.files.readBounded(within(folder, file), MOST_RECORDS_BYTES);
  if (read.kind === "absent") return null;
  if (read.kind === "refused") return ofDisk(read);
  const records = await readRecords(read.bytes, document.body.records.digest);
  return records.kind === "ok"
    ? records.model
    : { kind: "invalid", file, problems: records.problems };
}

/** What is put on the shelf: checked by whoever puts it there. */
export interface Arrival {
  readonly digest: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly records?: Uint8Array<ArrayBuffer> | null;
  readonly signature?: Uint8Array<ArrayBuffer> | null;
}

/** Puts a document on the shelf; the same again changes nothing. */
export async function keep(
  { ports }: Ports,
  folder: string,
  { digest, bytes, records, signature }: Arrival,
): Promise<"kept" | "already" | Refusal> {
  const made = await ports.directories.make(folder);
  if (made.kind === "refused") return refuse("evidence_unkept", made.detail, SEE);
  const before = await ports.files.readBounded(within(folder, `${digest}.json`), bytes.length);
  const same = before.kind === "ok" && equal(before.bytes, bytes);
  if (before.kind !== "absent" && !same) {
    return refuse(
      "evidence_damaged",
      `what is kept as ${digest.slice(0, 12)}… is something else, or not readable`,
      "remove that file by hand, then give the same command again",
    );
  }
  const parts: (readonly [name: string, bytes: Uint8Array])[] = [
    ...(records === undefined || records === null
      ? []
      : [[`${digest}.records.jsonl`, records] as const]),
    ...(signature === undefined || signature === null
      ? []
      : [[`${digest}.sig.json`, signature] as const]),
    ...(same ? [] : [[`${digest}.json`, bytes] as const]),
  ];
  for (const [name, content] of parts) {
    const put = await ports.files.replaceFile(within(folder, name), content, 0o600);
    if (put.kind === "refused") return refuse("evidence_unkept", put.detail, SEE);
  }
  return same ? "already" : "kept";
}

const SEE = "see to the folder of --evidence-dir, or to evidence in the home";

async function namesIn(
  { directories }: Operator["ports"],
  folder: string,
): Promise<ReadonlySet<string> | Refusal> {
  const list = await directories.list(folder, MOST_FILES);
  if (list.kind === "absent") return new Set<string>();
  if (list.kind === "refused") return refuse("evidence_unreadable", list.detail, SEE);
  return new Set(list.entries.filter(({ kind }) => kind === "file").map(({ name }) => name));
}

function digestsOf(names: ReadonlySet<string>): readonly string[] {
  return [...names].flatMap((name) => /^([0-9a-f]{64})\.json$/.exec(name)?.[1] ?? []);
}

async function readKept(
  { files }: Operator["ports"],
  folder: string,
  digest: string,
  names: ReadonlySet<string>,
): Promise<Kept | "absent" | Refusal> {
  const read = await files.readBounded(within(folder, `${digest}.json`), MOST_DOCUMENT_BYTES);
  if (read.kind === "absent") return "absent"; // somebody took it away meanwhile
  if (read.kind === "refused") return ofDisk(read);
  const beside = `${digest}.sig.json`;
  const signed = names.has(beside)
    ? await files.readBounded(within(folder, beside), MOST_SIGNATURE_BYTES)
    : null;
  if (signed?.kind === "refused") return ofDisk(signed);
  const signature = signed?.kind === "ok" ? signed.bytes : null;
  const found = await readDocument(read.bytes, digest, signature);
  const records = names.has(`${digest}.records.jsonl`);
  const parts = { digest, bytes: read.bytes, signature, records };
  return found.kind === "ok"
    ? { ...parts, document: found.model, problems: [] }
    : { ...parts, document: null, problems: found.problems };
}

function ofDisk({ code, detail }: FileRefusal): Refusal {
  return refuse(code, `a file of the folder of evidence: ${detail}`, SEE);
}

function equal(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, at) => byte === right[at]);
}

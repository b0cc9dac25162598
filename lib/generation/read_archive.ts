/**
 * Reads an archive that a stranger may have made. There is one archive per manifest, so nothing is
 * parsed but the manifest: every header must be, byte for byte, the one the writer would write for
 * the next file of the list. One that is not is looked at only to name what is wrong with it.
 *
 * @module
 */

import { hex } from "../core/ids.ts";
import { BLOCK, describeHeader, headerOf, paddingOf } from "./archive_header.ts";
import { ByteSource, type Taken } from "./byte_source.ts";
import {
  BUNDLE_BOUNDS,
  type BundleBounds,
  type BundleFile,
  MANIFEST,
  type Manifest,
  readManifest,
} from "./manifest.ts";
import { pathFault, printable } from "./path_rules.ts";
import { type GenerationPorts, type GenerationRefusal, generationRefusal } from "./ports.ts";
import { archiveLength, checkArchivable, END_BYTES, manifestHeader } from "./write_archive.ts";

/** What is to be done with an archive's parts, in the order they come. */
export interface ArchiveTaker {
  /** The manifest, checked; a refusal ends the reading before a file is read. */
  readonly manifest: (manifest: Manifest, digest: string) => Promise<GenerationRefusal | null>;
  /** One file whose bytes are the listed ones. */
  readonly file: (file: BundleFile, bytes: Uint8Array) => Promise<GenerationRefusal | null>;
}

/** What reading gave: every byte was as the manifest says, and nothing followed. */
export type ArchiveRead =
  | { readonly kind: "read"; readonly manifest: Manifest; readonly digest: string }
  | GenerationRefusal;

/** Reads `chunks` to their end. `length`: as many bytes as somebody said there are. */
export async function readArchive(
  sha256: GenerationPorts["sha256"],
  chunks: AsyncIterable<Uint8Array>,
  taker: ArchiveTaker,
  { length, bounds = BUNDLE_BOUNDS }: {
    readonly length?: number;
    readonly bounds?: BundleBounds;
  } = {},
): Promise<ArchiveRead> {
  const source = new ByteSource(chunks);
  const first = await source.take(BLOCK);
  if (first.kind !== "ok") return short(first, "the first header");
  const size = manifestSize(first.bytes, bounds);
  if (typeof size !== "number") return size;
  const text = await padded(source, size, MANIFEST);
  if ("kind" in text) return text;
  const read = readManifest(text, bounds);
  if (read.kind === "refused") return read;
  const { manifest } = read;
  const digest = hex(sha256(text));
  const unfit = checkArchivable(manifest) ?? lengthFault(manifest, length) ??
    await taker.manifest(manifest, digest);
  if (unfit !== null) return unfit;
  const seen = new Set<string>([MANIFEST]);
  for (const file of manifest.files) {
    const header = await source.take(BLOCK);
    if (header.kind !== "ok") return short(header, `the header of ${file.path}`);
    const expected = headerOf(file) as Uint8Array;
    if (!equal(header.bytes, expected)) return whyNot(header.bytes, manifest, seen, file);
    const bytes = await padded(source, file.size, file.path);
    if ("kind" in bytes) return bytes;
    if (hex(sha256(bytes)) !== file.sha256) {
      return generationRefusal(
        "file_digest_differs",
        `${file.path} is not what the manifest lists`,
      );
    }
    const refusal = await taker.file(file, bytes);
    if (refusal !== null) return refusal;
    seen.add(file.path);
  }
  const refusal = await endFault(source, manifest, seen);
  return refusal ?? { kind: "read", manifest, digest };
}

/** The size that the first header gives its manifest. */
function manifestSize(block: Uint8Array, bounds: BundleBounds): number | GenerationRefusal {
  const said = describeHeader(block);
  if (said.kind === "damaged") return damaged();
  if (said.kind === "end" || said.path !== MANIFEST) {
    return generationRefusal("manifest_missing", "the archive does not begin with a manifest");
  }
  const byType = typeFault(said.type, MANIFEST);
  if (byType !== null) return byType;
  if (said.size > bounds.manifestBytes) {
    return generationRefusal(
      "manifest_too_large",
      `observed a manifest of ${said.size} bytes, expected at most ${bounds.manifestBytes}`,
    );
  }
  return equal(block, manifestHeader(said.size)) ? said.size : differs(MANIFEST);
}

function lengthFault(manifest: Manifest, length: number | undefined): GenerationRefusal | null {
  const expected = archiveLength(manifest);
  if (length === undefined || length === expected) return null;
  return generationRefusal(
    "archive_length_differs",
    `observed an archive of ${length} bytes, expected ${expected} by its manifest`,
  );
}

/** A content with the zeros behind it. */
async function padded(
  source: ByteSource,
  size: number,
  path: string,
): Promise<Uint8Array | GenerationRefusal> {
  const content = await source.take(size);
  if (content.kind !== "ok") return short(content, `the content of ${path}`);
  const padding = await source.take(paddingOf(size));
  if (padding.kind !== "ok") return short(padding, `the content of ${path}`);
  return padding.bytes.every((byte) => byte === 0)
    ? content.bytes
    : generationRefusal("archive_padding", `bytes other than zero follow the content of ${path}`);
}

async function endFault(
  source: ByteSource,
  manifest: Manifest,
  seen: ReadonlySet<string>,
): Promise<GenerationRefusal | null> {
  for (let read = 0; read < END_BYTES; read += BLOCK) {
    const end = await source.take(BLOCK);
    if (end.kind !== "ok") return short(end, "its end");
    if (describeHeader(end.bytes).kind !== "end") return whyNot(end.bytes, manifest, seen, null);
  }
  return await source.isAtEnd()
    ? null
    : generationRefusal("archive_trailing_bytes", "bytes follow the end of the archive");
}

/** Names what is wrong with a header that is not the expected one. */
function whyNot(
  block: Uint8Array,
  manifest: Manifest,
  seen: ReadonlySet<string>,
  next: BundleFile | null,
): GenerationRefusal {
  const said = describeHeader(block);
  if (said.kind === "damaged") return damaged();
  if (said.kind === "end") {
    return generationRefusal("archive_file_missing", `the archive ends before ${next?.path ?? ""}`);
  }
  const name = printable(said.path);
  const byType = typeFault(said.type, name);
  if (byType !== null) return byType;
  const fault = pathFault(said.path);
  if (fault !== null) return generationRefusal("archive_path_unsafe", `${name}: ${fault}`);
  if (seen.has(said.path)) {
    return generationRefusal("archive_duplicate", `the archive holds ${name} twice`);
  }
  if (said.path === next?.path) return differs(name);
  return manifest.files.some(({ path }) => path === said.path)
    ? generationRefusal(
      "archive_out_of_order",
      `observed ${name}, expected ${next?.path ?? "the end"}`,
    )
    : generationRefusal("archive_unlisted_file", `the manifest does not list ${name}`);
}

/** Types of ustar that are no file. */
const LINKS = "12";
const DEVICES = "346";

function typeFault(type: string, name: string): GenerationRefusal | null {
  if (type === "0" || type === "\0") return null;
  if (LINKS.includes(type)) return generationRefusal("archive_link", `${name} is a link`);
  if (DEVICES.includes(type)) return generationRefusal("archive_device", `${name} is a device`);
  return generationRefusal(
    "archive_entry_unsupported",
    `${name} is neither a file nor listed: only plain files are taken`,
  );
}

function damaged(): GenerationRefusal {
  return generationRefusal("archive_header_damaged", "a header is damaged, or none of an archive");
}

function differs(name: string): GenerationRefusal {
  return generationRefusal(
    "archive_header_differs",
    `the header of ${name} differs from what its manifest says: size, mode, time or owner`,
  );
}

function short(taken: Exclude<Taken, { kind: "ok" }>, what: string): GenerationRefusal {
  return taken.kind === "ended"
    ? generationRefusal("archive_truncated", `the archive ends within ${what}`)
    : generationRefusal("archive_unreadable", `whoever sends the archive failed at ${what}`, {
      cause: taken.cause,
    });
}

function equal(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, at) => byte === right[at]);
}

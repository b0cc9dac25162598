/**
 * What crossed between the home and a host: a patch and its receipt, in a folder each, kept in the
 * home. `adopt` brings a live file back for review; `install` takes the home's text to a host;
 * `restore` has a host put back what its last change replaced.
 *
 *     <home>/arrows/20261129T233735123Z-adopt-gpu-a-router.toml/change.patch
 *                                                              /receipt.json   last: it makes it count
 *
 * @module
 */

import * as z from "zod";
import { hex } from "../core/ids.ts";
import { within } from "../host/paths.ts";
import { type HomePorts, type HomeRefusal, ofDisk } from "./ports.ts";
import { digestShape, parseJson } from "./receipt.ts";

/** `receipt.json` of an arrow. */
export const arrowShape = z.strictObject({
  schema: z.literal(1),
  arrow: z.enum(["adopt", "install", "restore"]),
  host: z.string(),
  /** The file's name on the host. */
  file: z.string(),
  /** Its path in the repository; null for a text that no commit holds. */
  path: z.string().nullable(),
  /** What stood on the host when it was read; null when there was no such file. */
  live_sha256: digestShape.nullable(),
  /**
   * What the home, or the named file, says; of a topology the host's view, of a restore what was to
   * be put back. Null for a restore that joined an earlier call, whose receipt tells.
   */
  home_sha256: digestShape.nullable(),
  /** The generation that was live here, and its commit; null for a text that is from neither. */
  generation: digestShape.nullable(),
  commit: z.string().nullable(),
  /** Of `change.patch`; null when the old text may not be shown. */
  patch_sha256: digestShape.nullable(),
  /** Why there is no patch. */
  withheld: z.string().nullable(),
  /**
   * `sent` until the host's answer is known: a receipt that stays so is of a command that was cut
   * short, and the host has to be asked.
   */
  outcome: z.string(),
  code: z.string().nullable(),
  /** What the host calls the change, and its dated backup there; null where there is none. */
  change: z.string().nullable(),
  backup: z.string().nullable(),
  at: z.iso.datetime(),
  by: z.string().min(1).max(256),
});

/** A receipt of an arrow. */
export type Arrow = z.infer<typeof arrowShape>;

/** Arrows that are kept; the oldest go. */
export const KEPT_ARROWS = 256;
const MOST_ARROWS = 10_000;
const MOST_RECEIPT_BYTES = 64 * 1024;

type Disk = Pick<HomePorts, "files" | "directories" | "sha256">;

/** An arrow and where it is kept. */
export interface KeptArrow {
  readonly kind: "kept";
  readonly arrow: Arrow;
  /** Its folder. */
  readonly folder: string;
}

/** Keeps an arrow with its patch, in place of one of the same moment, then lets the oldest go. */
export async function keepArrow(
  ports: Disk,
  home: string,
  told: Omit<Arrow, "schema" | "patch_sha256">,
  patch: string | null,
): Promise<KeptArrow | HomeRefusal> {
  const { files, directories, sha256 } = ports;
  const arrow: Arrow = {
    schema: 1,
    ...told,
    patch_sha256: patch === null ? null : hex(sha256(patch)),
  };
  const stamp = arrow.at.replaceAll(/[-:.]/g, "");
  const folder = within(arrowsPath(home), `${stamp}-${arrow.arrow}-${arrow.host}-${arrow.file}`);
  const made = await directories.make(folder);
  if (made.kind === "refused") return ofDisk(made, "make a folder for the receipt");
  const put = async (name: string, text: string) =>
    await files.replaceFile(within(folder, name), new TextEncoder().encode(text), 0o600);
  const written = patch === null ? { kind: "ok" } as const : await put("change.patch", patch);
  if (written.kind === "refused") return ofDisk(written, "write the patch");
  const receipt = await put("receipt.json", `${JSON.stringify(arrow, null, 2)}\n`);
  if (receipt.kind === "refused") return ofDisk(receipt, "write the receipt");
  await prune(ports, home);
  return { kind: "kept", arrow, folder };
}

/** Every arrow that has its receipt, newest first; one that cannot be read is left out. */
export async function readArrows(ports: Disk, home: string): Promise<readonly KeptArrow[]> {
  const kept: KeptArrow[] = [];
  for (const name of await namesOf(ports, home)) {
    const folder = within(arrowsPath(home), name);
    const read = await ports.files.readBounded(within(folder, "receipt.json"), MOST_RECEIPT_BYTES);
    const arrow = read.kind === "ok" ? parseJson(arrowShape, read.bytes) : null;
    if (arrow !== null) kept.push({ kind: "kept", arrow, folder });
  }
  return kept;
}

/** They are records: that one could not be removed is no failure of what was done. */
async function prune(ports: Disk, home: string): Promise<void> {
  for (const name of (await namesOf(ports, home)).slice(KEPT_ARROWS)) {
    await ports.directories.remove(within(arrowsPath(home), name));
  }
}

async function namesOf({ directories }: Disk, home: string): Promise<readonly string[]> {
  const list = await directories.list(arrowsPath(home), MOST_ARROWS);
  return list.kind === "ok"
    ? list.entries.filter(({ kind }) => kind === "directory").map(({ name }) => name).toReversed()
    : [];
}

function arrowsPath(home: string): string {
  return within(home, "arrows");
}

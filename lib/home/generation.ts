/**
 * A generation on the disk: written beside, named at once, compared byte for byte.
 *
 *     staging ──each file flushed──> staging + receipt ──compared──> generations/<digest>
 *        └── a crash here leaves a directory that nobody looks at, and the next run removes
 *
 * @module
 */

import { compareTree, type Difference } from "../generation/compare_tree.ts";
import { parent, within } from "../host/paths.ts";
import type { ExportedFile } from "./export_commit.ts";
import {
  filesPath,
  generationPath,
  generationsPath,
  MOST_GENERATIONS,
  receiptPath,
  STAGING,
} from "./layout.ts";
import { type HomePorts, type HomeRefusal, homeRefusal, ofDisk } from "./ports.ts";
import { readReceipt, type Receipt, receiptText } from "./receipt.ts";

const MOST_RECEIPT_BYTES = 4 * 1024 * 1024;

type Disk = Pick<HomePorts, "files" | "directories" | "sha256">;

/** Writes `files` as the generation of `receipt`. One that is there already stays, if it is whole. */
export async function writeGeneration(
  ports: Disk,
  home: string,
  receipt: Receipt,
  files: readonly ExportedFile[],
): Promise<HomeRefusal | null> {
  const generation = generationPath(home, receipt.digest);
  const present = await ports.directories.list(generation, 16);
  if (present.kind === "refused") return ofDisk(present, "look for the generation");
  if (present.kind === "ok") return await refuseDamaged(ports, home, receipt.digest);
  const swept = await sweep(ports, home);
  if (swept !== null) return swept;
  const staging = generationPath(home, `${STAGING}${receipt.digest}`);
  const written = await fill(ports, staging, receipt, files);
  if (written !== null) return written;
  const moved = await ports.directories.move(staging, generation);
  return moved.kind === "refused" ? ofDisk(moved, "name the generation") : null;
}

async function fill(
  ports: Disk,
  staging: string,
  receipt: Receipt,
  files: readonly ExportedFile[],
): Promise<HomeRefusal | null> {
  const root = filesPath(staging);
  const made = new Set<string>();
  const put = async (path: string, bytes: Uint8Array): Promise<HomeRefusal | null> => {
    const directory = parent(path);
    if (!made.has(directory)) {
      const outcome = await ports.directories.make(directory);
      if (outcome.kind === "refused") return ofDisk(outcome, "make a directory of the generation");
      made.add(directory);
    }
    const replaced = await ports.files.replaceFile(path, bytes, 0o400);
    return replaced.kind === "refused" ? ofDisk(replaced, "write a file of the generation") : null;
  };
  for (const file of files) {
    const refusal = await put(within(root, file.path), file.bytes);
    if (refusal !== null) return refusal;
  }
  const refusal = await put(receiptPath(staging), new TextEncoder().encode(receiptText(receipt)));
  if (refusal !== null) return refusal;
  // What was written is read back before it gets a name.
  const differences = await compare(ports, staging, receipt);
  return differences.length === 0 ? null : damaged(receipt.digest);
}

/** Removes what earlier runs left unfinished. The caller holds the lock. */
async function sweep(ports: Disk, home: string): Promise<HomeRefusal | null> {
  const made = await ports.directories.make(generationsPath(home));
  if (made.kind === "refused") return ofDisk(made, "make the generations' directory");
  const list = await ports.directories.list(generationsPath(home), MOST_GENERATIONS);
  if (list.kind === "refused") return ofDisk(list, "list the generations");
  for (const { name } of list.kind === "ok" ? list.entries : []) {
    if (!name.startsWith(STAGING)) continue;
    const removed = await ports.directories.remove(generationPath(home, name));
    if (removed.kind === "refused") return ofDisk(removed, "remove an unfinished generation");
  }
  return null;
}

/** Reads the receipt of a generation. */
export async function loadReceipt(
  ports: Disk,
  home: string,
  digest: string,
): Promise<Receipt | HomeRefusal> {
  const path = receiptPath(generationPath(home, digest));
  const read = await ports.files.readBounded(path, MOST_RECEIPT_BYTES);
  if (read.kind === "absent") {
    return homeRefusal("generation_unknown", `there is no generation ${digest.slice(0, 12)}`, {
      nextStep: "see `home history`",
    });
  }
  const receipt = read.kind === "ok" ? readReceipt(ports.sha256, read.bytes) : null;
  return receipt?.digest === digest ? receipt : damaged(digest);
}

/** Every difference between a generation and its receipt. */
export async function verifyGeneration(
  ports: Disk,
  home: string,
  digest: string,
): Promise<
  { readonly receipt: Receipt; readonly differences: readonly Difference[] } | HomeRefusal
> {
  const receipt = await loadReceipt(ports, home, digest);
  if ("kind" in receipt) return receipt;
  return { receipt, differences: await compare(ports, generationPath(home, digest), receipt) };
}

/** Null when every byte of the generation is as its receipt says. */
export async function refuseDamaged(
  ports: Disk,
  home: string,
  digest: string,
): Promise<HomeRefusal | null> {
  const verified = await verifyGeneration(ports, home, digest);
  if ("kind" in verified) return verified;
  return verified.differences.length === 0 ? null : damaged(digest);
}

function damaged(digest: string): HomeRefusal {
  return homeRefusal(
    "generation_damaged",
    `generation ${digest.slice(0, 12)} differs from its receipt`,
    { nextStep: "see `home verify`; move its directory away, then materialize the commit again" },
  );
}

async function compare(
  ports: Disk,
  generation: string,
  { files }: Receipt,
): Promise<readonly Difference[]> {
  const listed = files.map((file) => ({ ...file, executable: false }));
  return await compareTree(ports, filesPath(generation), listed);
}

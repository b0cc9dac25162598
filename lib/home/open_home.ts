/**
 * What is live, read-only: every command that reads the home begins here.
 *
 * @module
 */

import { hex } from "../core/ids.ts";
import { within } from "../host/paths.ts";
import { readTopology } from "../topology/read.ts";
import type { Fleet } from "../topology/shape.ts";
import { textOf, TOPOLOGY } from "./check_set.ts";
import type { ExportedFile } from "./export_commit.ts";
import { loadReceipt } from "./generation.ts";
import { readCurrent, type Switch } from "./history.ts";
import { refuseGitTree } from "./home_place.ts";
import { filesPath, generationPath } from "./layout.ts";
import { type HomePorts, type HomeRefusal, homeRefusal, ofDisk } from "./ports.ts";
import type { Receipt } from "./receipt.ts";

/** The live set: what it is, not yet its bytes. */
export interface LiveSet {
  readonly kind: "live";
  readonly current: Switch;
  readonly receipt: Receipt;
}

type Reading = Pick<HomePorts, "files" | "directories" | "sha256" | "run" | "searchPath">;

/** The live set of `home`, which must be outside every git tree. */
export async function openHome(ports: Reading, home: string): Promise<LiveSet | HomeRefusal> {
  const misplaced = await refuseGitTree(ports, home);
  if (misplaced !== null) return misplaced;
  const current = await readCurrent(ports, home);
  if (current === null) {
    return homeRefusal("home_empty", "nothing was materialized into this home yet", {
      nextStep: "anvil-operator home materialize --repo REPO --rev COMMIT",
    });
  }
  if ("kind" in current) return current;
  const receipt = await loadReceipt(ports, home, current.digest);
  return "kind" in receipt ? receipt : { kind: "live", current, receipt };
}

/** One file of a generation, compared with its receipt; null when the set has none of that name. */
export async function readSetFile(
  ports: Reading,
  home: string,
  receipt: Receipt,
  path: string,
): Promise<Uint8Array | null | HomeRefusal> {
  const file = receipt.files.find((one) => one.path === path);
  if (file === undefined) return null;
  const root = filesPath(generationPath(home, receipt.digest));
  const read = await ports.files.readBounded(within(root, path), file.size);
  if (read.kind === "refused" && read.code === "file_unreadable") {
    return ofDisk(read, "read a file of the set");
  }
  if (read.kind === "ok" && hex(ports.sha256(read.bytes)) === file.sha256) return read.bytes;
  return homeRefusal("generation_damaged", "a file of the set differs from its receipt", {
    nextStep: "see `home verify`",
  });
}

/** All files of a generation, compared with its receipt. */
export async function readSet(
  ports: Reading,
  home: string,
  receipt: Receipt,
): Promise<readonly ExportedFile[] | HomeRefusal> {
  const files: ExportedFile[] = [];
  for (const { path } of receipt.files) {
    const bytes = await readSetFile(ports, home, receipt, path);
    if (bytes === null) continue;
    if ("kind" in bytes) return bytes;
    files.push({ path, bytes });
  }
  return files;
}

/** The live topology: its text and what it says. */
export async function liveTopology(
  ports: Reading,
  home: string,
  { receipt }: LiveSet,
): Promise<{ readonly text: string; readonly fleet: Fleet } | HomeRefusal> {
  const bytes = await readSetFile(ports, home, receipt, TOPOLOGY);
  if (bytes !== null && "kind" in bytes) return bytes;
  const text = bytes === null ? null : textOf(bytes);
  const read = text === null ? null : readTopology(text);
  return read?.kind === "ok" && text !== null
    ? { text, fleet: read.model }
    // It was valid when it was materialized: rules have become stricter since.
    : homeRefusal("generation_damaged", "the live topology is not valid for this version", {
      nextStep: "materialize a commit that `topology validate` accepts",
    });
}

/**
 * What is installed in a directory of a host, looked at and left alone.
 *
 * @module
 */

import { within } from "../host/paths.ts";
import type { Installed } from "./drift.ts";
import { type HomePorts, type HomeRefusal, ofDisk } from "./ports.ts";
import { MOST_FILE_BYTES, MOST_FILES } from "./tree_rules.ts";

/** Deeper directories are not looked into. */
const MOST_DEPTH = 16;

/** Reads every file below `directory`; links and devices are `unreadable`. */
export async function readInstalled(
  ports: Pick<HomePorts, "files" | "directories">,
  directory: string,
): Promise<Installed | HomeRefusal> {
  const found = new Map<string, Uint8Array | "unreadable">();
  const visit = async (below: string, depth: number): Promise<HomeRefusal | null> => {
    const list = await ports.directories.list(
      below === "" ? directory : within(directory, below),
      MOST_FILES,
    );
    if (list.kind === "refused") {
      if (below === "") return ofDisk(list, "list what is installed");
      found.set(below, "unreadable");
      return null;
    }
    for (const { name, kind } of list.kind === "ok" ? list.entries : []) {
      const path = below === "" ? name : `${below}/${name}`;
      if (kind === "directory" && depth < MOST_DEPTH) await visit(path, depth + 1);
      else if (kind !== "file") found.set(path, "unreadable");
      else {
        const read = await ports.files.readBounded(within(directory, path), MOST_FILE_BYTES);
        if (read.kind !== "absent") found.set(path, read.kind === "ok" ? read.bytes : "unreadable");
      }
    }
    return null;
  };
  return await visit("", 0) ?? found;
}

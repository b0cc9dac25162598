/**
 * Reads `publisher.toml` from the disk, with the paths in it resolved.
 *
 * @module
 */

import type { Checked } from "../../lib/core/problem.ts";
import { textOf } from "../../lib/credential/roster_file.ts";
import { systemFiles } from "../../lib/host/files.ts";
import { beside } from "../../lib/host/paths.ts";
import { type PublisherConfig, readConfig } from "./config.ts";

/** No `publisher.toml` is larger. */
const MOST_BYTES = 256 * 1024;

/** Reads and checks the file at `path`. */
export async function loadConfig(path: string): Promise<Checked<PublisherConfig>> {
  const read = await systemFiles.readBounded(path, MOST_BYTES);
  if (read.kind === "absent") {
    return unreadable(
      "file_absent",
      "there is no such file; `anvil-publisher schema` describes one",
    );
  }
  if (read.kind === "refused") return unreadable(read.code, read.detail);
  const text = textOf(read.bytes);
  if (text === null) return unreadable("not_utf8", "the file is not UTF-8 text");
  const checked = readConfig(text);
  if (checked.kind === "invalid") return checked;
  const { root, keys } = checked.model;
  const model = { ...checked.model, root: beside(path, root), keys: beside(path, keys) };
  return { kind: "ok", model };
}

function unreadable(code: string, message: string): Checked<never> {
  return { kind: "invalid", problems: [{ path: "$", code, message }] };
}

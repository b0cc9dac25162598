/**
 * Reads `router.toml` from the disk, with the paths in it resolved.
 *
 * @module
 */

import type { Checked, Problem } from "../../lib/core/problem.ts";
import { hex } from "../../lib/core/ids.ts";
import { sha256 } from "../../lib/host/digest.ts";
import { systemFiles } from "../../lib/host/files.ts";
import { beside } from "../../lib/host/paths.ts";
import { textOf } from "../../lib/credential/roster_file.ts";
import { readConfig } from "./config.ts";
import type { RouterConfig } from "./config_shape.ts";

/** A configuration, and which bytes it was read from. */
export interface LoadedConfig {
  readonly config: RouterConfig;
  /** SHA-256 of the file's bytes, lower-case hex. */
  readonly digest: string;
}

/** No `router.toml` is larger. */
const MOST_BYTES = 2 * 1024 * 1024;

/** Reads and checks the file at `path`. */
export async function loadConfig(path: string): Promise<Checked<LoadedConfig>> {
  const read = await systemFiles.readBounded(path, MOST_BYTES);
  if (read.kind === "absent") {
    return unreadable("file_absent", "there is no such file; `anvil-router schema` describes one");
  }
  if (read.kind === "refused") return unreadable(read.code, read.detail);
  const text = textOf(read.bytes);
  if (text === null) return unreadable("not_utf8", "the file is not UTF-8 text");
  const checked = readConfig(text);
  if (checked.kind === "invalid") return checked;
  const { auth, state, tiers } = checked.model;
  const config: RouterConfig = {
    ...checked.model,
    auth: auth.clients === undefined ? auth : { ...auth, clients: beside(path, auth.clients) },
    ...(state === undefined ? {} : { state: { ...state, dir: beside(path, state.dir) } }),
    tiers: tiers.map((tier) => {
      const { token_file } = tier.identity;
      return token_file === undefined
        ? tier
        : { ...tier, identity: { ...tier.identity, token_file: beside(path, token_file) } };
    }),
  };
  return { kind: "ok", model: { config, digest: hex(sha256(read.bytes)) } };
}

function unreadable(code: string, message: string): Checked<never> {
  const problem: Problem = { path: "$", code, message };
  return { kind: "invalid", problems: [problem] };
}

/**
 * Reads `adopter.toml` from the disk, with the paths in it resolved.
 *
 * @module
 */

import type { Checked } from "../../lib/core/problem.ts";
import { textOf } from "../../lib/credential/roster_file.ts";
import { systemFiles } from "../../lib/host/files.ts";
import { beside } from "../../lib/host/paths.ts";
import { type AdopterConfig, readConfig } from "./config.ts";

/** Where it is when nobody says otherwise. */
export const DEFAULT_CONFIG = "/etc/anvil/adopter.toml";
/** No `adopter.toml` is larger. */
const MOST_BYTES = 256 * 1024;

/** Reads and checks the file at `path`. */
export async function loadConfig(path: string): Promise<Checked<AdopterConfig>> {
  const read = await systemFiles.readBounded(path, MOST_BYTES);
  if (read.kind === "absent") {
    return unreadable("file_absent", "there is no such file; `anvil-adopter schema` describes one");
  }
  if (read.kind === "refused") return unreadable(read.code, read.detail);
  const text = textOf(read.bytes);
  if (text === null) return unreadable("not_utf8", "the file is not UTF-8 text");
  const checked = readConfig(text);
  return checked.kind === "invalid"
    ? checked
    : { kind: "ok", model: resolved(path, checked.model) };
}

function resolved(file: string, config: AdopterConfig): AdopterConfig {
  const token = <One extends object>(one: One): One =>
    "token_file" in one && typeof one.token_file === "string"
      ? { ...one, token_file: beside(file, one.token_file) }
      : one;
  return {
    ...config,
    state: beside(file, config.state),
    summary: beside(file, config.summary),
    failures: beside(file, config.failures),
    publisher: { ...config.publisher, trust: beside(file, config.publisher.trust) },
    ...(config.bundle === undefined
      ? {}
      : { bundle: { ...config.bundle, store: beside(file, config.bundle.store) } }),
    gates: config.gates.map(token),
    probes: config.probes.map(token),
  };
}

function unreadable(code: string, message: string): Checked<never> {
  return { kind: "invalid", problems: [{ path: "$", code, message }] };
}

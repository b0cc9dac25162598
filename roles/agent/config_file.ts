/**
 * Reads `agent.toml` from the disk, with the paths in it resolved.
 *
 * @module
 */

import type { Checked } from "../../lib/core/problem.ts";
import { textOf } from "../../lib/credential/roster_file.ts";
import { systemFiles } from "../../lib/host/files.ts";
import { beside } from "../../lib/host/paths.ts";
import { type AgentConfig, readConfig } from "./config.ts";

/** No `agent.toml` is larger. */
const MOST_BYTES = 256 * 1024;

/** Reads and checks the file at `path`. */
export async function loadConfig(path: string): Promise<Checked<AgentConfig>> {
  const read = await systemFiles.readBounded(path, MOST_BYTES);
  if (read.kind === "absent") {
    return unreadable("file_absent", "there is no such file; `anvil-agent schema` describes one");
  }
  if (read.kind === "refused") return unreadable(read.code, read.detail);
  const text = textOf(read.bytes);
  if (text === null) return unreadable("not_utf8", "the file is not UTF-8 text");
  const checked = readConfig(text);
  if (checked.kind === "invalid") return checked;
  const { auth, router, serves, adopter, benchmarks, state, config } = checked.model;
  const model: AgentConfig = {
    ...checked.model,
    state: beside(path, state),
    config: { roots: config.roots.map((root) => beside(path, root)) },
    auth: auth.clients === undefined ? auth : { clients: beside(path, auth.clients) },
    ...(router === undefined ? {} : {
      router: {
        ...router,
        ...(router.token_file === undefined ? {} : { token_file: beside(path, router.token_file) }),
        ...(router.config === undefined ? {} : { config: beside(path, router.config) }),
      },
    }),
    ...(adopter === undefined ? {} : {
      adopter: { ...adopter, config: beside(path, adopter.config) },
    }),
    ...(benchmarks === undefined ? {} : {
      benchmarks: {
        ...benchmarks,
        ...(benchmarks.topology === undefined
          ? {}
          : { topology: beside(path, benchmarks.topology) }),
        ...(benchmarks.router === undefined ? {} : {
          router: { ...benchmarks.router, key_file: beside(path, benchmarks.router.key_file) },
        }),
      },
    }),
    ...(serves === undefined ? {} : {
      serves: {
        ...serves,
        manifest: beside(path, serves.manifest),
        topology: beside(path, serves.topology),
        ...(serves.router === undefined ? {} : { router: beside(path, serves.router) }),
      },
    }),
  };
  return { kind: "ok", model };
}

function unreadable(code: string, message: string): Checked<never> {
  return { kind: "invalid", problems: [{ path: "$", code, message }] };
}

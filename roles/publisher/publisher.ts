/**
 * What every publisher command needs: its configuration, its ports, and how it says what came out.
 *
 * @module
 */

import { systemClock } from "../../lib/host/clock.ts";
import { sha256 } from "../../lib/host/digest.ts";
import { systemDirectories } from "../../lib/host/directories.ts";
import { systemDownload } from "../../lib/host/download.ts";
import { systemFiles } from "../../lib/host/files.ts";
import { tryLock } from "../../lib/host/lock.ts";
import { runProcess } from "../../lib/host/process.ts";
import { type ProgramContext, reportProblems } from "../../lib/terminal/program.ts";
import type { PublisherConfig } from "./config.ts";
import { loadConfig } from "./config_file.ts";
import type { PublisherPorts } from "./ports.ts";

/** `--config FILE`. */
export const CONFIG_FLAG = {
  kind: "parsed",
  parse: String,
  brief: "The publisher's configuration",
  default: "publisher.toml",
  placeholder: "FILE",
} as const;

/** Reads the configuration; reports and gives null when it cannot. */
export async function configOf(
  context: ProgramContext,
  file: string,
  json: boolean,
): Promise<PublisherConfig | null> {
  const loaded = await loadConfig(file);
  if (loaded.kind === "ok") return loaded.model;
  reportProblems(context, file, loaded.problems, json);
  return null;
}

/** The ports of this machine while `act` runs. */
export async function withPorts<Value>(
  context: ProgramContext,
  act: (ports: PublisherPorts) => Promise<Value>,
): Promise<Value> {
  const download = systemDownload(systemClock);
  try {
    return await act({
      files: systemFiles,
      directories: systemDirectories,
      tryLock,
      clock: systemClock,
      sha256,
      download,
      run: runProcess,
      progress: (line) => context.terminal.err(`${line}\n`),
    });
  } finally {
    download.close();
  }
}

export { reportData } from "../../lib/terminal/program.ts";

/**
 * Which builds run on this host, and which are installed: asked of the programs themselves.
 *
 * @module
 */

import { z } from "zod";
import type { Json } from "../../../lib/core/canonical_json.ts";
import type { RunProcess } from "../../../lib/core/process.ts";
import type { Build } from "../../../lib/core/version.ts";
import type { RouterClient } from "../../../lib/serves/machines/router_client.ts";
import { tell } from "../../../lib/serves/os_facts.ts";

/** One build. */
export type BuildTold = {
  readonly version: string;
  /** Null: it runs from source. */
  readonly build_digest: string | null;
};

/** One program. */
export interface InstalledProgram {
  readonly [key: string]: Json;
  readonly name: string;
  /** What runs; null when nothing of it runs by itself, or it could not be asked. */
  readonly running: BuildTold | null;
  /** What the next start would run; null when that was not asked, or could not be. */
  readonly installed: BuildTold | null;
  /** Why `running` or `installed` is not known. */
  readonly code: string | null;
}

/** What is asked. */
export interface ProgramParts {
  readonly run: RunProcess;
  readonly build: Build;
  /** Program and leading arguments of each; null where agent.toml names none. */
  readonly router: readonly string[] | null;
  readonly adopter: readonly string[] | null;
  readonly client: RouterClient | null;
}

const ASK_MS = 5000;

const buildShape = z.looseObject({
  version: z.string().max(128),
  build_digest: z.string().regex(/^[0-9a-f]{64}$/).nullable(),
});

/** Asks each of them once. */
export async function lookAtPrograms(
  parts: ProgramParts,
  signal: AbortSignal,
): Promise<readonly InstalledProgram[]> {
  const { version, build_digest } = parts.build;
  const programs: InstalledProgram[] = [
    { name: "anvil-agent", running: { version, build_digest }, installed: null, code: null },
  ];
  if (parts.router !== null) {
    const [installed, running] = await Promise.all([
      installedBuild(parts.run, parts.router, signal),
      runningRouter(parts.client, signal),
    ]);
    const code = installed === null
      ? "program_unusable"
      : running === null
      ? "running_untold"
      : null;
    programs.push({ name: "anvil-router", running, installed, code });
  }
  if (parts.adopter !== null) {
    const installed = await installedBuild(parts.run, parts.adopter, signal);
    const code = installed === null ? "program_unusable" : null;
    programs.push({ name: "anvil-adopter", running: null, installed, code });
  }
  return programs;
}

async function installedBuild(
  run: RunProcess,
  [program = "", ...leading]: readonly string[],
  signal: AbortSignal,
): Promise<BuildTold | null> {
  const told = await tell(run, [program, ...leading, "--version", "--json"], signal, {
    deadlineMs: ASK_MS,
  });
  if (told.kind === "unknown" || told.code !== 0) return null;
  try {
    return shortOf(JSON.parse(told.text));
  } catch {
    return null;
  }
}

/** A router that tells no digest is older than the question: which build it is, is not known. */
async function runningRouter(
  client: RouterClient | null,
  signal: AbortSignal,
): Promise<BuildTold | null> {
  const told = await client?.statusJson(signal);
  return told === undefined || "kind" in told ? null : shortOf(told.status);
}

function shortOf(value: unknown): BuildTold | null {
  const read = buildShape.safeParse(value);
  if (!read.success) return null;
  const { version, build_digest } = read.data;
  return { version, build_digest };
}

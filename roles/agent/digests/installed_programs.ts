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

/** Below the operation's deadline: a host that is busy loads each of them slowly. */
export const ASK_MS = 60_000;

const buildShape = z.looseObject({
  version: z.string().max(128),
  build_digest: z.string().regex(/^[0-9a-f]{64}$/).nullable(),
});

/** Asks each of them once, side by side: together they take no longer than the slowest. */
export async function lookAtPrograms(
  parts: ProgramParts,
  signal: AbortSignal,
): Promise<readonly InstalledProgram[]> {
  const { version, build_digest } = parts.build;
  const ask = (program: readonly string[] | null) =>
    program === null ? null : installedBuild(parts.run, program, signal);
  const [router, running, adopter] = await Promise.all([
    ask(parts.router),
    parts.router === null ? null : runningRouter(parts.client, signal),
    ask(parts.adopter),
  ]);
  const programs: InstalledProgram[] = [
    { name: "anvil-agent", running: { version, build_digest }, installed: null, code: null },
  ];
  if (router !== null) {
    const code = router.code ?? (running === null ? "running_untold" : null);
    programs.push({ name: "anvil-router", running, installed: router.build, code });
  }
  if (adopter !== null) {
    const { build: installed, code } = adopter;
    programs.push({ name: "anvil-adopter", running: null, installed, code });
  }
  return programs;
}

type Installed =
  | { readonly build: BuildTold; readonly code: null }
  | { readonly build: null; readonly code: "program_silent" | "program_unusable" };

const UNUSABLE: Installed = { build: null, code: "program_unusable" };

async function installedBuild(
  run: RunProcess,
  [program = "", ...leading]: readonly string[],
  signal: AbortSignal,
): Promise<Installed> {
  const told = await tell(run, [program, ...leading, "--version", "--json"], signal, {
    deadlineMs: ASK_MS,
  });
  // Late is not broken: it says nothing of the program, only of the host.
  if (told.kind === "unknown") {
    return told.code === "runtime_silent" ? { build: null, code: "program_silent" } : UNUSABLE;
  }
  if (told.code !== 0) return UNUSABLE;
  try {
    const build = shortOf(JSON.parse(told.text));
    return build === null ? UNUSABLE : { build, code: null };
  } catch {
    return UNUSABLE;
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

/**
 * Git, asked for objects only: no checkout, no hooks, no configuration but the repository's own, and
 * nothing of the environment that could point it elsewhere.
 *
 * @module
 */

import type { HomePorts, HomeRefusal } from "./ports.ts";
import { homeRefusal } from "./ports.ts";

/** What one git command may take and write. */
export interface GitBounds {
  readonly deadlineMs?: number;
  readonly maxOutputBytes?: number;
  readonly stdin?: Uint8Array<ArrayBuffer>;
}

/** How it ended: only what ran to its end is an answer. */
export type GitOutcome =
  | {
    readonly kind: "exited";
    readonly code: number;
    readonly stdout: Uint8Array;
    readonly stderr: string;
  }
  | { readonly kind: "output_too_large" }
  | HomeRefusal;

const DEADLINE_MS = 30_000;
const SMALL_OUTPUT = 64 * 1024;

/** Runs git in `directory`. */
export async function git(
  ports: Pick<HomePorts, "run" | "searchPath">,
  directory: string,
  args: readonly string[],
  bounds: GitBounds = {},
): Promise<GitOutcome> {
  const outcome = await ports.run({
    argv: [
      ...["git", "--no-pager", "--literal-pathspecs", "--no-replace-objects"] as const,
      // A repository may name programs to run: not for us.
      ...["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"],
      ...["-C", directory, ...args],
    ],
    env: {
      PATH: ports.searchPath,
      LC_ALL: "C",
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_OPTIONAL_LOCKS: "0",
      GIT_TERMINAL_PROMPT: "0",
      GIT_NO_LAZY_FETCH: "1",
      GIT_ALLOW_PROTOCOL: "none",
      // A home on a disk of its own inside a working tree is still inside it.
      GIT_DISCOVERY_ACROSS_FILESYSTEM: "1",
    },
    deadlineMs: bounds.deadlineMs ?? DEADLINE_MS,
    maxOutputBytes: bounds.maxOutputBytes ?? SMALL_OUTPUT,
    ...(bounds.stdin === undefined ? {} : { stdin: bounds.stdin }),
  });
  switch (outcome.kind) {
    case "exited":
      return {
        kind: "exited",
        code: outcome.code,
        stdout: outcome.stdout,
        stderr: new TextDecoder().decode(outcome.stderr),
      };
    case "output_too_large":
      return { kind: "output_too_large" };
    case "failed_to_start":
      return homeRefusal("git_absent", "git could not be started", {
        nextStep: "install git, or put it on PATH",
        cause: outcome.cause,
      });
    default:
      return homeRefusal("git_failed", `git did not finish: ${outcome.kind}`);
  }
}

/** A refusal for an exit code that has no other meaning. */
export function gitFailed(what: string, outcome: GitOutcome): HomeRefusal {
  if (outcome.kind === "refused") return outcome;
  return outcome.kind === "output_too_large"
    ? homeRefusal("git_failed", `${what}: git wrote more than was allowed`)
    : homeRefusal("git_failed", `${what}: git ended with ${outcome.code}`, {
      cause: outcome.stderr.trim().slice(0, 500),
    });
}

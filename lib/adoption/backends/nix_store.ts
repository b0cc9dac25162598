/**
 * The Nix store by its own programs: exact paths realised from signed caches, checked, kept.
 *
 * Nothing is evaluated and nothing is built here: `max-jobs` is 0, and a path that no cache has is
 * refused by name. Trust in the bytes is Nix's own: signatures of the cache, checked when they come.
 *
 * @module
 */

import type { Candidate } from "../candidate.ts";
import { STORE_PATH_PATTERN } from "../envelope_payload.ts";
import { type StageFault, stageFault } from "../backend.ts";
import type { ProcessOutcome, RunProcess } from "../../core/process.ts";
import { endOf, PLAIN_ENV } from "./supervisor.ts";

/** How Nix is called. */
export interface NixParts {
  readonly run: RunProcess;
  /** Caches to fetch from; none: those of nix.conf. */
  readonly substituters: readonly string[];
  readonly trustedKeys: readonly string[];
  /** Lines of nix.conf besides: `NIX_CONFIG` of the child. */
  readonly nixConfig: string;
  /** Home of the child, for what Nix caches. */
  readonly home: string;
}

const MOST_OUTPUT = 4 * 1024 * 1024;
const QUERY_MS = 60_000;

/** What one of Nix's programs did. */
export function callNix(
  parts: NixParts,
  argv: readonly [string, ...string[]],
  deadlineMs: number,
): Promise<ProcessOutcome> {
  const env = { ...PLAIN_ENV, HOME: parts.home, NIX_CONFIG: parts.nixConfig };
  return parts.run({ argv, env, deadlineMs, maxOutputBytes: MOST_OUTPUT });
}

/** Realises exactly `path` and holds it by the root at `root`. Null when it is here and held. */
export async function realise(
  parts: NixParts,
  path: string,
  root: string,
  deadlineMs: number,
): Promise<StageFault | null> {
  if (!STORE_PATH_PATTERN.test(path)) {
    return stageFault("candidate", "path_malformed", "observed something other than a store path");
  }
  const option = (name: string, value: string) => ["--option", name, value];
  const ended = await callNix(parts, [
    ...["nix-store", "--realise", path, "--add-root", root] as const,
    ...option("max-jobs", "0"),
    ...option("require-sigs", "true"),
    ...option("narinfo-cache-negative-ttl", "0"),
    ...option("connect-timeout", "10"),
    ...(parts.substituters.length === 0
      ? []
      : option("substituters", parts.substituters.join(" "))),
    ...(parts.trustedKeys.length === 0
      ? []
      : option("trusted-public-keys", parts.trustedKeys.join(" "))),
  ], deadlineMs);
  return ended.kind === "exited" && ended.code === 0 ? null : realiseFault(ended);
}

/** What Nix says when it does not have a path, first match counts. */
const FAULTS = [
  [/not signed by any of the keys|lacks a (?:valid )?signature/, "integrity", "cache_untrusted"],
  [/hash mismatch|does not match|is corrupted/, "integrity", "cache_corrupt"],
  [/No space left on device|disk quota exceeded/i, "environment", "stage_no_space"],
  [/unable to download|unable to connect|Couldn't|timed out|Timeout/, "environment", "cache_down"],
  [/don't know how to build|no substituter that can build/, "environment", "cache_miss"],
] as const;

/** Whose fault a failed realisation is. */
export function realiseFault(ended: ProcessOutcome): StageFault {
  if (ended.kind === "timed_out") {
    return stageFault("environment", "stage_timed_out", "the path was not here by the deadline");
  }
  const said = ended.kind === "failed_to_start" ? "" : new TextDecoder().decode(ended.stderr);
  // The first warnings tell of caches that were asked and did not matter: the last word counts.
  for (const [pattern, cls, code] of FAULTS) {
    if (pattern.test(said)) return stageFault(cls, code, lastError(said), NEXT[code]);
  }
  return stageFault("environment", "nix_failed", endOf(ended));
}

const NEXT: { readonly [code: string]: string } = {
  cache_untrusted: "compare nixos.trusted_keys with the key of the cache",
  cache_corrupt: "look at the cache: what it serves is not what it signed",
  cache_miss: "push the closure to the cache, then publish again",
  cache_down: "see whether the cache answers",
  stage_no_space: "free space; what is proven or runs is never removed for it",
};

function lastError(said: string): string {
  const lines = said.trim().split("\n");
  const worst = lines.findLast((line) => /error|warning|don't know/.test(line)) ?? lines.at(-1);
  return (worst ?? "").slice(0, 300);
}

/** Checks every byte of the closure, and that its top is what was signed. Null when all is so. */
export async function checkClosure(
  parts: NixParts,
  path: string,
  candidate: Candidate | null,
  deadlineMs: number,
): Promise<StageFault | null> {
  const info = await callNix(parts, ["nix", ...NIX_COMMAND, "path-info", "--json", path], QUERY_MS);
  // Of a path it does not have, Nix says so in its JSON and exits with 0.
  const hash = info.kind === "exited" && info.code === 0 ? narHashOf(info.stdout) : null;
  if (hash === null) {
    return stageFault("environment", "generation_absent", "the store does not have this path");
  }
  if (candidate !== null && candidate.hash !== "" && hash !== candidate.hash) {
    return stageFault("integrity", "nar_hash_differs", "the path here is not what was signed");
  }
  const argv = [
    "nix",
    ...NIX_COMMAND,
    "store",
    "verify",
    "--recursive",
    "--no-trust",
    path,
  ] as const;
  const ended = await callNix(parts, argv, deadlineMs);
  if (ended.kind !== "exited") return stageFault("environment", "verify_failed", endOf(ended));
  return ended.code === 0 ? null : stageFault(
    "integrity",
    "closure_corrupt",
    `the store's bytes are not what it registered: ${endOf(ended)}`,
    "nix-store --verify --check-contents --repair",
  );
}

const NIX_COMMAND = ["--extra-experimental-features", "nix-command"] as const;

/** As Nix 2.3 to 2.19 print it (a list), or later ones (by path). Null when it is neither. */
function narHashOf(stdout: Uint8Array): string | null {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(stdout));
    const first: unknown = Array.isArray(value) ? value[0] : Object.values(value as object)[0];
    const hash = (first as { readonly narHash?: unknown } | undefined)?.narHash;
    return typeof hash === "string" ? hash : null;
  } catch {
    return null;
  }
}

/** True when the store has the path, and so its whole closure. */
export async function isPresent(parts: NixParts, path: string): Promise<boolean> {
  const ended = await callNix(parts, ["nix-store", "-q", "--hash", path], QUERY_MS);
  return ended.kind === "exited" && ended.code === 0;
}

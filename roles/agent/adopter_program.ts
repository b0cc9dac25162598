/**
 * The installed adopter as a program. It alone writes its journal: the agent asks it, and believes
 * what it says and nothing else.
 *
 *     exit 0  done, nothing to do, later, or somebody else is at work
 *     exit 1  refused, or gone back
 *     exit 2  the command line or its configuration is wrong
 *     exit 3  a person must look
 *
 * @module
 */

import { z } from "zod";
import type { Json } from "../../lib/core/canonical_json.ts";
import type { ProcessOutcome, RunProcess } from "../../lib/core/process.ts";
import { type Refusal, refuse } from "../../lib/core/refusal.ts";
import { jsonShape } from "../../lib/operation/operation.ts";

/** How the adopter of this host is started. */
export interface AdopterProgramParts {
  readonly run: RunProcess;
  /** Program and leading arguments, as `anvil-adopter`. */
  readonly program: readonly string[];
  /** Path of `adopter.toml`. */
  readonly config: string;
  /** What starts a program outside of the agent's own unit; empty: nothing does. */
  readonly outside: readonly string[];
  /** What a supervisor of a user needs to be found. */
  readonly env: Readonly<Record<string, string>>;
}

/** One question. */
export interface AdopterAsk {
  /** Verb and flags, without `--config` and `--json`. */
  readonly words: readonly string[];
  /** Who asks: stands in the adopter's receipts. */
  readonly who: string;
  /** It may restart this agent, and must outlive it. */
  readonly outlives: boolean;
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
}

/** What it said. */
export type AdopterSaid =
  | {
    readonly kind: "said";
    readonly exit: 0 | 1 | 3;
    /** Its own code: docs/runbooks/adopter-codes.md. */
    readonly code: string;
    readonly detail: string;
    readonly data: { readonly [key: string]: Json };
  }
  /** Nothing ran, or nothing was done. */
  | Refusal<"adopter_unusable" | "adopter_misconfigured" | "adopter_busy">
  /** It ran, and how it ended nobody told. */
  | { readonly kind: "unclear"; readonly detail: string };

/** The adopter of this host. */
export type AdopterProgram = (ask: AdopterAsk) => Promise<AdopterSaid>;

const MOST_OUTPUT = 4 * 1024 * 1024;

/** Where programs are; the adopter looks for systemctl and others there. */
const PATH =
  "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin";

const envelopeShape = z.looseObject({
  ok: z.boolean(),
  data: z.record(z.string(), jsonShape).nullish(),
  problems: z.array(z.looseObject({ code: z.string(), message: z.string() })).default([]),
});

/** Starts it, once per question. */
export function adopterProgram(parts: AdopterProgramParts): AdopterProgram {
  return async ({ words, who, outlives, deadlineMs, signal }) => {
    const [verb = "", ...rest] = words;
    const asked = [...parts.program, verb, ...rest, `--config=${parts.config}`, "--json"];
    // The environment does not pass through what starts it elsewhere.
    const argv = outlives && parts.outside.length > 0
      ? [...parts.outside, "env", `USER=${who}`, ...asked]
      : asked;
    const [program = "", ...args] = argv;
    const ended = await parts.run({
      argv: [program, ...args],
      env: { ...parts.env, PATH, USER: who, LC_ALL: "C" },
      deadlineMs,
      maxOutputBytes: MOST_OUTPUT,
      signal,
    });
    signal.throwIfAborted();
    return saidBy(ended);
  };
}

function saidBy(ended: ProcessOutcome): AdopterSaid {
  if (ended.kind === "failed_to_start") {
    return refuse(
      "adopter_unusable",
      `the installed adopter was not started: ${ended.code}`,
      "see `[adopter]` in agent.toml",
    );
  }
  if (ended.kind !== "exited") {
    return { kind: "unclear", detail: `the adopter: ${ended.kind.replaceAll("_", " ")}` };
  }
  const envelope = envelopeOf(ended.stdout);
  const [problem] = envelope?.problems ?? [];
  if (ended.code === 2) {
    return refuse(
      "adopter_misconfigured",
      `the adopter refuses its command line or configuration: ${problem?.code ?? "no JSON"}`,
      "run `anvil-adopter check` on the host",
    );
  }
  const { code: exit } = ended;
  if (envelope === null || (exit !== 0 && exit !== 1 && exit !== 3)) {
    return { kind: "unclear", detail: `the adopter ended with code ${exit} and no answer` };
  }
  const data = envelope.data ?? {};
  const code = textAt(data, "code") ?? problem?.code ?? "unknown";
  const detail = textAt(data, "detail") ?? problem?.message ?? "";
  if (exit === 0 && code === "busy") {
    return refuse(
      "adopter_busy",
      "another adopter is at work on this host; nothing was done",
      "look at `candidates.status`, then ask again",
    );
  }
  return { kind: "said", exit, code, detail, data };
}

function envelopeOf(stdout: Uint8Array<ArrayBuffer>): z.infer<typeof envelopeShape> | null {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(stdout);
    const read = envelopeShape.safeParse(JSON.parse(text));
    return read.success ? read.data : null;
  } catch {
    return null;
  }
}

function textAt(data: { readonly [key: string]: Json }, key: string): string | null {
  const value = data[key];
  return typeof value === "string" ? value : null;
}

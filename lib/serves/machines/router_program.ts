/**
 * The installed router as a program: it judges configurations itself, and its supervisor restarts it.
 *
 * @module
 */

import { z } from "zod";
import type { Files } from "../../core/files.ts";
import type { ProcessOutcome, RunProcess } from "../../core/process.ts";
import { refuse } from "../../core/refusal.ts";
import { parent, within } from "../../host/paths.ts";
import type { Judged, RestartRefusal, RouterProgram } from "./ports.ts";

/** How the router is started on this host. */
export const ROUTER_SUPERVISORS = ["systemd", "systemd-user", "launchd"] as const;
/** One of {@link ROUTER_SUPERVISORS}. */
export type RouterSupervisor = (typeof ROUTER_SUPERVISORS)[number];

/** What it is made of. */
export interface RouterProgramParts {
  readonly run: RunProcess;
  readonly files: Files;
  /** Path of `router.toml`. */
  readonly config: string;
  /** Program and leading arguments of the installed router, as `anvil-router`. */
  readonly program: readonly [string, ...string[]];
  readonly supervisor: RouterSupervisor;
  /** The unit or job: `anvil-router.service`, `system/org.example.anvil-router`. */
  readonly unit: string;
  /** What a supervisor of a user needs to be found: XDG_RUNTIME_DIR. */
  readonly env: Readonly<Record<string, string>>;
}

/** What each supervisor is told. All of them send SIGTERM, wait, and start again. */
const RESTARTS: {
  readonly [supervisor in RouterSupervisor]: (unit: string) => readonly [string, ...string[]];
} = {
  "systemd": (unit) => ["systemctl", "restart", "--", unit],
  "systemd-user": (unit) => ["systemctl", "--user", "restart", "--", unit],
  // -k ends the running one first; launchd waits its ExitTimeOut.
  "launchd": (unit) => ["launchctl", "kickstart", "-k", unit],
};

/** Below the two minutes that a plan may take: a busy host loads the program slowly. */
const CHECK_MS = 100_000;
/** Above the router's drain of at most an hour, which its unit bounds. */
const RESTART_MS = 3_700_000;

const envelopeShape = z.looseObject({
  ok: z.boolean(),
  data: z.looseObject({ config_digest: z.string() }).nullish(),
  problems: z.array(z.looseObject({
    path: z.string(),
    code: z.string(),
    message: z.string(),
  })).default([]),
});

/** The router that is installed here. */
export function routerProgram(parts: RouterProgramParts): RouterProgram {
  // Beside the real one: relative paths in it mean the same there.
  const candidate = within(parent(parts.config), ".router.toml.candidate");
  return {
    async check(text, signal) {
      const put = await parts.files.replaceFile(candidate, new TextEncoder().encode(text), 0o600);
      if (put.kind === "refused") return unwritable(put.code);
      const [program, ...leading] = parts.program;
      const ended = await parts.run({
        argv: [program, ...leading, "check", "--json", candidate],
        env: { NO_COLOR: "1", ...parts.env },
        deadlineMs: CHECK_MS,
        maxOutputBytes: 4 * 1024 * 1024,
        signal,
      });
      signal.throwIfAborted();
      return judgedBy(ended);
    },
    async restart(signal) {
      const ended = await parts.run({
        argv: RESTARTS[parts.supervisor](parts.unit),
        env: parts.env,
        deadlineMs: RESTART_MS,
        maxOutputBytes: 64 * 1024,
        signal,
      });
      signal.throwIfAborted();
      return ended.kind === "exited" && ended.code === 0
        ? { kind: "restarted" }
        : notRestarted(ended);
    },
  };
}

function judgedBy(ended: ProcessOutcome): Judged {
  if (ended.kind !== "exited") return unusable(`the installed router: ${howOf(ended)}`);
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(ended.stdout));
  } catch {
    return unusable(`the installed router ended with code ${ended.code} and no JSON`);
  }
  const read = envelopeShape.safeParse(value);
  if (!read.success) return unusable("the installed router answers in another form");
  const { ok, data, problems } = read.data;
  if (ok && ended.code === 0 && data) return { kind: "valid", digest: data.config_digest };
  return {
    ...refuse("config_invalid", `the installed router refuses it: ${problems.length} problems`),
    problems,
  };
}

function unwritable(code: string): Judged {
  return {
    ...refuse(
      "router_candidate_unwritable",
      `the text that is to be judged cannot be written beside router.toml: ${code}`,
      "give the agent's user the folder of `router.config`, with space in it",
    ),
    problems: [],
  };
}

function unusable(detail: string): Judged {
  return {
    ...refuse("router_program_unusable", detail, "see `router.program` in agent.toml"),
    problems: [],
  };
}

function notRestarted(ended: ProcessOutcome): RestartRefusal {
  const errors = "stderr" in ended ? new TextDecoder().decode(ended.stderr).trim() : ended.cause;
  return {
    ...refuse(
      "router_not_restarted",
      `the supervisor did not restart the router: ${howOf(ended)}`,
      "look at the unit",
    ),
    cause: errors.slice(0, 2000),
  };
}

function howOf(ended: ProcessOutcome): string {
  switch (ended.kind) {
    case "exited":
      return `code ${ended.code}`;
    case "signalled":
      return `signal ${ended.signal}`;
    case "failed_to_start":
      return ended.code;
    case "timed_out":
    case "aborted":
    case "output_too_large":
      return ended.kind.replaceAll("_", " ");
  }
}

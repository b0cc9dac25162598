/**
 * launchd as the supervisor, in the session of the agent's user.
 *
 * The form of `launchctl print` is that of transcripts others have published; no Mac was at hand.
 *
 * @module
 */

import type { Files } from "../core/files.ts";
import { refuse } from "../core/refusal.ts";
import type { RunProcess } from "../core/process.ts";
import type { Exit, Unknown } from "./driver.ts";
import { lastLines } from "./log_lines.ts";
import type { NativeServe } from "./manifest_shape.ts";
import { notUnderstood, tell } from "./os_facts.ts";
import { familyOf, type Ordered, type SupervisorPort, type UnitFact } from "./supervisor.ts";

/** `launchctl print` of a job that is not there. */
const NO_SUCH_JOB = 113;
/** A log is read whole: let the system rotate it. */
const MOST_LOG_BYTES = 16 * 1024 * 1024;
/** There is no session of that user: nobody is logged in. */
const NO_SESSION = 125;

/** The supervisor. */
export function launchd({ run, files, uid }: {
  readonly run: RunProcess;
  readonly files: Pick<Files, "readBounded">;
  readonly uid: number;
}): SupervisorPort {
  const target = (serve: NativeServe) => `gui/${uid}/${serve.unit}`;
  const print = (serve: NativeServe, signal: AbortSignal) =>
    tell(run, ["launchctl", "print", target(serve)], signal);

  async function order(signal: AbortSignal, ...args: string[]): Promise<Ordered> {
    const told = await tell(run, ["launchctl", ...args], signal);
    if (told.kind === "unknown") return told;
    return told.code === 0
      ? { kind: "taken" }
      : refuse("order_refused", `launchctl ${args[0]} exited with ${told.code}`);
  }

  return {
    kind: "launchd",
    async look(serve, signal) {
      const told = await print(serve, signal);
      if (told.kind === "unknown") return told;
      if (told.code === NO_SUCH_JOB) return { kind: "seen", value: ABSENT };
      if (told.code === NO_SESSION) return LOGGED_OUT;
      if (told.code !== 0) return notUnderstood(`launchctl exited with ${told.code}`);
      const unit = readJob(told.text, serve);
      return unit === null
        ? notUnderstood("what launchctl says of the job is not understood")
        : { kind: "seen", value: unit };
    },
    start: (serve, signal) => order(signal, "kickstart", target(serve)),
    ask: (serve, signal) => order(signal, "kill", "SIGTERM", target(serve)),
    kill: (serve, signal) => order(signal, "kill", "SIGKILL", target(serve)),
    async logs(serve, bounds, signal) {
      const told = await print(serve, signal);
      if (told.kind === "unknown") return told;
      const path = /^\tstdout path = (.*)$/m.exec(told.text)?.[1];
      if (path === undefined) return { kind: "logs", lines: [], truncated: false };
      const read = await files.readBounded(path, MOST_LOG_BYTES);
      if (read.kind === "refused") return notUnderstood(`the log of the job: ${read.detail}`);
      return read.kind === "ok"
        ? lastLines(new TextDecoder().decode(read.bytes), bounds)
        : { kind: "logs", lines: [], truncated: false }; // it has written nothing yet
    },
    members: (_serve, mainPid, table) => mainPid === null ? [] : familyOf(mainPid, table),
  };
}

const LOGGED_OUT: Unknown = {
  kind: "unknown",
  code: "runtime_unreachable",
  detail: "the agent's user has no session on this Mac: log in, and stay logged in",
};

const ABSENT: UnitFact = {
  loaded: false,
  differences: [],
  activity: "stopped",
  mainPid: null,
  life: null,
  exit: null,
};

/** Reads `launchctl print`; null when it is something else. */
export function readJob(text: string, serve: NativeServe): UnitFact | null {
  const of = (name: string) => new RegExp(`^\\t${name} = (.*)$`, "m").exec(text)?.[1] ?? null;
  const state = of("state");
  if (state === null) return null;
  const pid = Number(of("pid") ?? 0);
  const list = /^\targuments = \{\n((?:\t\t.*\n)*)\t\}/m.exec(text)?.[1] ?? "";
  const argv = list.split("\n").filter((line) => line !== "").map((line) => line.slice(2));
  const code = of("last exit code");
  const wrong: string[] = [];
  const expect = (fine: boolean, what: string) => fine || wrong.push(what);
  expect(argv.join("\0") === serve.argv.join("\0"), "ProgramArguments is not `argv`");
  expect(of("working directory") === serve.cwd, "WorkingDirectory is not `cwd`");
  expect(
    Number(of("exit timeout")) === serve.stop_grace_seconds,
    "ExitTimeOut is not `stop_grace_seconds`",
  );
  return {
    loaded: true,
    differences: wrong,
    activity: state === "running" ? "running" : "stopped",
    mainPid: pid > 0 ? pid : null,
    life: null,
    exit: exitOf(code, of("last terminating signal")),
  };
}

/** `0`, `(never exited)`, or nothing beside `Terminated: 15`. */
function exitOf(code: string | null, signal: string | null): Exit | null {
  const killed = /: (\d+)$/.exec(signal ?? "")?.[1];
  const known = code !== null && /^\d+/.test(code) ? Number.parseInt(code, 10) : null;
  if (known === null && killed === undefined) return null;
  const name = killed === "9" ? "SIGKILL" : killed === "15" ? "SIGTERM" : `signal ${killed}`;
  return {
    code: killed === undefined ? known : null,
    signal: killed === undefined ? null : name,
    at: null,
    outOfMemory: false,
  };
}

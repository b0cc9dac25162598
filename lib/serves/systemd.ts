/**
 * systemd as the supervisor, of the user the agent runs as or of the system.
 *
 * The unit file is installed beforehand (`anvil-agent unit` prints it); it is compared with the
 * manifest before anything is started.
 *
 * @module
 */

import { refuse } from "../core/refusal.ts";
import type { RunProcess } from "../core/process.ts";
import type { Exit, LogBounds, Logs } from "./driver.ts";
import { lastLines } from "./log_lines.ts";
import type { NativeServe } from "./manifest_shape.ts";
import { notUnderstood, type ProcessFact, type Seen, tell } from "./os_facts.ts";
import type { Ordered, SupervisorPort, UnitFact } from "./supervisor.ts";

/** What is asked of a unit. */
const PROPERTIES = [
  ...["LoadState", "ActiveState", "SubState", "MainPID", "InvocationID", "NeedDaemonReload"],
  ...["ExecStart", "WorkingDirectory", "EnvironmentFiles"],
  ...["TimeoutStopUSec", "SendSIGKILL", "KillMode"],
  ...["Result", "ExecMainCode", "ExecMainStatus", "ExecMainExitTimestamp"],
] as const;

/** An order is taken, or not, within so many milliseconds. */
const ORDER_MS = 20_000;

/** What is needed. */
export interface SystemdParts {
  readonly run: RunProcess;
  /** `user`: the manager of the agent's own user, whose id this is. */
  readonly manager: { readonly kind: "system" } | { readonly kind: "user"; readonly uid: number };
}

/** The supervisor. */
export function systemd({ run, manager }: SystemdParts): SupervisorPort {
  const env: Record<string, string> = manager.kind === "system"
    ? {}
    : { XDG_RUNTIME_DIR: `/run/user/${manager.uid}` };
  const scope = manager.kind === "system" ? ["--system"] : ["--user"];
  const control = (signal: AbortSignal, ...args: string[]) =>
    tell(run, ["systemctl", ...scope, "--no-pager", "--no-ask-password", ...args], signal, {
      env,
      deadlineMs: ORDER_MS,
    });

  async function order(signal: AbortSignal, ...args: string[]): Promise<Ordered> {
    const told = await control(signal, ...args);
    if (told.kind === "unknown") return told;
    if (told.code === 0) return { kind: "taken" };
    const said = told.error.trim().split("\n")[0]?.slice(0, 300) ?? "";
    return refuse("order_refused", `systemctl exited with ${told.code}: ${said}`);
  }

  return {
    kind: manager.kind === "system" ? "systemd-system" : "systemd-user",
    async look(serve, signal): Promise<Seen<UnitFact>> {
      const properties = PROPERTIES.map((name) => `--property=${name}`);
      const told = await control(signal, "show", ...properties, "--", serve.unit);
      if (told.kind === "unknown") return told;
      if (told.code !== 0) {
        const said = told.error.trim().split("\n")[0]?.slice(0, 200) ?? "";
        return /connect to bus|No medium|Connection refused/.test(said)
          ? {
            kind: "unknown",
            code: "runtime_unreachable",
            detail: `the ${manager.kind} manager of systemd cannot be reached`,
            cause: said,
          }
          : notUnderstood(`systemctl exited with ${told.code}`);
      }
      const unit = readUnit(told.text, serve);
      return unit === null
        ? notUnderstood("what systemctl says of the unit is not understood")
        : { kind: "seen", value: unit };
    },
    start: (serve, signal) => order(signal, "start", "--", serve.unit),
    ask: (serve, signal) => order(signal, "stop", "--no-block", "--", serve.unit),
    kill: async (serve, signal) => {
      // A unit that is waited for would be killed, and one that has given up is not.
      const killed = await order(
        signal,
        "kill",
        "--kill-whom=all",
        "--signal=SIGKILL",
        "--",
        serve.unit,
      );
      if (killed.kind === "refused" && /kill-whom/.test(killed.detail)) { // before systemd 252
        return await order(signal, "kill", "--kill-who=all", "--signal=SIGKILL", "--", serve.unit);
      }
      return killed;
    },
    async logs(serve, bounds: LogBounds, signal): Promise<Logs> {
      const unit = manager.kind === "system" ? "--unit" : "--user-unit";
      const told = await tell(
        run,
        [
          "journalctl",
          ...["--no-pager", "--quiet", "--output=cat", `--lines=${bounds.lines}`],
          `${unit}=${serve.unit}`,
        ],
        signal,
        { env },
      );
      if (told.kind === "unknown") return told;
      return told.code === 0
        ? lastLines(told.text, bounds)
        : notUnderstood(`journalctl exited with ${told.code}`);
    },
    members: (serve, _mainPid, table) =>
      table.filter((one) => !one.isZombie && isIn(one, serve.unit, manager.kind)),
  };
}

/** Whether the control group of `fact` is that of the unit, or below it. */
function isIn({ scope }: ProcessFact, unit: string, manager: "system" | "user"): boolean {
  return scope.split(",").some((path) => {
    const parts = path.split("/");
    const isUser = parts.some((part) => /^user@\d+\.service$/.test(part)) &&
      parts.indexOf(unit) > 0;
    return parts.includes(unit) && isUser === (manager === "user");
  });
}

/** Reads `systemctl show`; null when a property it must have is missing. */
export function readUnit(text: string, serve: NativeServe): UnitFact | null {
  const found = new Map(
    text.split("\n").flatMap((line) => {
      const at = line.indexOf("=");
      return at === -1 ? [] : [[line.slice(0, at), line.slice(at + 1)] as const];
    }),
  );
  const load = found.get("LoadState");
  const active = found.get("ActiveState");
  if (load === undefined || active === undefined) return null;
  const of = (name: string) => found.get(name) ?? "";
  const pid = Number(of("MainPID"));
  const isRunning = active === "active" || active === "reloading" || active === "activating";
  return {
    loaded: load === "loaded",
    differences: load === "loaded" ? differences(of, serve) : [],
    activity: active === "deactivating" ? "stopping" : isRunning ? "running" : "stopped",
    mainPid: pid > 0 ? pid : null,
    life: of("InvocationID") === "" ? null : of("InvocationID"),
    exit: isRunning ? null : exitOf(of),
  };
}

function differences(of: (name: string) => string, serve: NativeServe): string[] {
  const wrong: string[] = [];
  const expect = (fine: boolean, what: string) => fine || wrong.push(what);
  const argv = /argv\[\]=(.*?) ; ignore_errors=/.exec(of("ExecStart"))?.[1] ?? "";
  expect(argv === serve.argv.join(" "), "ExecStart is not `argv`");
  expect(of("WorkingDirectory") === serve.cwd, "WorkingDirectory is not `cwd`");
  const files = of("EnvironmentFiles").replace(/ \(ignore_errors=(yes|no)\)/g, "");
  expect(files === (serve.env_file ?? ""), "EnvironmentFile is not `env_file`");
  expect(
    secondsOf(of("TimeoutStopUSec")) === serve.stop_grace_seconds,
    "TimeoutStopSec is not `stop_grace_seconds`",
  );
  expect(of("SendSIGKILL") === "no", "SendSIGKILL is not `no`: a stop would kill");
  expect(of("KillMode") === "control-group", "KillMode is not `control-group`");
  expect(of("NeedDaemonReload") !== "yes", "the file changed: `systemctl daemon-reload` is due");
  return wrong;
}

/** `1min 30s` in seconds; null for what has no end, or is not whole. */
export function secondsOf(span: string): number | null {
  const units: { readonly [unit: string]: number } = { h: 3600, min: 60, s: 1 };
  let seconds = 0;
  for (const part of span.split(" ")) {
    const [, count, unit = ""] = /^(\d+)(h|min|s)$/.exec(part) ?? [];
    if (count === undefined) return null;
    seconds += Number(count) * (units[unit] ?? 0);
  }
  return seconds;
}

/** How the last life ended; `ExecMainCode` 1 is an exit, 2 and 3 a signal. */
function exitOf(of: (name: string) => string): Exit | null {
  const stamp = /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/.exec(of("ExecMainExitTimestamp"))?.[0];
  if (stamp === undefined) return null;
  const status = Number(of("ExecMainStatus"));
  const code = of("ExecMainCode");
  return {
    code: code === "1" ? status : null,
    signal: code === "2" || code === "3" ? SIGNALS[status] ?? `signal ${status}` : null,
    at: Date.parse(`${stamp.replace(" ", "T")}Z`),
    outOfMemory: of("Result") === "oom-kill",
  };
}

const SIGNALS: { readonly [number: number]: string } = {
  1: "SIGHUP",
  2: "SIGINT",
  6: "SIGABRT",
  7: "SIGBUS",
  9: "SIGKILL",
  11: "SIGSEGV",
  15: "SIGTERM",
};

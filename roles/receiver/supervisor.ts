/**
 * Restarts the one declared, preprovisioned unit. Nothing is created, enabled or elevated.
 *
 * @module
 */

import type { BootstrapCode } from "../../lib/bootstrap/codes.ts";
import type { ProcessOutcome } from "../../lib/core/process.ts";
import type { ReceiverPorts } from "./ports.ts";
import type { TargetConfig } from "./target.ts";

const MOST_OUTPUT_BYTES = 64 * 1024;

type Ports = Pick<ReceiverPorts, "run" | "uid" | "remark">;
type Argv = readonly [program: string, ...args: string[]];

/** Null when the unit runs after its restart; doing it twice does no harm. */
export async function restartUnit(
  ports: Ports,
  config: TargetConfig,
): Promise<BootstrapCode | null> {
  const { supervisor, unit } = config;
  const run = (argv: Argv) => command(ports, config, argv);
  if (supervisor === "windows-task") {
    await run(["schtasks", "/End", "/TN", unit]); // one that does not run cannot be ended
    return faultOf(ports, await run(["schtasks", "/Run", "/TN", unit]));
  }
  const restarted = faultOf(ports, await run(["systemctl", "--user", "restart", "--", unit]));
  if (restarted !== null) return restarted;
  return faultOf(ports, await run(["systemctl", "--user", "is-active", "--", unit]));
}

async function command(
  { run, uid }: Ports,
  { limits, supervisor }: TargetConfig,
  argv: Argv,
): Promise<ProcessOutcome> {
  // Nothing of the caller's environment: the addresses of the user's own manager follow from its number.
  const runtime = `/run/user/${uid}`;
  const env: Readonly<Record<string, string>> = supervisor === "systemd-user"
    ? {
      PATH: "/usr/bin:/bin:/run/current-system/sw/bin",
      LC_ALL: "C",
      XDG_RUNTIME_DIR: runtime,
      DBUS_SESSION_BUS_ADDRESS: `unix:path=${runtime}/bus`,
    }
    : { PATH: "C:\\Windows\\System32", SystemRoot: "C:\\Windows" };
  return await run({
    argv,
    env,
    deadlineMs: limits.restart_seconds * 1000,
    maxOutputBytes: MOST_OUTPUT_BYTES,
  });
}

function faultOf({ remark }: Ports, outcome: ProcessOutcome): BootstrapCode | null {
  if (outcome.kind === "exited" && outcome.code === 0) return null;
  if (outcome.kind === "failed_to_start") remark(`${outcome.code}: ${outcome.cause}`);
  else remark(`supervisor: ${outcome.kind}: ${new TextDecoder().decode(outcome.stderr)}`);
  return outcome.kind === "timed_out" ? "restart_unknown" : "restart_failed";
}

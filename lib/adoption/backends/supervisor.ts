/**
 * Units, as the machine's own supervisor knows them: systemd or launchd.
 *
 * @module
 */

import type { ProcessOutcome, RunProcess } from "../../core/process.ts";

/** What restarting gave. */
export type Restarted =
  | { readonly kind: "ok" }
  /** The supervisor said no, or said nothing in time; it may still be at it. */
  | { readonly kind: "problem"; readonly detail: string };

/** Restarts units in their order. */
export interface Supervisor {
  restart(units: readonly string[], deadlineMs: number): Promise<Restarted>;
}

/** Programs find nothing of our own environment. */
export const PLAIN_ENV = {
  PATH: "/run/current-system/sw/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  LC_ALL: "C",
  TZ: "UTC",
} as const;

/** Supervisor programs print little. */
const MOST_OUTPUT = 64 * 1024;

/** By `systemctl`. Units that the new generation changed are read anew first. */
export function systemdSupervisor(run: RunProcess): Supervisor {
  return {
    restart: async (units, deadlineMs) => {
      const reloaded = await call(run, ["systemctl", "daemon-reload"], deadlineMs);
      if (reloaded.kind !== "ok" || units.length === 0) return reloaded;
      return await call(run, ["systemctl", "restart", "--", ...units], deadlineMs);
    },
  };
}

/**
 * `run`, where every `systemctl` is that of the user manager of `uid`: for a host whose units belong
 * to the account the adopter runs as.
 */
export function byUserManager(run: RunProcess, uid: number): RunProcess {
  return (ask) => {
    const [program, ...words] = ask.argv;
    if (program !== "systemctl") return run(ask);
    const runtime = `/run/user/${uid}`;
    const env = {
      ...ask.env,
      XDG_RUNTIME_DIR: runtime,
      DBUS_SESSION_BUS_ADDRESS: `unix:path=${runtime}/bus`,
    };
    return run({ ...ask, argv: [program, "--user", ...words], env });
  };
}

/** By `launchctl`: labels of the system domain. */
export function launchdSupervisor(run: RunProcess): Supervisor {
  return {
    restart: async (units, deadlineMs) => {
      for (const unit of units) {
        const argv = ["launchctl", "kickstart", "-k", `system/${unit}`] as const;
        const done = await call(run, argv, deadlineMs);
        if (done.kind !== "ok") return done;
      }
      return { kind: "ok" };
    },
  };
}

async function call(
  run: RunProcess,
  argv: readonly [string, ...string[]],
  deadlineMs: number,
): Promise<Restarted> {
  const ended = await run({ argv, env: PLAIN_ENV, deadlineMs, maxOutputBytes: MOST_OUTPUT });
  if (ended.kind === "exited" && ended.code === 0) return { kind: "ok" };
  return { kind: "problem", detail: `${argv[0]} ${argv[1]}: ${endOf(ended)}` };
}

/** How a program ended, in a few words. */
export function endOf(ended: ProcessOutcome): string {
  switch (ended.kind) {
    case "exited": {
      const said = new TextDecoder().decode(ended.stderr).trim().split("\n").at(-1) ?? "";
      return said === "" ? `exit ${ended.code}` : `exit ${ended.code}, ${said.slice(0, 200)}`;
    }
    case "signalled":
      return `signal ${ended.signal}`;
    case "failed_to_start":
      return ended.code;
    case "output_too_large":
      return "it printed too much";
    case "timed_out":
    case "aborted":
      return ended.kind;
  }
}

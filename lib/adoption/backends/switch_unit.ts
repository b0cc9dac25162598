/**
 * `switch-to-configuration` in a transient unit of its own, named for attempt and step: it goes on
 * when we do not, runs once whatever we do, and can be asked afterwards how it ended.
 *
 *     ensure: unit there? ─ no ─> systemd-run ─┐
 *                └─ yes ───────────────────────┴─> ask until it is not at work, or the deadline
 *
 * @module
 */

import type { Clock } from "../../core/clock.ts";
import type { RunProcess } from "../../core/process.ts";
import { endOf, PLAIN_ENV } from "./supervisor.ts";

/** Where a unit stands. */
export type UnitEnd =
  | { readonly kind: "absent" }
  | { readonly kind: "running" }
  | { readonly kind: "exited"; readonly code: number }
  | { readonly kind: "signalled"; readonly detail: string }
  | { readonly kind: "unknown"; readonly detail: string };

const SHOWN = ["LoadState", "ActiveState", "Result", "ExecMainCode", "ExecMainStatus"] as const;
const ASK_MS = 10_000;
const POLL_MS = 500;

/** Asks systemd about a unit. */
export async function unitEnd(run: RunProcess, unit: string): Promise<UnitEnd> {
  const ended = await run({
    argv: ["systemctl", "show", `--property=${SHOWN.join(",")}`, "--", unit],
    env: PLAIN_ENV,
    deadlineMs: ASK_MS,
    maxOutputBytes: 16 * 1024,
  });
  if (ended.kind !== "exited" || ended.code !== 0) {
    return { kind: "unknown", detail: `systemctl show: ${endOf(ended)}` };
  }
  return readUnit(new TextDecoder().decode(ended.stdout));
}

/** What `systemctl show` said of a oneshot unit that remains after its exit. */
export function readUnit(text: string): UnitEnd {
  const facts = new Map(
    text.split("\n").map((line) => {
      const at = line.indexOf("=");
      return [line.slice(0, at), line.slice(at + 1)] as const;
    }),
  );
  const load = facts.get("LoadState");
  const active = facts.get("ActiveState");
  if (load === "not-found") return { kind: "absent" };
  if (load !== "loaded" || active === undefined) {
    return { kind: "unknown", detail: `LoadState=${load ?? "not said"}` };
  }
  if (["activating", "deactivating", "reloading"].includes(active)) return { kind: "running" };
  const code = facts.get("ExecMainCode");
  const status = Number(facts.get("ExecMainStatus"));
  // 1: exited. 2 and 3: killed or dumped. 0: it never ran.
  if (code === "1" && Number.isInteger(status)) return { kind: "exited", code: status };
  const detail = `Result=${facts.get("Result") ?? "not said"}, signal ${status}`;
  return { kind: "signalled", detail };
}

/** Runs `argv` in `unit`, unless that unit is there already, and waits for its end. */
export async function runUnit(
  run: RunProcess,
  clock: Clock,
  unit: string,
  argv: readonly [string, ...string[]],
  deadlineMs: number,
): Promise<UnitEnd> {
  const until = clock.monotonic() + deadlineMs;
  const before = await unitEnd(run, unit);
  if (before.kind === "unknown") return before;
  if (before.kind === "absent") {
    const began = await run({
      argv: [
        ...["systemd-run", "--quiet", "--no-block", "--no-ask-password"] as const,
        `--unit=${unit}`,
        "--service-type=oneshot",
        "--remain-after-exit",
        `--description=Anvil adoption: ${argv.at(-1)}`,
        "--",
        ...argv,
      ],
      env: PLAIN_ENV,
      deadlineMs: Math.min(deadlineMs, 60_000),
      maxOutputBytes: 16 * 1024,
    });
    if (began.kind === "failed_to_start") {
      return { kind: "unknown", detail: `systemd-run: ${began.code}` };
    }
    if (began.kind !== "exited" || began.code !== 0) {
      return { kind: "unknown", detail: `systemd-run: ${endOf(began)}` };
    }
  }
  for (;;) {
    const end = await unitEnd(run, unit);
    if (end.kind !== "running") return end;
    if (clock.monotonic() >= until) return end;
    await clock.sleep(POLL_MS);
  }
}

/** Lets go of a unit that has ended and whose end is on record. Best effort. */
export async function forgetUnit(run: RunProcess, unit: string): Promise<void> {
  for (const verb of ["stop", "reset-failed"] as const) {
    await run({
      argv: ["systemctl", verb, "--", unit],
      env: PLAIN_ENV,
      deadlineMs: ASK_MS,
      maxOutputBytes: 16 * 1024,
    });
  }
}

/**
 * Gates that look at the host itself, by its own programs and files.
 *
 * @module
 */

import type { Files } from "../../core/files.ts";
import type { TryLock } from "../../core/lock.ts";
import type { RunProcess } from "../../core/process.ts";
import { endOf, PLAIN_ENV } from "../backends/supervisor.ts";
import { type Observed, observed } from "../gate.ts";

type Read = (signal: AbortSignal) => Promise<Observed>;

const MOST_OUTPUT = 256 * 1024;
/** A program has its gate's own deadline, which aborts it; this is the outer bound. */
const DEADLINE_MS = 60_000;

async function textOf(
  run: RunProcess,
  argv: readonly [string, ...string[]],
  signal: AbortSignal,
): Promise<string | Observed> {
  const bounds = { env: PLAIN_ENV, deadlineMs: DEADLINE_MS, maxOutputBytes: MOST_OUTPUT, signal };
  const ended = await run({ argv, ...bounds });
  if (ended.kind === "exited" && ended.code === 0) return new TextDecoder().decode(ended.stdout);
  return observed("unknown", "program_failed", `${argv[0]}: ${endOf(ended)}`);
}

/** Busy while any of `units` is active or on its way; what systemctl does not tell is unknown. */
export function unitGate(run: RunProcess, units: readonly string[]): Read {
  return async (signal) => {
    const argv = [
      "systemctl",
      "show",
      "--property=Id,LoadState,ActiveState",
      "--",
      ...units,
    ] as const;
    const text = await textOf(run, argv, signal);
    if (typeof text !== "string") return text;
    const blocks = text.trim().split(/\n\n+/);
    if (blocks.length !== units.length) {
      return observed("unknown", "output_not_understood", `${blocks.length} units were shown`);
    }
    const busy: string[] = [];
    for (const block of blocks) {
      const active = /^ActiveState=(.*)$/m.exec(block)?.[1];
      const id = /^Id=(.*)$/m.exec(block)?.[1] ?? "a unit";
      if (active === undefined) return observed("unknown", "output_not_understood", id);
      if (active !== "inactive" && active !== "failed") busy.push(`${id} ${active}`);
    }
    return busy.length > 0
      ? observed("busy", "unit_active", busy.join(", "))
      : observed("clear", "inactive", units.join(", "));
  };
}

/** Busy while there is an established TCP connection to one of `ports` of this host. */
export function tcpGate(run: RunProcess, ports: readonly number[]): Read {
  return async (signal) => {
    const filter = ports.map((port) => `sport = :${port}`).join(" or ");
    const argv = ["ss", "-H", "-t", "-n", "state", "established", `( ${filter} )`] as const;
    const text = await textOf(run, argv, signal);
    if (typeof text !== "string") return text;
    const count = text.split("\n").filter((line) => line.trim() !== "").length;
    return count > 0
      ? observed("busy", "connections", `${count} established on ${ports.join(", ")}`)
      : observed("clear", "no_connection", `none on ${ports.join(", ")}`);
  };
}

/** Busy while somebody holds one of `locks`: another activation. */
export function activationGate(tryLock: TryLock, locks: readonly string[]): Read {
  return async () => {
    for (const path of locks) {
      const lock = await tryLock(path);
      if (lock.kind === "busy") {
        return observed("busy", "another_activation", "somebody holds the activation lock");
      }
      if (lock.kind === "refused") return observed("unknown", lock.code, lock.detail);
      await lock.release();
    }
    return observed("clear", "no_activation", "nobody holds the activation lock");
  };
}

/** What has to be free: where, and how many bytes at least when all is here. */
export interface DiskNeed {
  readonly path: string;
  readonly bytes: number;
}

/** Busy while a file system is too full. `needs` says what is still to come, too. */
export function diskGate(run: RunProcess, needs: () => Promise<readonly DiskNeed[] | null>): Read {
  return async (signal) => {
    const wanted = await needs();
    if (wanted === null) {
      return observed("unknown", "size_unknown", "nobody said how much is still to come");
    }
    for (const { path, bytes } of wanted) {
      const text = await textOf(run, ["df", "-B1", "-P", "--", path], signal);
      if (typeof text !== "string") return text;
      const available = /^\S.*?\s+\d+\s+\d+\s+(-?\d+)\s+\S+\s+\/.*$/m.exec(
        text.split("\n").slice(1).join("\n"),
      )?.[1];
      if (available === undefined) return observed("unknown", "output_not_understood", "df");
      if (Number(available) < bytes) {
        return observed("busy", "disk_full", `${available} bytes free at ${path}, of ${bytes}`);
      }
    }
    return observed("clear", "disk_free", wanted.map(({ path }) => path).join(", "));
  };
}

/** Busy while a resource was short for more than `percent` of the last ten seconds. */
export function pressureGate(
  files: Files,
  resource: "cpu" | "memory" | "io",
  kind: "some" | "full",
  percent: number,
): Read {
  return async () => {
    const read = await files.readBounded(`/proc/pressure/${resource}`, 4096);
    if (read.kind === "absent") {
      return observed("unknown", "pressure_absent", "this kernel does not tell pressure");
    }
    if (read.kind === "refused") return observed("unknown", read.code, read.detail);
    const line = new RegExp(`^${kind} avg10=([0-9.]+)`, "m");
    const found = line.exec(new TextDecoder().decode(read.bytes))?.[1];
    if (found === undefined) return observed("unknown", "output_not_understood", resource);
    return Number(found) > percent
      ? observed("busy", "pressure", `${resource} ${kind} ${found} %, of ${percent} % allowed`)
      : observed("clear", "no_pressure", `${resource} ${kind} ${found} %`);
  };
}

/** Busy while the machine runs on its battery. */
export function powerGate(run: RunProcess, os: string): Read {
  return async (signal) => {
    const argv = os === "darwin" ? ["pmset", "-g", "ps"] as const : ["upower", "-d"] as const;
    const text = await textOf(run, argv, signal);
    if (typeof text !== "string") return text;
    const battery = os === "darwin"
      ? /Now drawing from '(Battery|AC) Power'/.exec(text)?.[1] === "Battery"
      : /^\s*on-battery:\s*(yes|no)\s*$/m.exec(text)?.[1] === "yes";
    const told = os === "darwin" ? /Now drawing from/.test(text) : /on-battery:/.test(text);
    if (!told) return observed("unknown", "output_not_understood", argv[0]);
    return battery
      ? observed("busy", "on_battery", "the machine runs on its battery")
      : observed("clear", "on_mains", "the machine is plugged in");
  };
}

/** A program of the owner's: exit 0 clear, 1 busy, anything else unknown. Its first line is told. */
export function execGate(run: RunProcess, argv: readonly [string, ...string[]]): Read {
  return async (signal) => {
    const bounds = { env: PLAIN_ENV, deadlineMs: DEADLINE_MS, maxOutputBytes: 4096, signal };
    const ended = await run({ argv, ...bounds });
    if (ended.kind === "output_too_large") {
      return observed("unknown", "output_too_large", "it printed more than 4096 bytes");
    }
    if (ended.kind !== "exited") return observed("unknown", "program_failed", endOf(ended));
    const said = new TextDecoder().decode(ended.stdout).trim().split("\n")[0] ?? "";
    if (ended.code === 0) return observed("clear", "exit_0", said);
    if (ended.code === 1) return observed("busy", "exit_1", said);
    return observed("unknown", `exit_${ended.code}`, endOf(ended));
  };
}

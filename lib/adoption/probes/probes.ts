/**
 * Probes: is what has to be there, there? The same set before and after.
 *
 * @module
 */

import type { Json } from "../../core/canonical_json.ts";
import type { RunProcess } from "../../core/process.ts";
import type { Endpoint } from "../../relay/upstream.ts";
import { endOf, PLAIN_ENV } from "../backends/supervisor.ts";
import { compare, type Comparison } from "../gates/http_gates.ts";
import { getJson, type HttpAsk, type HttpPorts, valueAt } from "../gates/http_get.ts";
import type { ProbeReading } from "../verdict.ts";

type Seen = Omit<ProbeReading, "probe">;
type Read = (signal: AbortSignal) => Promise<Seen>;

const DEADLINE_MS = 60_000;

function seen(
  state: ProbeReading["state"],
  code: string,
  detail: string,
  count: number | null = null,
): Seen {
  return { state, code, detail, count };
}

/**
 * Passes while every one of `units` is active. Counts restarts, so that a unit that comes up again and
 * again is found out between two looks that both see it up.
 */
export function unitProbe(run: RunProcess, units: readonly string[]): Read {
  return async (signal) => {
    const argv = [
      ...["systemctl", "show", "--property=Id,ActiveState,NRestarts", "--"] as const,
      ...units,
    ] as const;
    const ended = await run({
      argv,
      env: PLAIN_ENV,
      deadlineMs: DEADLINE_MS,
      maxOutputBytes: 256 * 1024,
      signal,
    });
    if (ended.kind !== "exited" || ended.code !== 0) {
      return seen("unknown", "program_failed", `systemctl: ${endOf(ended)}`);
    }
    const blocks = new TextDecoder().decode(ended.stdout).trim().split(/\n\n+/);
    if (blocks.length !== units.length) {
      return seen("unknown", "output_not_understood", `${blocks.length} units were shown`);
    }
    let restarts = 0;
    const down: string[] = [];
    for (const block of blocks) {
      const active = /^ActiveState=(.*)$/m.exec(block)?.[1];
      if (active === undefined) return seen("unknown", "output_not_understood", "systemctl show");
      restarts += Number(/^NRestarts=(\d+)$/m.exec(block)?.[1] ?? 0);
      if (active !== "active") down.push(`${/^Id=(.*)$/m.exec(block)?.[1] ?? "a unit"} ${active}`);
    }
    return down.length > 0
      ? seen("fail", "unit_not_active", down.join(", "), restarts)
      : seen("pass", "units_active", units.join(", "), restarts);
  };
}

/** Passes while no unit of the manager has failed; counts those that have. */
export function failedUnitsProbe(run: RunProcess, ignored: readonly string[]): Read {
  return async (signal) => {
    const ended = await run({
      argv: ["systemctl", "list-units", "--failed", "--plain", "--no-legend", "--full"],
      env: PLAIN_ENV,
      deadlineMs: DEADLINE_MS,
      maxOutputBytes: 256 * 1024,
      signal,
    });
    if (ended.kind !== "exited" || ended.code !== 0) {
      return seen("unknown", "program_failed", `systemctl: ${endOf(ended)}`);
    }
    const failed = new TextDecoder().decode(ended.stdout).split("\n")
      .map((line) => line.trim().split(/\s+/)[0] ?? "")
      .filter((unit) => unit !== "" && !ignored.includes(unit));
    return failed.length > 0
      ? seen("fail", "units_failed", failed.slice(0, 10).join(", "), failed.length)
      : seen("pass", "none_failed", "no unit has failed", 0);
  };
}

/** Passes while the JSON at `ask` has the wanted value at `path`; without a path, any 200 will do. */
export function httpProbe(
  ports: HttpPorts,
  ask: HttpAsk,
  wanted: { readonly path: string; readonly how: Comparison; readonly value: Json } | null,
): Read {
  return async (signal) => {
    const got = await getJson(ports, ask, signal);
    if (got.kind === "none") {
      // A server that says no is down; what we cannot ask with is our own fault.
      return seen(got.code === "token_unusable" ? "unknown" : "fail", got.code, got.detail);
    }
    if (wanted === null) return seen("pass", "answers", "it answers with JSON");
    const found = valueAt(got.value, wanted.path);
    const holds = found === undefined ? false : compare(found, wanted.how, wanted.value);
    const said = found === undefined ? "not there" : JSON.stringify(found).slice(0, 100);
    return holds === true
      ? seen("pass", "as_wanted", `${wanted.path} is ${said}`)
      : seen("fail", "not_as_wanted", `${wanted.path} is ${said}`);
  };
}

/** Opens a connection; true when somebody accepts it. */
export type CanConnect = (endpoint: Endpoint, signal: AbortSignal) => Promise<boolean>;

/** Passes while somebody accepts a connection. */
export function tcpProbe(canConnect: CanConnect, endpoint: Endpoint): Read {
  return async (signal) =>
    await canConnect(endpoint, signal)
      ? seen("pass", "accepts", `port ${endpoint.port} accepts`)
      : seen("fail", "refuses", `port ${endpoint.port} does not accept`);
}

/** Passes while `path` is where a file system is mounted. */
export function mountProbe(run: RunProcess, path: string): Read {
  return async (signal) => {
    const ended = await run({
      argv: ["mountpoint", "-q", "--", path],
      env: PLAIN_ENV,
      deadlineMs: DEADLINE_MS,
      maxOutputBytes: 4096,
      signal,
    });
    if (ended.kind !== "exited") return seen("unknown", "program_failed", endOf(ended));
    return ended.code === 0
      ? seen("pass", "mounted", path)
      : seen("fail", "not_mounted", `nothing is mounted at ${path}`);
  };
}

/** A program of the owner's: exit 0 passes, 1 fails, anything else is unknown. */
export function commandProbe(run: RunProcess, argv: readonly [string, ...string[]]): Read {
  return async (signal) => {
    const ended = await run({
      argv,
      env: PLAIN_ENV,
      deadlineMs: DEADLINE_MS,
      maxOutputBytes: 64 * 1024,
      signal,
    });
    if (ended.kind !== "exited") return seen("unknown", "program_failed", endOf(ended));
    if (ended.code === 0) return seen("pass", "exit_0", argv[0]);
    return ended.code === 1
      ? seen("fail", "exit_1", endOf(ended))
      : seen("unknown", `exit_${ended.code}`, endOf(ended));
  };
}

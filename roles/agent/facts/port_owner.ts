/**
 * Which process owns a listening port: its pid, when it started, and the command it was started with.
 *
 *     who listens ─> each pid's start and command ─> who listens now ─> the same? else ask again
 *
 * The second look is what makes a pid an answer: one that was handed on between the two is seen. The
 * start time, in whole seconds on Linux and macOS, tells two processes of one pid apart.
 *
 * @module
 */

import type { Json } from "../../../lib/core/canonical_json.ts";
import { timestamp } from "../../../lib/core/clock.ts";
import {
  type Adapter,
  type Argv,
  type Fact,
  type FactPorts,
  observe,
  type Source,
} from "./fact.ts";
import { portOf, wholeNumber } from "./fact.ts";
import { ADAPTERS, unsupported } from "./gather.ts";
import { countIn, rowsOf, textIn } from "./json_rows.ts";
import { readLsof } from "./macos.ts";
import { maskCommand } from "./mask_command.ts";
import { query, readNetstat } from "./windows.ts";

/** Who listens: an address, and the process if the system tells us. */
export interface Listener {
  readonly address: string;
  /** Null: it is another user's, and only root may see it. */
  readonly pids: readonly number[] | null;
}

/** One process. */
export interface Owner {
  readonly [key: string]: Json;
  readonly pid: number;
  readonly started_at: string;
  /** Arguments joined by blanks, as the system tells them; what looks like a secret is masked. */
  readonly command: string;
}

/** How one system is asked. */
export interface Asking {
  readonly listeners: (port: number) => Argv;
  readonly readListeners: (text: string, port: number) => readonly Listener[] | null;
  readonly emptyExit?: number;
  readonly processes: (pids: readonly number[]) => Argv;
  readonly readProcesses: (text: string) => readonly Owner[] | null;
}

/** How many processes may share a port and still be told. */
const MOST_OWNERS = 64;

const PS = (pids: readonly number[]): Argv => [
  ...["ps", "-ww", "-o", "pid=,lstart=,args=", "-p"] as const,
  pids.join(","),
];

/** How each system is asked, by what Deno calls it. */
export const ASKING: { readonly [os: string]: Asking } = {
  linux: {
    listeners: (port) => ["ss", "-H", "-l", "-t", "-n", "-p", "sport", "=", `:${port}`],
    readListeners: readSsOwners,
    processes: PS,
    readProcesses: readPs,
  },
  darwin: {
    listeners: (port) => ["lsof", "-nP", `-iTCP:${port}`, "-sTCP:LISTEN", "-Fpn"],
    readListeners: (text, port) => grouped(readLsof(text), port),
    emptyExit: 1,
    processes: PS,
    readProcesses: readPs,
  },
  windows: {
    listeners: () => ["netstat", "-ano"],
    readListeners: (text, port) => grouped(readNetstat(text), port),
    processes: (pids) =>
      query(
        `Get-CimInstance Win32_Process -Filter "${
          pids.map((pid) => `ProcessId=${pid}`).join(" or ")
        }" | Select-Object ProcessId,CommandLine,@{n='Started';` +
          "e={$_.CreationDate.ToUniversalTime().ToString('o')}}",
      ),
    readProcesses: readWin32,
  },
};

/** What is known of a port. */
export interface PortOwner {
  /** Addresses on which somebody listens there; an empty list when nobody does. */
  readonly listening: Fact;
  /** {@link Owner}s; null with `owner_not_visible` when they are another user's. */
  readonly owner: Fact;
}

/** Looks at one port. */
export async function ownerOf(
  ports: FactPorts,
  port: number,
  signal: AbortSignal,
): Promise<PortOwner> {
  const adapter = ADAPTERS[ports.os];
  const asking = ASKING[ports.os];
  if (adapter === undefined || asking === undefined) {
    return { listening: unsupported(ports), owner: unsupported(ports) };
  }
  const look = async () => await listenersOf(ports, adapter, asking, port, signal);
  const before = await look();
  const listening: Fact = {
    ...before.fact,
    value: before.listeners?.map(({ address }) => address) ?? null,
  };
  const not = (why: string, source = before.fact.source): PortOwner => ({
    listening,
    owner: { value: null, source, at: timestamp(ports.clock.now()), why },
  });
  if (before.listeners === null) return not(before.fact.why ?? "output_not_understood");
  const pids = pidsOf(before.listeners);
  if (pids === null) return not("owner_not_visible");
  if (pids.length > MOST_OWNERS) return not("owners_too_many");
  if (pids.length === 0) return { listening, owner: { ...before.fact, value: [] } };
  const source: Source = {
    programs: [asking.processes(pids)],
    read: ([text = ""]) => asking.readProcesses(text)?.map((one) => ({ ...one })) ?? null,
  };
  const owner = await observe(ports, source, adapter.env, signal);
  if (owner.why !== null) return not(owner.why, owner.source);
  const seen = (owner.value as readonly Json[] as readonly Owner[]).map(({ pid }) => pid);
  const after = await look();
  const same = after.listeners !== null && String(pidsOf(after.listeners)) === String(pids);
  if (!same || String(seen.toSorted((a, b) => a - b)) !== String(pids)) return not("owner_changed");
  return {
    listening,
    owner: { ...owner, source: `${before.fact.source}, ${owner.source}` },
  };
}

async function listenersOf(
  ports: FactPorts,
  { env }: Adapter,
  asking: Asking,
  port: number,
  signal: AbortSignal,
): Promise<{ readonly fact: Fact; readonly listeners: readonly Listener[] | null }> {
  let listeners: readonly Listener[] | null = null;
  const fact = await observe(
    ports,
    {
      programs: [asking.listeners(port)],
      read: ([text = ""]) => {
        listeners = asking.readListeners(text, port);
        return listeners === null ? null : [];
      },
      ...(asking.emptyExit === undefined ? {} : { emptyExit: asking.emptyExit }),
    },
    env,
    signal,
  );
  return { fact, listeners };
}

/** In ascending order, each once; null when one of them is hidden from us. */
function pidsOf(listeners: readonly Listener[]): readonly number[] | null {
  const pids = new Set<number>();
  for (const { pids: some } of listeners) {
    if (some === null) return null;
    for (const pid of some) pids.add(pid);
  }
  return [...pids].sort((a, b) => a - b);
}

/**
 * `ss -p`: `users:(("name",pid=1,fd=3),...)`. A process chooses its name, and could choose one that
 * reads as another pid: a name with quotes, commas or parentheses is not understood.
 */
export function readSsOwners(text: string, port: number): readonly Listener[] | null {
  const listeners: Listener[] = [];
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const match = /^LISTEN\s+\d+\s+\d+\s+(\S+):(\d+)\s+\S+:\*\s*(?:users:\((.*)\))?\s*$/.exec(line);
    if (match === null || portOf(match[2]) !== port) return null;
    const [, address = "", , users] = match;
    if (users === undefined) {
      listeners.push({ address, pids: null });
      continue;
    }
    if (!/^\("[^"(),]*",pid=\d+,fd=\d+\)(?:,\("[^"(),]*",pid=\d+,fd=\d+\))*$/.test(users)) {
      return null;
    }
    const pids = [...users.matchAll(/pid=(\d+)/g)].map(([, pid]) => Number(pid));
    listeners.push({ address, pids });
  }
  return listeners;
}

/** `ps -o pid=,lstart=,args=` with LC_ALL=C and TZ=UTC. */
export function readPs(text: string): readonly Owner[] | null {
  const owners: Owner[] = [];
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const match = /^\s*(\d+)\s+([A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})\s+(\S.*)$/
      .exec(line);
    const started = Date.parse(`${match?.[2]} UTC`);
    const pid = wholeNumber(match?.[1]);
    if (pid === null || Number.isNaN(started)) return null;
    owners.push({ pid, started_at: timestamp(started), command: maskCommand(match?.[3] ?? "") });
  }
  return owners;
}

/** Win32_Process. Without a command line it is another user's: not understood, rather than empty. */
export function readWin32(text: string): readonly Owner[] | null {
  const owners: Owner[] = [];
  for (const row of rowsOf(text, "value") ?? [{}]) {
    const pid = countIn(row, "ProcessId");
    const started = Date.parse(textIn(row, "Started") ?? "");
    const command = textIn(row, "CommandLine");
    if (pid === null || Number.isNaN(started) || command === null) return null;
    owners.push({ pid, started_at: timestamp(started), command: maskCommand(command) });
  }
  return owners;
}

function grouped(
  sockets:
    | readonly { readonly pid: number; readonly address: string; readonly port: number }[]
    | null,
  port: number,
): readonly Listener[] | null {
  return sockets?.filter((one) => one.port === port)
    .map(({ address, pid }) => ({ address, pids: [pid] })) ?? null;
}

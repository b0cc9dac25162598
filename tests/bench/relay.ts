/**
 * What every peer of the bench is to the harness: found or missing, started on a port, stopped by pid.
 *
 * @module
 */

import { processTree } from "./process_facts.ts";
import { chatBody, request } from "./wire.ts";

/** What a relay is started with. */
export interface Place {
  /** Empty, of this start alone, removed afterwards. */
  readonly dir: string;
  readonly port: number;
  /** A second free port, for relays that have an admin listener. */
  readonly adminPort: number;
  readonly upstreamPort: number;
}

/** A command line. */
export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** Whether a relay can run here. */
export type Found =
  | { readonly kind: "found"; readonly version: string }
  | { readonly kind: "missing"; readonly why: string };

/** One row of the tables. */
export interface Relay {
  readonly name: string;
  /** How it is set up, for the report. */
  readonly setup: string;
  /** False when it writes JSON anew. */
  readonly exact: boolean;
  find(): Promise<Found>;
  /** Headers its clients send. */
  headers(upstreamPort: number): Readonly<Record<string, string>>;
  /** Null: there is nothing to start, clients go to the upstream. */
  command(place: Place): Promise<Command | null>;
}

/** A started relay. */
export interface Running {
  readonly port: number;
  readonly pids: readonly number[];
  stop(): Promise<void>;
}

const READY_MS = 20_000;
const STOP_MS = 3_000;

/** Puts `command` on `core`; as it is when `core` is null. */
export function pinned(command: Command, core: number | null): Command {
  if (core === null) return command;
  const args = ["-c", String(core), command.program, ...command.args];
  return { ...command, program: "taskset", args };
}

/** Starts `relay` and waits until a request passes through it. */
export async function start(
  relay: Relay,
  upstreamPort: number,
  core: number | null,
): Promise<Running> {
  const dir = await Deno.makeTempDir({ prefix: "anvil-bench-" });
  await Deno.chmod(dir, 0o755); // nginx started by root works as another user
  const place = { dir, port: freePort(), adminPort: freePort(), upstreamPort };
  const command = await relay.command(place);
  if (command === null) {
    await Deno.remove(dir, { recursive: true });
    return { port: upstreamPort, pids: [], stop: () => Promise.resolve() };
  }
  const { program, args, env, cwd } = pinned(command, core);
  const log = await Deno.open(`${dir}/output.log`, { create: true, write: true });
  const child = new Deno.Command(program, {
    args: [...args],
    cwd: cwd ?? dir,
    clearEnv: true, // a proxy variable or an operator's setting would measure something else
    env: { ...kept(), ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const copies = copyBoth(child, log);
  const stop = async () => {
    await end(child);
    await copies;
    log.close();
    await Deno.remove(dir, { recursive: true });
  };
  const ready = await waitUntilReady(place.port, relay.headers(upstreamPort), child);
  if (!ready) {
    await end(child);
    await copies;
    const said = (await Deno.readTextFile(`${dir}/output.log`)).slice(-2000);
    await stop();
    // What it said names files of this machine: for the person at the terminal, not for the report.
    console.error(`bench: ${relay.name} said:\n${said}`);
    throw new Error(`it did not relay a request within ${READY_MS / 1000} s of its start`);
  }
  return { port: place.port, pids: processTree(child.pid), stop };
}

/** What programs need to find themselves and their caches. */
function kept(): Record<string, string> {
  const names = ["PATH", "HOME", "DENO_DIR", "XDG_CACHE_HOME", "TMPDIR"];
  const pairs = names.map((name) => [name, Deno.env.get(name)] as const);
  return Object.fromEntries(
    pairs.filter((pair): pair is [string, string] => pair[1] !== undefined),
  );
}

async function copyBoth(child: Deno.ChildProcess, log: Deno.FsFile): Promise<void> {
  const copy = async (stream: ReadableStream<Uint8Array>) => {
    for await (const bytes of stream) await log.write(bytes);
  };
  await Promise.all([copy(child.stdout), copy(child.stderr)]);
}

async function end(child: Deno.ChildProcess): Promise<void> {
  const kill = (signal: Deno.Signal) => {
    try {
      child.kill(signal);
    } catch {
      // it ended by itself
    }
  };
  kill("SIGTERM");
  const timer = setTimeout(() => kill("SIGKILL"), STOP_MS);
  await child.status;
  clearTimeout(timer);
}

async function waitUntilReady(
  port: number,
  headers: Readonly<Record<string, string>>,
  child: Deno.ChildProcess,
): Promise<boolean> {
  let ended = false;
  child.status.then(() => ended = true);
  const limit = performance.now() + READY_MS;
  while (performance.now() < limit && !ended) {
    if (await answers(port, headers)) return true;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return false;
}

/** True when one JSON request comes back with 200. */
async function answers(
  port: number,
  headers: Readonly<Record<string, string>>,
): Promise<boolean> {
  let connection: Deno.TcpConn | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    connection = await Deno.connect({ hostname: "127.0.0.1", port });
    const opened = connection;
    timer = setTimeout(() => opened.close(), 2_000);
    await connection.write(request(headers, chatBody("bench:json:00000000:", false, 256)));
    const bytes = new Uint8Array(4096);
    const length = await connection.read(bytes) ?? 0;
    return new TextDecoder().decode(bytes.subarray(0, length)).startsWith("HTTP/1.1 200");
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
    try {
      connection?.close();
    } catch {
      // the timer closed it
    }
  }
}

function freePort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  return port;
}

/** The first line a program prints, or null when it cannot be run. */
export async function firstLine(program: string, args: string[]): Promise<string | null> {
  try {
    const { stdout, stderr } = await new Deno.Command(program, { args }).output();
    const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
    return text.split("\n")[0]?.trim() ?? "";
  } catch {
    return null;
  }
}

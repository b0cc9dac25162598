/**
 * One turn: start a relay afresh, put the scenario's loads on it one after the other, stop it.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import type { Job, Seen, Target, Work } from "./job.ts";
import type { Machine } from "./machine.ts";
import { memory } from "./process_facts.ts";
import { type Command, pinned, type Relay, type Running, start } from "./relay.ts";
import { counting, type Turn } from "./results.ts";
import type { Plan, Scenario } from "./scenarios.ts";

/** No load takes longer; one that does is killed and its turn is invalid. */
const LOAD_LIMIT_MS = 45_000;
/** Numbers that "direct" cannot have: there is no relay to account for. */
const OF_A_RELAY = /\.(cpu|rss|rss_per_stream|relay_busy|peak|growth)$/;

/** What must be stopped when the run is broken off. */
export type Stops = Set<() => Promise<void>>;

/** The upstream of the run. */
export interface Upstream {
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

function denoCommand(file: string, args: string[]): Command {
  const path = fileURLToPath(new URL(file, import.meta.url));
  return { program: Deno.execPath(), args: ["run", "-A", "--no-check", path, ...args] };
}

/** Starts the upstream; it ends with us, however we end. */
export async function startUpstream(machine: Machine): Promise<Upstream> {
  const { program, args } = pinned(denoCommand("./upstream.ts", []), machine.pins?.load ?? null);
  const child = new Deno.Command(program, {
    args: [...args],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  const { port } = JSON.parse(new TextDecoder().decode(value)) as { port: number };
  return {
    port,
    pid: child.pid,
    stop: async () => {
      child.kill("SIGKILL"); // it has nothing to tidy up, and its loop hears no gentler one
      await child.status;
      await reader.cancel();
      await child.stdin.close().catch(() => {});
    },
  };
}

async function load(job: Job, machine: Machine, stops: Stops): Promise<Seen> {
  const command = denoCommand("./load.ts", [JSON.stringify(job)]);
  const { program, args } = pinned(command, machine.pins?.load ?? null);
  const limit = AbortSignal.timeout(LOAD_LIMIT_MS);
  const child = new Deno.Command(program, {
    args: [...args],
    signal: limit,
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const stop = async () => {
    child.kill("SIGKILL");
    await child.status;
  };
  stops.add(stop);
  const { success, stdout, stderr } = await child.output();
  stops.delete(stop);
  const said = new TextDecoder().decode(stderr).trim();
  if (!success) {
    const why = limit.aborted ? `took longer than ${LOAD_LIMIT_MS / 1000} s` : said.slice(0, 200);
    return { numbers: {}, problems: [`the load process failed: ${why}`] };
  }
  return JSON.parse(new TextDecoder().decode(stdout)) as Seen;
}

/** Runs it. Never throws for what the relay did: that is a problem of the turn. */
export async function takeTurn(
  relay: Relay,
  scenario: Scenario,
  round: number,
  plan: Plan,
  upstream: Upstream,
  machine: Machine,
  stops: Stops,
): Promise<Turn> {
  const numbers: Record<string, number> = {};
  const problems: string[] = [];
  let running: Running;
  try {
    running = await start(relay, upstream.port, machine.pins?.relay ?? null);
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return { scenario, round, relay: relay.name, numbers, problems: [problem] };
  }
  stops.add(running.stop);
  try {
    await new Promise((resolve) => setTimeout(resolve, plan.settleMs));
    const idleResident = memory(running.pids).resident;
    numbers["idle.rss"] = idleResident;
    const target: Target = {
      port: running.port,
      upstreamPort: upstream.port,
      headers: relay.headers(upstream.port),
      relayPids: running.pids,
      upstreamPid: upstream.pid,
      idleResident,
      exact: relay.exact,
    };
    for (const work of plan.works) {
      const seen = await load({ target, work }, machine, stops);
      Object.assign(numbers, counting(seen));
      problems.push(...seen.problems.map((problem) => `${nameOf(work)}: ${problem}`));
      if (problems.length > 0) break; // what comes after would be measured on a disturbed process
    }
  } finally {
    stops.delete(running.stop);
    await running.stop();
  }
  const kept = Object.entries(numbers)
    .filter(([name]) => running.pids.length > 0 || !OF_A_RELAY.test(name));
  return { scenario, round, relay: relay.name, numbers: Object.fromEntries(kept), problems };
}

function nameOf(work: Work): string {
  if (work.kind === "json") return `${work.connections} connections`;
  return work.kind === "sse" ? `${work.streams} streams` : work.kind;
}

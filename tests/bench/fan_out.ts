/**
 * How long one read takes over a fleet, and what it weighs: the operator as a process of its own,
 * with the permission flags of its task, against simulated nodes in another process.
 *
 *     deno run -A tests/bench/fan_out.ts [nodes] [rounds] [a part of a command]
 *
 * @module
 */

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { makeRepo } from "../fixtures/git_repo.ts";
import { good } from "../fixtures/home_rig.ts";
import { fleetToml } from "../fixtures/node.ts";
import { afterName } from "./process_facts.ts";
import { roleCommand } from "../support/role_process.ts";

/** What the whole may take, for a thousand nodes on two cores. */
const BARS = { seconds: 5, residentMiB: 300 };

/**
 * What is asked: by commands on a topology, and by those that read a home. `node facts` brings about
 * 23 KiB of each node, as much as one may send in a fan-out.
 */
const COMMANDS = [
  ["fleet", "versions"],
  ["fleet", "status"],
  ["fleet", "status", "--only", "problems"],
  ["capability"],
  ["capability", "llm.c0"],
  ["fleet", "drift"],
  ["serves", "list"],
  ["audit", "tail"],
  ["node", "facts", "--target", "all"],
];

interface Round {
  readonly command: string;
  readonly seconds: number;
  /** Of the operator alone: what a busy machine does not change. */
  readonly cpu: number;
  readonly residentMiB: number;
  readonly done: number;
}

async function round(folder: string, words: readonly string[], nodes: number): Promise<Round> {
  const command = await roleCommand("operator", folder, [
    ...words,
    ...["--home", `${folder}/home`, "--tokens", `${folder}/tokens`, "--json"],
  ]);
  const begun = performance.now();
  await using child = command.spawn();
  let peak = 0;
  let cpu = 0;
  const timer = setInterval(() => {
    peak = Math.max(peak, highWater(child.pid));
    cpu = Math.max(cpu, cpuSeconds(child.pid));
  }, 10);
  const { stdout, stderr } = await child.output();
  const seconds = (performance.now() - begun) / 1000;
  clearInterval(timer);
  const text = new TextDecoder();
  const envelope = JSON.parse(text.decode(stdout));
  const done: number = envelope.data?.counts.done ?? 0;
  // On a machine that is busy with other things some nodes are too late: told, and no success.
  if (done === 0) throw new Error(`none of ${nodes} done: ${text.decode(stderr)}`);
  return { command: words.join(" "), seconds, cpu, residentMiB: peak / 1024, done };
}

/** Peak resident memory of a process, in KiB; 0 when it is gone. */
function highWater(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? "0");
  } catch {
    return 0;
  }
}

/** Processor time of a process so far, in steps of a clock tick; 0 when it is gone. */
function cpuSeconds(pid: number): number {
  try {
    const fields = afterName(readFileSync(`/proc/${pid}/stat`, "utf8"));
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    return 0;
  }
}

async function main(nodes: number, rounds: number, only: string): Promise<boolean> {
  await using folder = await tempDir();
  await using fleet = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", fileURLToPath(new URL("./fan_out_nodes.ts", import.meta.url)), `${nodes}`],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  let ports = "";
  for await (const text of fleet.stdout.pipeThrough(new TextDecoderStream())) {
    ports += text;
    if (ports.endsWith("\n")) break;
  }
  const hosts = JSON.parse(ports) as [string, number][];
  const topology = fleetToml(hosts).replaceAll(
    "roles = []",
    'roles = ["serving", "router"]\nruntime = "docker"\nmemory = { model = "unified", ' +
      "budget_mib = 1000, os_reserve_mib = 100 }",
  );
  const commit = await makeRepo(folder.at("repo"), {
    "topology.toml": topology,
    "builds.toml": `schema = 1\nbuild = "${"b".repeat(64)}"\n`,
    ...Object.fromEntries(
      hosts.map(([host]) => [`hosts/${host}/router.toml`, "schema = 1\n"] as const),
    ),
  });
  await good(folder.at("home"), folder.at("repo"), commit);
  await Deno.mkdir(folder.at("tokens"), { mode: 0o700 });
  for (const [host] of hosts) {
    await Deno.writeTextFile(folder.at(`tokens/${host}`), "simulated-token", { mode: 0o600 });
  }
  let held = true;
  for (const words of COMMANDS.filter((one) => one.join(" ").includes(only))) {
    for (let at = 0; at < rounds; at++) {
      const { command, seconds, cpu, residentMiB, done } = await round(folder.path, words, nodes);
      const ok = done === nodes && seconds <= BARS.seconds && residentMiB <= BARS.residentMiB;
      held &&= ok;
      console.log(
        `${command}, ${done} of ${nodes} nodes: ${seconds.toFixed(2)} s with start, ${
          cpu.toFixed(2)
        } s CPU, ` +
          `${residentMiB.toFixed(0)} MiB at most${ok ? "" : "  MISSED"}`,
      );
    }
  }
  await fleet.stdin.close();
  await fleet.status;
  return held;
}

const [nodes = "1000", rounds = "3", only = ""] = Deno.args;
Deno.exit(await main(Number(nodes), Number(rounds), only) ? 0 : 1);

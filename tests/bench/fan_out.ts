/**
 * How long one read takes over a fleet, and what it weighs: the operator as a process of its own,
 * with the permission flags of its task, against simulated nodes in another process.
 *
 *     deno run -A tests/bench/fan_out.ts [nodes] [rounds]
 *
 * @module
 */

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { fleetToml } from "../fixtures/node.ts";
import { roleCommand } from "../support/role_process.ts";

/** What the whole may take, for a thousand nodes on two cores. */
const BARS = { seconds: 5, residentMiB: 300 };

interface Round {
  readonly command: string;
  readonly seconds: number;
  readonly residentMiB: number;
  readonly done: number;
}

async function round(folder: string, words: readonly string[], nodes: number): Promise<Round> {
  const command = await roleCommand("operator", folder, [
    ...words,
    ...["--topology", `${folder}/topology.toml`, "--tokens", `${folder}/tokens`, "--json"],
  ]);
  const begun = performance.now();
  await using child = command.spawn();
  let peak = 0;
  const timer = setInterval(() => peak = Math.max(peak, highWater(child.pid)), 10);
  const { stdout, stderr } = await child.output();
  const seconds = (performance.now() - begun) / 1000;
  clearInterval(timer);
  const text = new TextDecoder();
  const envelope = JSON.parse(text.decode(stdout));
  const done: number = envelope.data?.counts.done ?? 0;
  if (done !== nodes) throw new Error(`${done} of ${nodes} done: ${text.decode(stderr)}`);
  return { command: words.join(" "), seconds, residentMiB: peak / 1024, done };
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

async function main(nodes: number, rounds: number): Promise<boolean> {
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
  await Deno.writeTextFile(folder.at("topology.toml"), fleetToml(hosts));
  await Deno.mkdir(folder.at("tokens"), { mode: 0o700 });
  for (const [host] of hosts) {
    await Deno.writeTextFile(folder.at(`tokens/${host}`), "simulated-token", { mode: 0o600 });
  }
  let held = true;
  for (const words of [["fleet", "versions"], ["fleet", "status"]]) {
    for (let at = 0; at < rounds; at++) {
      const { command, seconds, residentMiB } = await round(folder.path, words, nodes);
      const ok = seconds <= BARS.seconds && residentMiB <= BARS.residentMiB;
      held &&= ok;
      console.log(
        `${command}, ${nodes} nodes: ${seconds.toFixed(2)} s with start, ` +
          `${residentMiB.toFixed(0)} MiB at most${ok ? "" : "  MISSED"}`,
      );
    }
  }
  await fleet.stdin.close();
  await fleet.status;
  return held;
}

const [nodes = "1000", rounds = "3"] = Deno.args;
Deno.exit(await main(Number(nodes), Number(rounds)) ? 0 : 1);

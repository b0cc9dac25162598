// needs: unshare ip tc mount ss ps curl stat setsid faketime
/**
 * `make chaos SEED=… MINUTES=3`: one walk in namespaces of its own.
 *
 *     main.ts --seed TEXT [--minutes N] [--hosts N] [--keep FOLDER] [--quiet]
 *
 * Exit 0: no violation. 1: violations, with the seed that replays them. 2: usage. 3: it cannot be
 * walked here.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { obstacle, runInside } from "./netns/enter.ts";
import { canSkew } from "./netns/host.ts";
import { NetnsWorld } from "./netns/world.ts";
import { plan } from "./plan.ts";
import { reportOf, tooQuiet } from "./report.ts";
import { elapsed } from "./time.ts";
import { walk } from "./walk.ts";

const HERE = fileURLToPath(import.meta.url);
const CONFIG = fileURLToPath(new URL("../../deno.json", import.meta.url));

async function main(): Promise<number> {
  const { values } = parseArgs({
    args: [...Deno.args],
    options: {
      seed: { type: "string" },
      minutes: { type: "string", default: "3" },
      hosts: { type: "string", default: "2" },
      keep: { type: "string" },
      quiet: { type: "boolean", default: false },
      inside: { type: "boolean", default: false },
    },
  });
  const minutes = Number(values.minutes);
  const count = Number(values.hosts);
  const seed = values.seed ?? String(crypto.getRandomValues(new Uint32Array(1))[0]);
  if (!(minutes > 0) || !(count >= 1 && count <= 8) || !/^[A-Za-z0-9_.-]{1,40}$/.test(seed)) {
    console.error("main.ts --seed TEXT [--minutes N] [--hosts 1-8] [--keep FOLDER] [--quiet]");
    return 2;
  }
  if (!values.inside && values.keep !== undefined && await holdsSomething(values.keep)) {
    console.error(`${values.keep} holds something already: name an empty folder`);
    return 2;
  }
  if (!values.inside) return await enter(seed, values);
  const hosts = ["gpu-a", "gpu-b", "gpu-c", "gpu-d", "gpu-e", "gpu-f", "gpu-g", "gpu-h"]
    .slice(0, count);
  const folder = values.keep ?? await Deno.makeTempDir({ prefix: "anvil-chaos-" });
  await Deno.mkdir(folder, { recursive: true });
  const log: string[] = [];
  const say = (text: string) => {
    const line = `${(elapsed() / 1000).toFixed(1).padStart(7)} s  ${text}`;
    log.push(line);
    if (!values.quiet) console.log(line);
  };
  const walked = await (async () => {
    await using world = await NetnsWorld.start({ folder, hosts, diskMib: 64, skew: canSkew() });
    for (const [kind, why] of world.unable) console.log(`never inflicted here: ${kind}: ${why}`);
    return await walk(world, plan(seed, minutes, hosts), {
      clientsPerHost: 3,
      pauseMs: [50, 900],
      timerMs: 15_000,
      say,
    });
  })();
  const report = reportOf(seed, minutes, count, walked);
  if (values.keep !== undefined) {
    await Deno.writeTextFile(`${folder}/facts.json`, JSON.stringify(walked));
    await Deno.writeTextFile(`${folder}/walk.log`, `${log.join("\n")}\n`);
  } else await Deno.remove(folder, { recursive: true }).catch(() => {}); // disks are mounts of ours
  if (walked.violations.length > 0 && values.quiet) console.log(log.join("\n"));
  console.log(report);
  const missing = tooQuiet(walked.facts);
  if (missing.length > 0) console.log(`too quiet to prove anything: no ${missing.join(", no ")}`);
  return walked.violations.length + missing.length === 0 ? 0 : 1;
}

async function holdsSomething(folder: string): Promise<boolean> {
  const entries = await Array.fromAsync(Deno.readDir(folder)).catch(() => []);
  return entries.length > 0;
}

/** Goes on in namespaces of its own. */
async function enter(
  seed: string,
  values: { minutes: string; hosts: string; keep?: string; quiet: boolean },
) {
  const why = obstacle();
  if (why !== null) {
    console.log(`chaos: not walked: ${why}`);
    return 3;
  }
  const more = [
    ...(values.keep === undefined ? [] : ["--keep", values.keep]),
    ...(values.quiet ? ["--quiet"] : []),
  ];
  const words = ["run", "-A", "--config", CONFIG, "--frozen", "--cached-only", "--quiet", HERE];
  return await runInside(Deno.execPath(), [
    ...words,
    ...["--inside", "--seed", seed, "--minutes", values.minutes, "--hosts", values.hosts, ...more],
  ]);
}

if (import.meta.main) Deno.exit(await main());

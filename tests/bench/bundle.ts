/**
 * Start time and size of a built bundle, per role, as a table. Measures what `make bundle` left.
 *
 *     deno run -A tests/bench/bundle.ts [--dist dist] [--runs 9]
 *
 * The first start of a file unpacks it into an empty cache; the disk's cache is warm in all of them.
 *
 * @module
 */

import { parseArgs } from "node:util";
import { VERSION } from "../../lib/core/version.ts";

const { values } = parseArgs({
  options: {
    dist: { type: "string", default: "dist" },
    runs: { type: "string", default: "9" },
  },
});
const ROLES = ["router", "agent", "operator", "receiver", "publisher", "adopter"];
const PLATFORM = "linux-x64";
const folder = `${values.dist}/anvil-${VERSION}-${PLATFORM}`;
const runs = Number(values.runs);
if (!Number.isInteger(runs) || runs < 1) throw new Error("--runs takes a number from 1");

/** Milliseconds from the start of `--version` to its end. */
async function start(program: string, unpacked: string): Promise<number> {
  const began = performance.now();
  const { code, stderr } = await new Deno.Command(program, {
    args: ["--version"],
    stdin: "null",
    clearEnv: true,
    env: { PATH: "/usr/bin:/bin", HOME: unpacked, ANVIL_UNPACKED: unpacked },
  }).output();
  const took = performance.now() - began;
  if (code !== 0) throw new Error(`${program}: ${new TextDecoder().decode(stderr)}`);
  return took;
}

/** `min / median / max` of `runs` starts. */
async function starts(program: string, unpacked: string): Promise<string> {
  const all: number[] = [];
  for (let run = 0; run < runs; run++) all.push(await start(program, unpacked));
  all.sort((left, right) => left - right);
  const of = (at: number) => Math.round(all[Math.floor(at * (all.length - 1))] ?? NaN);
  return `${of(0)} / ${of(0.5)} / ${of(1)}`;
}

async function bytesOf(path: string): Promise<number> {
  const { isDirectory, size } = await Deno.stat(path);
  if (!isDirectory) return size;
  let sum = 0;
  for await (const { name } of Deno.readDir(path)) sum += await bytesOf(`${path}/${name}`);
  return sum;
}

const mb = (bytes: number) => (bytes / 1e6).toFixed(1);
const sizeOf = async (path: string) =>
  await bytesOf(path).then(mb, (error) => {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  });

console.log(
  `Folder ${mb(await bytesOf(folder))} MB, of it the runtime ${
    mb(await bytesOf(`${folder}/runtime`))
  } MB; archive ${mb(await bytesOf(`${folder}.tar`))} MB. ` +
    `Starts in ms, min / median / max of ${runs}; load ${
      Deno.loadavg().map((one) => one.toFixed(1)).join(" ")
    }.\n`,
);
console.log(
  "| Role | Script, MB | File, MB | First start of the file | File, warm | Folder, warm |",
);
console.log("| --- | --: | --: | --: | --: | --: |");
for (const role of ROLES) {
  const unpacked = await Deno.makeTempDir({ prefix: "anvil-start-" });
  try {
    const file = `${values.dist}/anvil-${role}-${VERSION}-${PLATFORM}`;
    const size = await sizeOf(file);
    const first = size === null ? "not built" : `${Math.round(await start(file, unpacked))}`;
    const warm = size === null ? "not built" : await starts(file, unpacked);
    const inFolder = await starts(`${folder}/bin/anvil-${role}`, unpacked);
    const script = await sizeOf(`${folder}/lib/anvil-${role}.js`);
    console.log(
      `| ${role} | ${script} | ${size ?? "not built"} | ${first} | ${warm} | ${inFolder} |`,
    );
  } finally {
    await Deno.remove(unpacked, { recursive: true });
  }
}

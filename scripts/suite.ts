/**
 * Runs one of the two suites and ends with its tally: `suite.ts test` or `suite.ts real`.
 * Exit code 0 only when nothing failed and, for `test`, something ran.
 *
 * A few files that failed are run once more, alone: two cores are shared here, and a test that fails
 * only in the crowd is worth knowing and not worth a red build. What passed so is named in a remark.
 *
 * @module
 */

import { failedFiles, type Tally, tallyLine, tallyOf } from "./test_summary.ts";

interface Suite {
  readonly folders: readonly string[];
  /** A folder in one of them that is left out. */
  readonly without?: string;
  readonly flags: readonly string[];
  /** True where no test at all is an honest answer. */
  readonly mayBeEmpty: boolean;
}

const SUITES: Readonly<Record<string, Suite>> = {
  test: {
    folders: ["lib", "roles", "scripts", "tests"],
    without: "tests/real",
    flags: ["--parallel"],
    mayBeEmpty: false,
  },
  real: { folders: ["tests/real"], flags: [], mayBeEmpty: true }, // one at a time: they share the machine
};

/** A run that is not done by then hangs. */
const MOST_MINUTES = 60;

/** As much of the end of the output as can hold the summary. */
const TAIL_CHARS = 4_000_000;

/** More failed files than this are no accident of a crowd. */
const MOST_AGAIN = 4;

async function hasTests(folder: string): Promise<boolean> {
  try {
    for await (const entry of Deno.readDir(folder)) {
      if (entry.isDirectory && await hasTests(`${folder}/${entry.name}`)) return true;
      if (entry.isFile && /_test\.tsx?$/.test(entry.name)) return true;
    }
  } catch (cause) {
    if (!(cause instanceof Deno.errors.NotFound)) throw cause;
  }
  return false;
}

/**
 * What is named so that `without` is not: the folder itself, or else all that is in it but that one.
 * The runtime's own `--ignore` counts for the first folder of its arguments alone.
 */
async function partsOf(folder: string, without: string | undefined): Promise<readonly string[]> {
  if (without === undefined || !without.startsWith(`${folder}/`)) return [folder];
  const parts: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory && `${folder}/${name}` !== without) parts.push(`${folder}/${name}`);
  }
  return parts.sort();
}

interface Run {
  readonly tally: ReturnType<typeof tallyOf>;
  readonly failed: readonly string[];
}

async function run(flags: readonly string[], folders: readonly string[]): Promise<Run> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      ...["test", "-A", "--frozen", "--sanitize-ops", "--sanitize-resources"],
      ...flags,
      ...folders,
    ],
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
    signal: AbortSignal.timeout(MOST_MINUTES * 60_000),
  }).spawn();
  const decoder = new TextDecoder();
  let output = "";
  for await (const chunk of child.stdout) {
    for (let at = 0; at < chunk.length;) at += await Deno.stdout.write(chunk.subarray(at));
    output = (output + decoder.decode(chunk, { stream: true })).slice(-TAIL_CHARS);
  }
  const { code } = await child.status;
  return { tally: tallyOf({ output, exitCode: code }), failed: failedFiles(output) };
}

function end(label: string, tally: Tally, remark?: string): never {
  if (remark !== undefined) console.log(`${label}: ${remark}`);
  console.log(tallyLine(label, tally));
  Deno.exit(tally.failed === 0 ? 0 : 1);
}

const label = Deno.args[0] ?? "";
const suite = Object.hasOwn(SUITES, label) ? SUITES[label] : undefined;
if (suite === undefined || Deno.args.length !== 1) {
  console.error(`usage: suite.ts ${Object.keys(SUITES).join("|")}`);
  Deno.exit(2);
}
const folders: string[] = [];
for (const folder of suite.folders) {
  for (const one of await partsOf(folder, suite.without)) {
    if (await hasTests(one)) folders.push(one);
  }
}
if (folders.length === 0) {
  const remark = `no test under ${suite.folders.join(", ")} yet`;
  end(label, { passed: 0, failed: suite.mayBeEmpty ? 0 : 1, skipped: 0 }, remark);
}
const first = await run(suite.flags, folders);
let { remark, ...tally } = first.tally;
if (remark === undefined && first.failed.length > 0 && first.failed.length <= MOST_AGAIN) {
  console.log(`${label}: once more, alone: ${first.failed.join(" ")}`);
  const again = await run([], first.failed);
  if (again.tally.failed === 0 && again.tally.passed >= tally.failed) {
    remark = `${tally.failed} passed only when run alone, in ${first.failed.join(" ")}`;
    tally = { ...tally, passed: tally.passed + tally.failed, failed: 0 };
  }
}
if (!suite.mayBeEmpty && tally.passed + tally.failed === 0) {
  end(label, { ...tally, failed: 1 }, "no test ran");
}
end(label, tally, remark);

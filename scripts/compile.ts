/**
 * `make compile`: one executable per role by `deno compile`, where its runtime archive can be had:
 * from Deno's own download host, from its cache, or as the file that DENORT_BIN names. npm does not
 * have it, and then this says so and exits 1.
 *
 *     compile.ts [--out FOLDER]
 *
 * What was made is started: only an executable that says which build of ours it is counts. With
 * DENORT_BIN at the deno CLI the compiler makes a file that is the CLI, a shell with all permissions.
 *
 * @module
 */

import { parseArgs } from "node:util";
import { buildPrograms } from "./bundle/contents.ts";
import { flagsOf } from "./bundle/launchers.ts";
import { type Config, readRoleTasks } from "./bundle/role_tasks.ts";
import { revisionOf } from "./bundle/commit.ts";
import { TARGETS } from "./bundle/runtimes.ts";

/** What compiles, for what. */
const TRIPLES: Readonly<Record<string, string>> = {
  "linux-x64": "x86_64-unknown-linux-gnu",
  "darwin-arm64": "aarch64-apple-darwin",
  "windows-x64": "x86_64-pc-windows-msvc",
};

/**
 * The flags of a role in an executable, where nothing can be worked out at start: `$HERE` is `.`, and
 * what is below `$HOME` is not granted.
 */
export function compileFlags(flags: readonly string[]): readonly string[] {
  return flags.filter((flag) => flag !== "--quiet").flatMap((flag) => {
    const [name = "", paths] = flag.split("=");
    if (paths === undefined) return [flag];
    const kept = paths.split(",").filter((path) => !path.startsWith("$HOME"))
      .map((path) => path.replace("$HERE", "."));
    return kept.length === 0 ? [] : [`${name}=${kept.join(",")}`];
  });
}

/** Null when the executable at `path` is our `name` of the build `digest`; otherwise what it is. */
export async function whatItIs(path: string, name: string, digest: string): Promise<string | null> {
  const command = new Deno.Command(path, {
    args: ["--version", "--json"],
    stdin: "null",
    env: { NO_COLOR: "1" },
    signal: AbortSignal.timeout(30_000),
  });
  const { code, stdout } = await command.output();
  try {
    const said = JSON.parse(new TextDecoder().decode(stdout)) as Record<string, unknown>;
    if (code === 0 && said["name"] === name && said["build_digest"] === digest) return null;
    return `it says it is ${String(said["name"])} of build ${String(said["build_digest"])}`;
  } catch {
    return "it does not know `--version --json`: it is not our program";
  }
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { out: { type: "string", default: "dist/compiled" } } });
  const root = new URL("../", import.meta.url);
  const config = JSON.parse(await Deno.readTextFile(new URL("deno.json", root))) as Config;
  const tasks = await readRoleTasks(root, config);
  const programs = await buildPrograms(root, tasks, config.unstable, await revisionOf(root));
  await Deno.mkdir(values.out, { recursive: true });
  const failed: string[] = [];
  const own = TARGETS.find(({ name }) => TRIPLES[name] === Deno.build.target);
  for (const target of TARGETS) {
    for (const task of tasks) {
      const ending = target.os === "windows" ? ".exe" : "";
      const output = `${values.out}/anvil-${task.role}-${target.name}${ending}`;
      const script = `${values.out}/anvil-${task.role}.js`;
      await Deno.writeTextFile(script, programs.scripts.get(task.role) ?? "");
      const { code, stderr } = await new Deno.Command(Deno.execPath(), {
        args: [
          ...["compile", "--target", TRIPLES[target.name] ?? "", "--output", output],
          ...compileFlags(flagsOf(task, config.unstable, target.os)),
          script,
        ],
        stdin: "null",
        env: { NO_COLOR: "1" },
      }).output();
      await Deno.remove(script);
      const text = new TextDecoder().decode(stderr);
      const said = /^ +1: (.*)$/m.exec(text)?.[1] ?? /^error: (.*)$/m.exec(text)?.[1] ??
        `code ${code}`;
      let fault: string | null = code === 0 ? null : said;
      if (fault === null && target === own) {
        fault = await whatItIs(output, `anvil-${task.role}`, programs.build.digest);
      }
      if (fault === null) {
        console.log(`${target === own ? "made and started" : "made, not started here"}: ${output}`);
        continue;
      }
      // What is not ours is not left where somebody could ship it.
      await Deno.remove(output).catch(() => {});
      failed.push(`${output}: ${fault}`);
    }
  }
  if (failed.length > 0) {
    console.error(
      `compile: ${failed.length} of ${
        TARGETS.length * tasks.length
      } executables were NOT made:\n  ` +
        `${failed.join("\n  ")}\n` +
        "`deno compile` needs Deno's runtime archive (denort) of the same version: from its download\n" +
        "host, from its cache, or as the file DENORT_BIN names (denort itself, never the deno CLI).\n" +
        "Next: give it one of these, or ship what `make bundle` makes: the same programs, permissions\n" +
        "and build digest, from the runtime packages on npm.",
    );
    Deno.exit(1);
  }
}

/**
 * What the fleet is made of: two bundles of this tree by `make bundle`'s own program, one whose agent
 * ends at once, and the engine as one script.
 *
 * The tree is copied and committed in a repository of its own first, so that a bundle says a commit
 * that holds exactly what it was built from, whatever state the clone is in.
 *
 * @module
 */

import { bundleScript } from "../../scripts/bundle/role_script.ts";
import { exists, must } from "./program.ts";
import type { FleetBundle } from "./rig.ts";

const ROOT = new URL("../../", import.meta.url).pathname.replace(/\/$/, "");
const BUILD_MS = 300_000;
const GIT_ENV = {
  PATH: "/usr/local/bin:/usr/bin:/bin",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_AUTHOR_NAME: "fleet",
  GIT_AUTHOR_EMAIL: "fleet@example.test",
  GIT_COMMITTER_NAME: "fleet",
  GIT_COMMITTER_EMAIL: "fleet@example.test",
};

/** The bundles of a fleet. */
export type Bundles = Readonly<Record<"first" | "second" | "bad", FleetBundle>>;

/** Builds everything below `folder`, which exists. */
export async function buildAll(folder: string): Promise<Bundles> {
  const tree = `${folder}/source`;
  const git = (...args: string[]) => must(["git", "-C", tree, ...args], { env: GIT_ENV });
  await copyTree(tree);
  await git("init", "-q", "-b", "main");
  const commit = async (message: string) => {
    await git("add", "-A");
    await git("commit", "-q", "--allow-empty", "-m", message);
    const at = Number(await git("log", "-1", "--format=%ct"));
    return { rev: await git("rev-parse", "HEAD"), at: new Date(at * 1000).toISOString() };
  };
  const version = await versionOf(tree);
  const first = await build(folder, "first", version, await commit("the tree as it is"));
  const next = version.replace(/\d+$/, (patch) => `${Number(patch) + 1}`);
  await must(
    ["sed", "-i", `s/VERSION = "${version}"/VERSION = "${next}"/`, `${tree}/lib/core/version.ts`],
  );
  const second = await build(folder, "second", next, await commit("another version"));
  const bad = await spoil(folder, second, await commit("a bad release"));
  await Deno.remove(tree, { recursive: true });
  return { first, second, bad };
}

/** Copies the files of the clone, committed or not, without what is ignored. */
async function copyTree(tree: string): Promise<void> {
  await Deno.remove(tree, { recursive: true }).catch(() => {});
  await Deno.mkdir(tree, { recursive: true });
  const listed = await must(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", "-z"]);
  const there: string[] = []; // a file that was removed and not yet committed is listed too
  for (const file of listed.split("\0")) {
    if (file !== "" && await exists(`${ROOT}/${file}`)) there.push(file);
  }
  await must(
    ["sh", "-euc", 'tar -C "$1" -cf - --null -T - | tar -C "$2" -xf -', "sh", ROOT, tree],
    {
      stdin: there.map((file) => `${file}\0`).join(""),
    },
  );
}

async function versionOf(tree: string): Promise<string> {
  const text = await Deno.readTextFile(`${tree}/lib/core/version.ts`);
  const version = /VERSION = "([^"]+)"/.exec(text)?.[1];
  if (version === undefined) throw new Error("lib/core/version.ts names no version");
  return version;
}

interface Commit {
  readonly rev: string;
  readonly at: string;
}

async function build(
  folder: string,
  name: string,
  version: string,
  { rev, at }: Commit,
): Promise<FleetBundle> {
  const out = `${folder}/dist/${name}`;
  await must(
    [
      ...[Deno.execPath(), "run", "-A", "--frozen", "scripts/bundle.ts"],
      ...["--platform", "linux-x64", "--only", "folder", "--out", out],
      ...["--store", `${ROOT}/.tools/runtimes`],
    ],
    { cwd: `${folder}/source`, deadlineMs: BUILD_MS },
  );
  const path = `${out}/anvil-${version}-linux-x64`;
  const { build } = JSON.parse(await Deno.readTextFile(`${path}/manifest.json`)) as {
    readonly build: { readonly digest: string };
  };
  return {
    ...{ version, rev, committedAt: at, folder: path, archive: `${path}.tar` },
    build: build.digest,
  };
}

/** The second bundle, with an agent that ends at once. It says its revision itself. */
async function spoil(
  folder: string,
  second: FleetBundle,
  { rev, at }: Commit,
): Promise<FleetBundle> {
  const path = `${folder}/dist/bad/bundle`;
  await must([
    ...["sh", "-euc", 'mkdir -p "$2" && cp -r "$1/." "$2" && rm "$2/manifest.json"', "sh"],
    ...[second.folder, path],
  ]);
  await Deno.writeTextFile(`${path}/lib/anvil-agent.js`, "Deno.exit(1);\n");
  const revision = { rev, dirty: false, committed_at: at };
  await Deno.writeTextFile(`${path}/anvil-revision.json`, JSON.stringify(revision));
  return { ...second, rev, committedAt: at, folder: path, archive: "" };
}

/** The engine and the runtime it runs with, in `folder`. */
export async function buildEngine(folder: string, bundle: FleetBundle): Promise<void> {
  await Deno.mkdir(folder, { recursive: true });
  const script = await bundleScript(new URL("../../", import.meta.url), "tests/fleet/engine.ts");
  await Deno.writeTextFile(`${folder}/engine.js`, script);
  await Deno.copyFile(`${bundle.folder}/runtime/deno`, `${folder}/deno`);
  await Deno.chmod(`${folder}/deno`, 0o755);
}

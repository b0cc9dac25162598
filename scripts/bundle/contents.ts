/**
 * What is in a bundle, as bytes by path, and the manifest of it.
 *
 * @module
 */

import { canonicalJson } from "../../lib/core/canonical_json.ts";
import { stampOf, VERSION } from "../../lib/core/version.ts";
import type { Manifest } from "../../lib/generation/manifest.ts";
import { sha256 } from "../../lib/host/digest.ts";
import type { Revision } from "./commit.ts";
import {
  cmdLauncher,
  flagsOf,
  shLauncher,
  STABLE_CMD_LAUNCHER,
  STABLE_LAUNCHER,
} from "./launchers.ts";
import type { RoleTask } from "./role_tasks.ts";
import { bundleScript, packagesFolder, stamped } from "./role_script.ts";
import { DENO_VERSION, readRuntime, runtimeName, type Target } from "./runtimes.ts";
import {
  describePackage,
  licensesOf,
  type Lock,
  type Package,
  packagesIn,
  sbomOf,
} from "./sbom.ts";

/** One file. */
export interface Content {
  readonly bytes: Uint8Array;
  readonly executable: boolean;
}

/** Files by path. */
export type Contents = ReadonlyMap<string, Content>;

/** The programs of a build, the same for every platform. */
export interface Programs {
  readonly tasks: readonly RoleTask[];
  readonly unstable: readonly string[];
  /** By role, stamped. */
  readonly scripts: ReadonlyMap<string, string>;
  readonly packages: readonly Package[];
  readonly build: { readonly digest: string; readonly commit: string | null };
}

/** Bundles every role of the tree at `root` and names the build. */
export async function buildPrograms(
  root: URL,
  tasks: readonly RoleTask[],
  unstable: readonly string[],
  { commit, builtAt }: Revision,
): Promise<Programs> {
  const plain = new Map<string, string>();
  for (const { role } of tasks) plain.set(role, await bundleScript(root, `roles/${role}/main.ts`));
  const digest = digestOf({
    schema: 1,
    version: VERSION,
    deno: DENO_VERSION,
    roles: tasks.map((task) => ({
      role: task.role,
      flags: {
        linux: flagsOf(task, unstable, "linux"),
        darwin: flagsOf(task, unstable, "darwin"),
        windows: flagsOf(task, unstable, "windows"),
      },
      script: sha256(plain.get(task.role) ?? "").toHex(),
    })),
  });
  const lock = JSON.parse(await Deno.readTextFile(new URL("deno.lock", root))) as Lock;
  const folder = await packagesFolder();
  const packages: Package[] = [];
  for (const spec of packagesIn(plain.values())) {
    packages.push(await describePackage(spec, lock, folder));
  }
  const stamp = stampOf(digest, commit, builtAt);
  const scripts = new Map(
    [...plain].map(([role, script]) => [role, stamped(script, stamp)] as const),
  );
  return { tasks, unstable, scripts, packages, build: { digest, commit } };
}

/** Everything that a bundle for `target` holds; `store` keeps fetched runtimes. */
export async function contentsFor(
  root: URL,
  programs: Programs,
  target: Target,
  store: string,
): Promise<Contents> {
  const contents = new Map<string, Content>();
  const put = (path: string, data: string | Uint8Array, executable = false) =>
    contents.set(path, { bytes: bytesOf(data), executable });
  put(`runtime/${runtimeName(target)}`, await readRuntime(target, store), true);
  for (const task of programs.tasks) {
    const { path, text } = launcherFor(target, task, programs.unstable);
    put(path, text, true);
    put(`lib/anvil-${task.role}.js`, programs.scripts.get(task.role) ?? "");
  }
  if (target.os === "windows") put("launch/anvil.cmd", STABLE_CMD_LAUNCHER, true);
  else put("launch/anvil", STABLE_LAUNCHER, true);
  for (const [path, text] of await unitsFor(root, target)) put(`units/${path}`, text);
  put("LICENSE", await Deno.readTextFile(new URL("LICENSE", root)));
  put("licenses.txt", licensesOf(programs.packages));
  put("sbom.cdx.json", `${JSON.stringify(sbomOf(target, programs.packages), null, 2)}\n`);
  return contents;
}

/** The part of `contents` that one role needs. */
export function contentsOfRole(contents: Contents, role: string): Contents {
  const own = [`bin/anvil-${role}`, `bin/anvil-${role}.cmd`, `lib/anvil-${role}.js`];
  const shared = /^(runtime\/|lib\/publish\.js$|LICENSE$|licenses\.txt$|sbom\.)/;
  return new Map([...contents].filter(([path]) => own.includes(path) || shared.test(path)));
}

/** The manifest of `contents`. */
export function manifestOf(
  { build }: Pick<Programs, "build">,
  { os, arch }: Target,
  roles: readonly string[],
  contents: Contents,
): Manifest {
  const files = [...contents].map(([path, { bytes, executable }]) => ({
    path,
    sha256: sha256(bytes).toHex(),
    size: bytes.length,
    mode: executable ? "0555" as const : "0444" as const,
  })).sort((left, right) => left.path < right.path ? -1 : 1);
  return { schema: 1, version: VERSION, build, platform: { os, arch }, roles: [...roles], files };
}

function launcherFor(target: Target, task: RoleTask, unstable: readonly string[]) {
  return target.os === "windows"
    ? { path: `bin/anvil-${task.role}.cmd`, text: cmdLauncher(task, unstable) }
    : { path: `bin/anvil-${task.role}`, text: shLauncher(task, unstable, target.os) };
}

const UNITS = { linux: "systemd", darwin: "launchd", windows: "windows" } as const;

/** The units of fleet/units for the platform, by their path there. */
async function unitsFor(
  root: URL,
  { os }: Target,
): Promise<readonly (readonly [string, string])[]> {
  const units: [string, string][] = [];
  // A folder below is of units that are one person's own.
  for (const below of ["", "user/"]) {
    units.push(...await unitsIn(new URL(`fleet/units/${UNITS[os]}/${below}`, root), below));
  }
  return units.sort(([left], [right]) => left < right ? -1 : 1);
}

async function unitsIn(folder: URL, below: string): Promise<readonly [string, string][]> {
  const units: [string, string][] = [];
  try {
    for await (const { name, isFile } of Deno.readDir(folder)) {
      if (isFile) units.push([`${below}${name}`, await Deno.readTextFile(new URL(name, folder))]);
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return units;
}

function digestOf(value: Parameters<typeof canonicalJson>[0]): string {
  return sha256(canonicalJson(value)).toHex();
}

function bytesOf(data: string | Uint8Array): Uint8Array {
  return typeof data === "string" ? new TextEncoder().encode(data) : data;
}

/** Chunks into one. */
export function joined(chunks: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}

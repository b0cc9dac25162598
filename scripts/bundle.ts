/**
 * `make bundle`: every role of this tree for every platform, from the official runtime packages on
 * npm. Per platform a folder (what bootstrap and adoption install), the same as one archive, and a
 * file per role that unpacks itself. Two builds of one commit are the same bytes.
 *
 *     bundle.ts [--platform NAME]… [--out FOLDER] [--only folder] [--commit ID] [--built-at SECONDS]
 *               [--store FOLDER]
 *
 * `--commit` and `--built-at` (since the epoch) name the commit of a tree that has no git; `--store`
 * keeps fetched runtimes elsewhere.
 *
 * @module
 */

import { parseArgs } from "node:util";
import { fileURLToPath } from "node:url";
import {
  MANIFEST,
  type Manifest,
  manifestDigest,
  manifestText,
} from "../lib/generation/manifest.ts";
import { writeArchive } from "../lib/generation/write_archive.ts";
import { VERSION } from "../lib/core/version.ts";
import { sha256 } from "../lib/host/digest.ts";
import {
  buildPrograms,
  type Content,
  type Contents,
  contentsFor,
  contentsOfRole,
  joined,
  manifestOf,
  type Programs,
} from "./bundle/contents.ts";
import { type Revision, revisionOf } from "./bundle/commit.ts";
import { bundleScript } from "./bundle/role_script.ts";
import { type Config, readRoleTasks } from "./bundle/role_tasks.ts";
import { DENO_VERSION, type Target, TARGETS } from "./bundle/runtimes.ts";
import { PUBLISHER, selfExtracting } from "./bundle/self_extracting.ts";

/** What to build. */
export interface BundleAsk {
  /** The tree, a folder's URL with `/` at its end. */
  readonly root: URL;
  readonly targets: readonly Target[];
  /** Where to: a folder that is emptied first. */
  readonly out: string;
  /** Where fetched runtimes are kept. */
  readonly store: string;
  /** The revision, where the caller knows better than git. */
  readonly revision?: Revision;
  /** Roles that also become a file that unpacks itself; null: all. */
  readonly files: readonly string[] | null;
}

/** One thing that was made. */
export interface Made {
  readonly path: string;
  readonly bytes: number;
  /** Of the manifest, for a folder and its archive; of the file, for others. */
  readonly digest: string;
}

/** Builds. */
export async function bundle(
  { root, targets, out, store, revision, files }: BundleAsk,
): Promise<readonly Made[]> {
  await refuseOtherRuntime(root);
  const config = JSON.parse(await Deno.readTextFile(new URL("deno.json", root))) as Config;
  const tasks = await readRoleTasks(root, config);
  const programs = await buildPrograms(
    root,
    tasks,
    config.unstable,
    revision ?? await revisionOf(root),
  );
  const publisher = await bundleScript(root, "scripts/bundle/publish.ts");
  await Deno.remove(out, { recursive: true }).catch((error) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
  await Deno.mkdir(out, { recursive: true });
  const made: Made[] = [];
  for (const target of targets) {
    const contents = await contentsFor(root, programs, target, store);
    made.push(...await writeFolder(programs, target, contents, out));
    const zipped = new Map<Uint8Array, Uint8Array>();
    const withPublisher: Contents = new Map<string, Content>([
      ...contents,
      [PUBLISHER, { bytes: new TextEncoder().encode(publisher), executable: false }],
    ]);
    for (const { role } of tasks) {
      if (files !== null && !files.includes(role)) continue;
      const own = contentsOfRole(withPublisher, role);
      const manifest = manifestOf(programs, target, [role], own);
      const bytes = await selfExtracting(role, target, manifest, own, zipped);
      const path = `anvil-${role}-${VERSION}-${target.name}${
        target.os === "windows" ? ".cmd" : ""
      }`;
      await Deno.writeFile(`${out}/${path}`, bytes, { mode: 0o755 });
      made.push({ path, bytes: bytes.length, digest: sha256(bytes).toHex() });
    }
  }
  await writeSums(out, made);
  return made;
}

/** The folder and the archive of it. */
async function writeFolder(
  programs: Programs,
  target: Target,
  contents: Contents,
  out: string,
): Promise<readonly Made[]> {
  const roles = programs.tasks.map(({ role }) => role);
  const manifest: Manifest = manifestOf(programs, target, roles, contents);
  const digest = manifestDigest(sha256, manifest);
  const path = `anvil-${VERSION}-${target.name}`;
  const all = [
    ...contents,
    [MANIFEST, {
      bytes: new TextEncoder().encode(manifestText(manifest)),
      executable: false,
    }] as const,
  ];
  let size = 0;
  for (const [name, { bytes, executable }] of all) {
    const file = `${out}/${path}/${name}`;
    await Deno.mkdir(file.slice(0, file.lastIndexOf("/")), { recursive: true });
    await Deno.writeFile(file, bytes, { mode: executable ? 0o755 : 0o644 });
    size += bytes.length;
  }
  const contentOf = (name: string) => Promise.resolve(contents.get(name)?.bytes as Uint8Array);
  const archive = joined(await Array.fromAsync(writeArchive(sha256, manifest, contentOf)));
  await Deno.writeFile(`${out}/${path}.tar`, archive);
  return [
    { path: `${path}/`, bytes: size, digest },
    { path: `${path}.tar`, bytes: archive.length, digest: sha256(archive).toHex() },
  ];
}

/** `SHA256SUMS`, as `sha256sum -c` reads it. */
async function writeSums(out: string, made: readonly Made[]): Promise<void> {
  const lines = made.filter(({ path }) => !path.endsWith("/"))
    .map(({ path, digest }) => `${digest}  ${path}\n`);
  await Deno.writeTextFile(`${out}/SHA256SUMS`, lines.join(""));
}

/** The bundler of another version makes other scripts, and the pinned runtimes are of one version. */
async function refuseOtherRuntime(root: URL): Promise<void> {
  const pinned = /^version=(\S+)/m.exec(
    await Deno.readTextFile(new URL("scripts/deno_path", root)),
  );
  for (const version of [pinned?.[1], Deno.version.deno]) {
    if (version !== DENO_VERSION) {
      throw new Error(
        `observed deno ${version}, expected ${DENO_VERSION}: change scripts/bundle/runtimes.ts with scripts/deno_path`,
      );
    }
  }
}

function targetsOf(names: readonly string[]): readonly Target[] {
  if (names.length === 0) return TARGETS;
  return names.map((name) => {
    const target = TARGETS.find((one) => one.name === name);
    if (target !== undefined) return target;
    console.error(
      `unknown platform ${name}; expected one of ${TARGETS.map((one) => one.name).join(", ")}`,
    );
    Deno.exit(2);
  });
}

function builtAtOf(seconds: string | undefined): number | null {
  if (seconds === undefined) return null;
  if (/^\d{1,11}$/.test(seconds)) return Number(seconds);
  console.error(
    "--built-at takes whole seconds since the epoch, as `git show -s --format=%ct` says",
  );
  Deno.exit(2);
}

if (import.meta.main) {
  const { values } = parseArgs({
    args: Deno.args,
    options: {
      platform: { type: "string", multiple: true, default: [] },
      out: { type: "string", default: "dist" },
      only: { type: "string" },
      commit: { type: "string" },
      "built-at": { type: "string" },
      store: {
        type: "string",
        default: fileURLToPath(new URL("../.tools/runtimes", import.meta.url)),
      },
    },
  });
  if (values.only !== undefined && values.only !== "folder") {
    console.error("--only takes `folder`");
    Deno.exit(2);
  }
  const root = new URL("../", import.meta.url);
  const known = values.commit === undefined
    ? await revisionOf(root)
    : { commit: null, builtAt: null };
  const made = await bundle({
    root,
    targets: targetsOf(values.platform),
    out: values.out,
    store: values.store,
    revision: {
      commit: values.commit ?? known.commit,
      builtAt: builtAtOf(values["built-at"]) ?? known.builtAt,
    },
    files: values.only === "folder" ? [] : null,
  });
  for (const { path, bytes, digest } of made) {
    console.log(
      `${digest.slice(0, 16)}  ${
        `${(bytes / 1e6).toFixed(1)} MB`.padStart(9)
      }  ${values.out}/${path}`,
    );
  }
}

/**
 * One script per role, everything in it: made by `deno bundle`, the same wherever it is made.
 *
 * @module
 */

import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { STAMP } from "../../lib/core/version.ts";

/** Bundles `entry`, a path below `root`. */
export async function bundleScript(root: URL, entry: string): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "anvil-script-" });
  try {
    const output = `${folder}/script.js`;
    const { code, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        "bundle",
        "--quiet",
        "--frozen",
        "--no-remote",
        "--platform",
        "deno",
        "-o",
        output,
        entry,
      ],
      cwd: fileURLToPath(root),
      stdin: "null",
    }).output();
    if (code !== 0) {
      throw new Error(`deno bundle ${entry}: ${new TextDecoder().decode(stderr).trim()}`);
    }
    return withoutPlaces(await Deno.readTextFile(output), root, await packagesFolder());
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The folder in which this machine keeps npm packages. */
export async function packagesFolder(): Promise<string> {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  const { npmCache } = JSON.parse(new TextDecoder().decode(stdout)) as {
    readonly npmCache: string;
  };
  return npmCache;
}

/**
 * The bundler names every module by its place on this machine, in comments and as keys of its table.
 * Packages are named `npm/name/version/…` instead.
 */
export function withoutPlaces(script: string, root: URL, packages: string): string {
  const slashes = (path: string) => path.replaceAll("\\", "/");
  const seen = slashes(relative(fileURLToPath(root), packages));
  // Behind the folder comes the registry's host, which may be a mirror.
  const found = script.split(`${seen}/`);
  const named = found.map((part, at) => at === 0 ? part : part.replace(/^[^/\s"]+\//, "npm/")).join(
    "",
  );
  for (const place of [slashes(packages), slashes(fileURLToPath(root)).replace(/\/$/, ""), seen]) {
    if (named.includes(place)) throw new Error(`a bundled script still names ${place}`);
  }
  return named;
}

/** Writes into a script which build it is of: a stamp in place of the source's. */
export function stamped(script: string, stamp: string): string {
  const parts = script.split(STAMP);
  if (parts.length !== 2) throw new Error(`observed ${parts.length - 1} stamps, expected 1`);
  return parts.join(stamp);
}

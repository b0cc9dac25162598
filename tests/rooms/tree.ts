/**
 * The files of this tree, for tests that look at all of them.
 *
 * @module
 */

/** The root of the tree. */
export const ROOT: URL = new URL("../../", import.meta.url);

const SKIPPED = new Set([".git", ".tools", ".demo", ".fleet", "node_modules", "coverage"]);

/** Paths of every file under `folder` (from the root, ending in `/`), sorted; none when it is absent. */
export async function filesUnder(folder: string): Promise<readonly string[]> {
  const found: string[] = [];
  const walk = async (at: string): Promise<void> => {
    for await (const entry of Deno.readDir(new URL(at, ROOT))) {
      if (SKIPPED.has(entry.name)) continue;
      const path = `${at}${entry.name}`;
      if (entry.isDirectory) await walk(`${path}/`);
      else if (entry.isFile) found.push(path);
    }
  };
  try {
    await walk(folder);
  } catch (cause) {
    if (!(cause instanceof Deno.errors.NotFound)) throw cause;
  }
  return found.sort();
}

/** The text of a file of the tree. */
export function textOf(path: string): Promise<string> {
  return Deno.readTextFile(new URL(path.split("/").map(encodeURIComponent).join("/"), ROOT));
}

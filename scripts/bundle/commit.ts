/**
 * Which commit a tree is of, and when that was made.
 *
 * @module
 */

import { fileURLToPath } from "node:url";

/** What a build is named after, besides its digest. */
export interface Revision {
  /** The commit, `-dirty` behind it when something differs; null when nobody knows. */
  readonly commit: string | null;
  /** When it was made, in seconds since the epoch: what a build says instead of a time of its own. */
  readonly builtAt: number | null;
}

/** The revision of the tree; nothing is known of it without git. */
export async function revisionOf(root: URL): Promise<Revision> {
  const git = async (...args: string[]): Promise<string | null> => {
    const command = new Deno.Command("git", {
      args: ["-C", fileURLToPath(root), ...args],
      stdin: "null",
    });
    const outcome = await command.output().catch(() => null);
    return outcome?.success ? new TextDecoder().decode(outcome.stdout).trim() : null;
  };
  const [commit, seconds] = (await git("show", "-s", "--format=%H %ct", "HEAD"))?.split(" ") ?? [];
  const changes = await git("status", "--porcelain");
  if (commit === undefined || seconds === undefined || changes === null) {
    return { commit: null, builtAt: null };
  }
  return { commit: changes === "" ? commit : `${commit}-dirty`, builtAt: Number(seconds) };
}

/**
 * Which commit a tree is of.
 *
 * @module
 */

import { fileURLToPath } from "node:url";

/** The commit of the tree, `-dirty` behind it when something differs; null without git. */
export async function commitOf(root: URL): Promise<string | null> {
  const git = async (...args: string[]): Promise<string | null> => {
    const command = new Deno.Command("git", {
      args: ["-C", fileURLToPath(root), ...args],
      stdin: "null",
    });
    const outcome = await command.output().catch(() => null);
    return outcome?.success ? new TextDecoder().decode(outcome.stdout).trim() : null;
  };
  const commit = await git("rev-parse", "HEAD");
  const changes = await git("status", "--porcelain");
  return commit === null || changes === null ? null : changes === "" ? commit : `${commit}-dirty`;
}

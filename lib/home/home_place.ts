/**
 * Where a home may be: nowhere that a branch switch, a clean or a reset could reach.
 *
 * @module
 */

import { git, gitFailed } from "./git.ts";
import { type HomePorts, type HomeRefusal, homeRefusal } from "./ports.ts";
import { parent } from "../host/paths.ts";

/** Null when `home`, which need not exist yet, is outside every git working tree. */
export async function refuseGitTree(
  ports: Pick<HomePorts, "run" | "searchPath">,
  home: string,
): Promise<HomeRefusal | null> {
  for (let directory = home;; directory = parent(directory)) {
    const outcome = await git(ports, directory, ["rev-parse", "--git-dir"]);
    if (outcome.kind !== "exited") return gitFailed("whether the home is in a git tree", outcome);
    if (outcome.code === 0 || /dubious ownership/.test(outcome.stderr)) {
      return homeRefusal("home_in_git_tree", "the home is inside a git repository", {
        nextStep:
          "choose a home outside of it, as ~/.anvil: what is live must not change with a branch",
      });
    }
    // Only these two words are an answer; of anything else we do not know.
    if (/not a git repository/i.test(outcome.stderr)) return null;
    const isAbsent = /cannot change to/.test(outcome.stderr);
    if (!isAbsent || parent(directory) === directory) {
      return gitFailed("whether the home is in a git tree", outcome);
    }
  }
}

/**
 * `make release-check`: whether a tag may become a release, with every reason why not.
 *
 *     release_check.ts --tag v0.1.0 --signers FILE [--root FOLDER]
 *
 * `FILE` is an `allowed_signers` file of ssh-keygen(1). Exit 0: it may. 1: it may not. 2: used wrongly.
 *
 * @module
 */

import { parseArgs } from "node:util";
import { fileURLToPath } from "node:url";
import { VERSION } from "../lib/core/version.ts";

/** What git says to a question about `root`; null when it says no. */
async function git(root: string, ...args: string[]): Promise<string | null> {
  const { success, stdout } = await new Deno.Command("git", {
    args: ["-C", root, ...args],
    stdin: "null",
    stderr: "null",
  }).output();
  return success ? new TextDecoder().decode(stdout).trim() : null;
}

/** What a changelog in the form of Keep a Changelog says of a version; null when it has no section. */
export function sectionOf(changelog: string, version: string): string | null {
  const [, dated] = changelog.split(`\n## [${version}] - `);
  if (dated === undefined || !/^\d{4}-\d{2}-\d{2}\n/.test(dated)) return null;
  const text = dated.slice(11).split("\n## ")[0]?.trim();
  return text === undefined || text === "" ? null : text;
}

/** Every reason why `tag` is no release of the tree at `root`; none when it is. */
export async function reasonsAgainst(
  root: string,
  tag: string,
  signers: string,
  version: string = VERSION,
): Promise<readonly string[]> {
  const reasons: string[] = [];
  if (tag !== `v${version}`) {
    reasons.push(
      `the tag is ${tag} and the tree is ${version}: raise VERSION in lib/core/version.ts`,
    );
  }
  const changelog = await Deno.readTextFile(`${root}/CHANGELOG.md`).catch(() => "");
  if (sectionOf(changelog, version) === null) {
    reasons.push(
      `CHANGELOG.md has no section "## [${version}] - YYYY-MM-DD" with something in it: move what is unreleased there`,
    );
  }
  const ref = `refs/tags/${tag}`;
  if (await git(root, "cat-file", "-t", ref) !== "tag") {
    reasons.push(`${tag} is no annotated tag here: make it with git tag --sign`);
    return reasons;
  }
  const known = await Deno.readTextFile(signers).catch(() => "");
  if (known.trim() === "") {
    reasons.push(
      `${signers} names nobody who may sign: one line per key, as allowed_signers has them`,
    );
  } else if (
    await git(root, "-c", `gpg.ssh.allowedSignersFile=${signers}`, "verify-tag", ref) === null
  ) {
    reasons.push(`${tag} is not signed by a key of ${signers}: git verify-tag ${tag} says more`);
  }
  if (await git(root, "rev-parse", `${ref}^{commit}`) !== await git(root, "rev-parse", "HEAD")) {
    reasons.push(`${tag} names another commit than the one that is checked out`);
  }
  if (await git(root, "status", "--porcelain") !== "") {
    reasons.push("the tree differs from its commit: commit or remove what git status lists");
  }
  return reasons;
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { tag: { type: "string" }, signers: { type: "string" }, root: { type: "string" } },
  });
  const { tag, signers, root = fileURLToPath(new URL("../", import.meta.url)) } = values;
  if (tag === undefined || signers === undefined) {
    console.error('usage: make release-check ARGS="--tag v0.1.0 --signers FILE"');
    Deno.exit(2);
  }
  const reasons = await reasonsAgainst(root, tag, signers);
  for (const reason of reasons) console.error(`release-check: ${reason}`);
  if (reasons.length === 0) console.log(`release-check: ${tag} may be released`);
  Deno.exit(reasons.length === 0 ? 0 : 1);
}

// needs: git ssh-keygen
/**
 * Who may make a release: real tags, signed by real keys, judged as the workflow judges them.
 *
 * @module
 */

import assert from "node:assert/strict";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { missingFor } from "../../scripts/needs.ts";
import { reasonsAgainst, sectionOf } from "../../scripts/release_check.ts";

const ignore = missingFor(import.meta.url).length > 0;
const CHANGELOG = "# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-01-02\n\n- A thing.\n";

async function run(cwd: string, program: string, ...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(program, {
    args,
    cwd,
    stdin: "null",
    env: { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" },
  }).output();
  assert.ok(success, `${program} ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
}

/** A repository with one commit, two keys, and a file that lets the first of them sign. */
async function repository(
  at: string,
): Promise<{ tree: string; signers: string; key: string; other: string }> {
  const tree = `${at}/tree`;
  await Deno.mkdir(tree);
  await Deno.writeTextFile(`${tree}/CHANGELOG.md`, CHANGELOG);
  await run(tree, "git", "init", "-q", "-b", "main");
  for (
    const [name, value] of [
      ["user.name", "A"],
      ["user.email", "a@example.test"],
      ["gpg.format", "ssh"],
    ] as const
  ) await run(tree, "git", "config", name, value);
  await run(tree, "git", "add", "-A");
  await run(tree, "git", "commit", "-qm", "one");
  const [key, other] = [`${at}/key`, `${at}/other`];
  for (const file of [key, other]) {
    await run(at, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file);
  }
  const signers = `${at}/signers`;
  const publicKey = await Deno.readTextFile(`${key}.pub`);
  await Deno.writeTextFile(signers, `a@example.test namespaces="git" ${publicKey}`);
  return { tree, signers, key, other };
}

async function tag(tree: string, name: string, key: string): Promise<void> {
  await run(tree, "git", "-c", `user.signingkey=${key}`, "tag", "-f", "--sign", name, "-m", name);
}

Deno.test({
  name: "real, only a tag that a known key signed, of this version and commit, is a release",
  ignore,
  async fn() {
    await using dir = await tempDir();
    const { tree, signers, key, other } = await repository(dir.path);
    const against = (name: string, who = signers) => reasonsAgainst(tree, name, who, "1.2.3");

    assert.match((await against("v1.2.3")).join(), /no annotated tag/);
    await run(tree, "git", "tag", "-f", "v1.2.3");
    assert.match((await against("v1.2.3")).join(), /no annotated tag/);
    await run(tree, "git", "tag", "-f", "-a", "v1.2.3", "-m", "unsigned");
    assert.match((await against("v1.2.3")).join(), /not signed by a key/);
    await tag(tree, "v1.2.3", other);
    assert.match((await against("v1.2.3")).join(), /not signed by a key/);

    await tag(tree, "v1.2.3", key);
    assert.deepEqual(await against("v1.2.3"), []);
    await Deno.writeTextFile(dir.at("nobody"), "\n");
    assert.match((await against("v1.2.3", dir.at("nobody"))).join(), /names nobody/);
    assert.match((await against("v1.2.3", dir.at("absent"))).join(), /names nobody/);

    await tag(tree, "v9.9.9", key);
    assert.match((await against("v9.9.9")).join(), /raise VERSION/);
    await Deno.writeTextFile(`${tree}/CHANGELOG.md`, "# Changelog\n\n## [Unreleased]\n");
    const [noSection, dirty] = await against("v1.2.3");
    assert.match(noSection ?? "", /has no section/);
    assert.match(dirty ?? "", /differs from its commit/);
    await run(tree, "git", "commit", "-qam", "two");
    assert.match((await against("v1.2.3")).join(), /names another commit/);
  },
});

Deno.test("a section of the changelog is dated, and says something", () => {
  assert.equal(sectionOf(CHANGELOG, "1.2.3"), "- A thing.");
  assert.equal(sectionOf(CHANGELOG, "1.2.4"), null);
  assert.equal(sectionOf("\n## [1.0.0] - soon\n\n- x\n", "1.0.0"), null);
  assert.equal(
    sectionOf("\n## [1.0.0] - 2026-01-02\n\n## [0.9.0] - 2026-01-01\n- x\n", "1.0.0"),
    null,
  );
});

import assert from "node:assert/strict";
import { refuseDamaged } from "../../lib/home/generation.ts";
import { openHome } from "../../lib/home/open_home.ts";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { commitFiles, makeRepo } from "../fixtures/git_repo.ts";
import { ports } from "../fixtures/home_rig.ts";
import { LAB } from "../fixtures/topology.ts";

/** One run of the child; what it said, or the signal it died of. */
async function child(home: string, repo: string, rev: string, step: number): Promise<string> {
  const script = new URL("home_child.ts", import.meta.url).pathname;
  const { signal, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "--no-check", script, home, repo, rev, `${step}`],
    stdin: "null",
    signal: AbortSignal.timeout(30_000),
  }).output();
  const said = new TextDecoder().decode(stdout).trim();
  return signal ?? (said || new TextDecoder().decode(stderr));
}

/** The commit that is live, compared byte for byte. */
async function liveCommit(home: string): Promise<string> {
  const live = await openHome(ports, home);
  assert.ok(live.kind === "live", JSON.stringify(live));
  assert.equal(await refuseDamaged(ports, home, live.current.digest), null);
  return live.current.commit;
}

Deno.test({
  name: "crash, home: kill -9 at every step leaves the old set, and the next run makes the new one",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    await using dir = await tempDir();
    const repo = dir.at("repo");
    const one = await makeRepo(repo, { "topology.toml": LAB });
    const base = dir.at("base");
    assert.equal(await child(base, repo, one, -1), "materialized");
    const two = await commitFiles(repo, {
      "topology.toml": LAB.replace('"lab"', '"lob"'),
      "a/b": "c",
    });
    let old = 0;
    for (let step = 0;; step++) {
      const home = dir.at(`home-${step}`);
      const copy = await new Deno.Command("cp", { args: ["-a", base, home] }).output();
      assert.ok(copy.success);
      const ended = await child(home, repo, two, step);
      if (ended === "materialized") {
        assert.ok(step >= 20, `only ${step} steps`);
        assert.equal(old, step - 1); // only the last step is behind the switch
        return;
      }
      assert.equal(ended, "SIGKILL");
      const commit = await liveCommit(home);
      assert.ok(commit === one || commit === two);
      if (commit === one) old++;
      if (step % 4 !== 0) continue; // the same state of the disk as its neighbours
      assert.equal(await child(home, repo, two, -1), "materialized");
      assert.equal(await liveCommit(home), two);
      const names = [...Deno.readDirSync(`${home}/generations`)].map(({ name }) => name);
      assert.ok(names.every((name) => /^[0-9a-f]{64}$/.test(name)), names.join());
    }
  },
});

// needs: git mount
import assert from "node:assert/strict";
import { materialize } from "../../lib/home/materialize.ts";
import { openHome } from "../../lib/home/open_home.ts";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { commitFiles, gitIn, makeRepo } from "../fixtures/git_repo.ts";
import { ports } from "../fixtures/home_rig.ts";
import { LAB } from "../fixtures/topology.ts";

/** Mounts a small disk in memory, or says that this machine does not let us. */
async function mount(path: string, options: string): Promise<boolean> {
  const args = ["-t", "tmpfs", "-o", options, "tmpfs", path];
  const { success } = await new Deno.Command("mount", { args, stderr: "null" }).output()
    .catch(() => ({ success: false }));
  return success;
}

Deno.test({
  name: "real, home: a disk that is full, then read-only, leaves the old set",
  ignore: Deno.build.os !== "linux" || Deno.uid() !== 0,
  fn: async () => {
    await using dir = await tempDir();
    const repo = dir.at("repo");
    const one = await makeRepo(repo, { "topology.toml": LAB });
    const disk = dir.at("disk");
    await Deno.mkdir(disk);
    if (!await mount(disk, "size=256k")) {
      console.log("skipped: a tmpfs cannot be mounted here");
      return;
    }
    try {
      const home = `${disk}/home`;
      const ask = (rev: string) => ({ repo, rev, path: "", by: "t" });
      const live = async () => {
        const opened = await openHome(ports, home);
        return opened.kind === "live" ? opened.current.commit : opened.code;
      };
      const code = async (rev: string) => {
        const outcome = await materialize(ports, home, ask(rev));
        return outcome.kind === "refused" ? outcome.code : outcome.kind;
      };
      assert.equal(await code(one), "materialized");
      const two = await commitFiles(repo, { "big": "x".repeat(500_000) });
      assert.equal(await code(two), "home_no_space");
      assert.equal(await live(), one);
      await gitIn(repo, "rm", "-q", "big");
      const three = await commitFiles(repo, { "topology.toml": LAB.replace('"lab"', '"lob"') });
      assert.ok(await new Deno.Command("mount", { args: ["-o", "remount,ro", disk] }).output());
      assert.equal(await code(three), "home_unusable");
      assert.equal(await live(), one);
      assert.ok(await new Deno.Command("mount", { args: ["-o", "remount,rw", disk] }).output());
      assert.equal(await code(three), "materialized");
      assert.equal(await live(), three);
    } finally {
      await new Deno.Command("umount", { args: [disk] }).output();
    }
  },
});

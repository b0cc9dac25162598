import assert from "node:assert/strict";
import { commitFiles, gitIn } from "../../tests/fixtures/git_repo.ts";
import {
  ask,
  codes,
  good,
  ports,
  type Rig,
  rig,
  SERVES,
  snapshot,
} from "../../tests/fixtures/home_rig.ts";
import { LAB } from "../../tests/fixtures/topology.ts";
import { materialize } from "./materialize.ts";
import { openHome } from "./open_home.ts";
import { rollback } from "./rollback.ts";

/** What is refused: the code, and that nothing of the home changed. */
async function refused(
  expected: string,
  spoil: (r: Rig) => Promise<{ rev?: string; repo?: string; home?: string; path?: string } | void>,
): Promise<void> {
  await using r = await rig();
  await good(r.home, r.repo, r.first);
  const before = await snapshot(r.home);
  const { rev = "HEAD", repo = r.repo, home = r.home, path = "" } = await spoil(r) ?? {};
  assert.equal(codes(await materialize(ports, home, ask(repo, rev, path))), expected);
  assert.deepEqual(await snapshot(r.home), before, "the home changed");
}

Deno.test("home refuses: a dirty tree, changed, staged or untracked", async () => {
  await refused("repo_dirty", (r) => Deno.writeTextFile(`${r.repo}/topology.toml`, LAB + "#"));
  await refused("repo_dirty", (r) => Deno.writeTextFile(`${r.repo}/new`, "x"));
  await refused("repo_dirty", async (r) => {
    await Deno.remove(`${r.repo}/notes/read me.md`);
    await gitIn(r.repo, "add", "-A");
  });
});

Deno.test("home refuses: revisions that are no commit", async () => {
  for (
    const [rev, code] of [
      ["nosuch", "commit_unknown"],
      ["0".repeat(40), "commit_unknown"],
      ["HEAD:topology.toml", "commit_unknown"],
      ["v1.0-3-gabcdef0-dirty", "rev_dirty"],
      ["--all", "rev_malformed"],
      ["", "rev_malformed"],
      ["a b", "rev_malformed"],
      ["HEAD\n", "rev_malformed"],
    ] as const
  ) await refused(code, () => Promise.resolve({ rev }));
});

Deno.test("home refuses: repositories that are none, and directories that are none", async () => {
  await refused("repo_unknown", (r) => Promise.resolve({ repo: r.dir.path }));
  await refused("repo_unknown", (r) => Promise.resolve({ repo: r.dir.at("none") }));
  for (const path of ["none", "topology.toml", "../repo", "/", "a//b", "./notes"]) {
    await refused("path_unknown", () => Promise.resolve({ path }));
  }
  await refused("topology.toml file_absent", () => Promise.resolve({ path: "notes" }));
});

Deno.test("home refuses: links, submodules, executable bits, and all of them at once", async () => {
  await refused("l file_is_link, m submodule, x file_executable", async (r) => {
    await Deno.writeTextFile(`${r.repo}/x`, "#!/bin/sh\n", { mode: 0o755 });
    await Deno.symlink("topology.toml", `${r.repo}/l`);
    await gitIn(r.repo, "add", "-A");
    await gitIn(r.repo, "update-index", "--add", "--cacheinfo", `160000,${r.first},m`);
    await gitIn(r.repo, "commit", "-q", "-m", "x");
    await gitIn(r.dir.path, "clone", "-q", "--bare", "repo", "bare");
    return { repo: r.dir.at("bare") };
  });
});

Deno.test("home refuses: names that are not the same everywhere", async () => {
  const blob = async (r: Rig) => await gitIn(r.repo, "rev-parse", "HEAD:notes/read me.md");
  await refused("nul.toml path_unsafe, a/c path_collision", async (r) => {
    const object = await blob(r);
    for (const name of ["A/b", "a/c", "nul.toml"]) {
      await gitIn(r.repo, "update-index", "--add", "--cacheinfo", `100644,${object},${name}`);
    }
    await gitIn(r.repo, "commit", "-q", "-m", "x");
    await gitIn(r.dir.path, "clone", "-q", "--bare", "repo", "bare");
    return { repo: r.dir.at("bare") };
  });
});

Deno.test("home refuses: a large file, and many", async () => {
  await refused("big file_too_large", async (r) => {
    await commitFiles(r.repo, { big: "x".repeat(2 * 1024 * 1024 + 1) });
  });
  await refused("too_many_files", async (r) => {
    const many = Array.from({ length: 2001 }, (_, n) => [`many/${n}`, ""] as const);
    await commitFiles(r.repo, Object.fromEntries(many));
  });
});

Deno.test("home refuses: files that say something wrong", async () => {
  await refused("topology.toml promotion_ineligible", async (r) => {
    const text = LAB.replace('{ host = "gpu-a", tier', '{ host = "mac", tier');
    await commitFiles(r.repo, { "topology.toml": text });
  });
  await refused(
    "hosts/gpu-z/router.toml host_unknown, hosts/mac/serves.toml serve_runtime_differs, " +
      "hosts/mac/serves.toml memory_model_differs, " +
      "notes/key secret_value, x.toml syntax",
    async (r) => {
      await commitFiles(r.repo, {
        "hosts/gpu-z/router.toml": "schema = 1\n",
        "hosts/mac/serves.toml": SERVES,
        "notes/key": "-----BEGIN OPENSSH PRIVATE KEY-----\n",
        "x.toml": "x =",
      });
    },
  );
  await refused("topology.toml already_a_view", async (r) => {
    const text = `command_host = "mac"\ncommand_runtime = "native"\n${LAB}`;
    await commitFiles(r.repo, { "topology.toml": text });
  });
});

Deno.test("home refuses: to be in a git tree, in a repository, or to become part of one", async () => {
  await refused("home_in_git_tree", (r) => Promise.resolve({ home: `${r.repo}/home` }));
  await refused("home_in_git_tree", (r) => Promise.resolve({ home: `${r.repo}/a/b/c` }));
  await refused("home_in_git_tree", (r) => Promise.resolve({ home: `${r.repo}/.git/home` }));
  await using r = await rig();
  await good(r.home, r.repo, r.first);
  await gitIn(r.dir.path, "init", "-q");
  assert.equal(codes(await openHome(ports, r.home)), "home_in_git_tree");
  assert.equal(codes(await rollback(ports, r.home, { by: "t" })), "home_in_git_tree");
  assert.ok(!(await Deno.stat(`${r.repo}/a`).catch(() => null)), "it was made all the same");
});

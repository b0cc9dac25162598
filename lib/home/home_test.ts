import assert from "node:assert/strict";
import {
  ask,
  codes,
  good,
  live,
  ports,
  rig,
  SERVES,
  snapshot,
} from "../../tests/fixtures/home_rig.ts";
import { commitFiles, gitIn } from "../../tests/fixtures/git_repo.ts";
import { LAB } from "../../tests/fixtures/topology.ts";
import { tryLock } from "../host/lock.ts";
import { verifyGeneration } from "./generation.ts";
import { made, readCurrent, readHistory, type Switch } from "./history.ts";
import { materialize } from "./materialize.ts";
import { liveTopology, openHome } from "./open_home.ts";
import { rollback } from "./rollback.ts";

Deno.test("home: a commit becomes the live set, with a receipt of every byte", async () => {
  await using r = await rig();
  const { receipt, current, switched } = await good(r.home, r.repo, "main");
  assert.equal(switched, true);
  assert.equal(receipt.commit, r.first);
  assert.equal(receipt.by, "tester");
  assert.deepEqual(receipt.files.map(({ path, size }) => [path, size]), [
    ["hosts/gpu-a/serves.toml", SERVES.length],
    ["notes/read me.md", 4],
    ["topology.toml", LAB.length],
  ]);
  assert.equal(current.digest, receipt.digest);
  const files = await snapshot(r.home);
  assert.equal(files[`generations/${receipt.digest}/files/topology.toml`], LAB);
  const verified = await verifyGeneration(ports, r.home, receipt.digest);
  assert.ok(!("kind" in verified));
  assert.deepEqual(verified.differences, []);
});

Deno.test("home: the same commit again switches nothing and writes nothing", async () => {
  await using r = await rig();
  await good(r.home, r.repo, "main");
  const before = await snapshot(r.home);
  assert.equal((await good(r.home, r.repo, r.first)).switched, false);
  assert.deepEqual(await snapshot(r.home), before);
});

Deno.test("home: what an earlier run left unfinished is removed by the next", async () => {
  await using r = await rig();
  await Deno.mkdir(`${r.home}/generations/.staging-other/files/deep`, { recursive: true });
  await Deno.writeTextFile(`${r.home}/generations/.staging-other/files/deep/x`, "half");
  const { receipt } = await good(r.home, r.repo, r.first);
  const names = [...Deno.readDirSync(`${r.home}/generations`)].map(({ name }) => name);
  assert.deepEqual(names, [receipt.digest]);
});

Deno.test("home: a branch switch in the repository changes nothing that is live", async () => {
  await using r = await rig();
  await good(r.home, r.repo, "main");
  const before = await live(r.home);
  await gitIn(r.repo, "checkout", "-q", "-b", "other");
  await commitFiles(r.repo, { "topology.toml": LAB.replace('"lab"', '"other"') });
  await Deno.writeTextFile(`${r.repo}/topology.toml`, "not even TOML");
  assert.deepEqual(await live(r.home), before);
  await Deno.remove(r.repo, { recursive: true });
  assert.deepEqual(await live(r.home), before);
});

Deno.test("home: rollback restores the set before, byte for byte, and any set by its digest", async () => {
  await using r = await rig();
  const one = await good(r.home, r.repo, r.first);
  const before = await live(r.home) as { files: unknown };
  const second = await commitFiles(r.repo, { "topology.toml": LAB.replace('"lab"', '"lob"') });
  const two = await good(r.home, r.repo, second);
  assert.notEqual(two.receipt.digest, one.receipt.digest);
  const back = await rollback(ports, r.home, { by: "tester" });
  assert.ok(back.kind === "rolled_back", JSON.stringify(back));
  assert.equal(back.from, two.receipt.digest);
  const after = await live(r.home) as { files: unknown };
  assert.deepEqual(after.files, before.files);
  const forward = await rollback(ports, r.home, { to: two.receipt.digest.slice(0, 10), by: "t" });
  assert.ok(forward.kind === "rolled_back");
  const history = await readHistory(ports, r.home);
  assert.ok(!("kind" in history));
  assert.deepEqual(history.map(({ action, digest }) => [action, digest]), [
    ["materialize", one.receipt.digest],
    ["materialize", two.receipt.digest],
    ["rollback", one.receipt.digest],
    ["rollback", two.receipt.digest],
  ]);
});

Deno.test("home: nothing to roll back to, an unknown set, a damaged set", async () => {
  await using r = await rig();
  assert.equal(codes(await rollback(ports, r.home, { by: "t" })), "nothing_to_roll_back_to");
  const one = await good(r.home, r.repo, r.first);
  assert.equal(codes(await rollback(ports, r.home, { by: "t" })), "nothing_to_roll_back_to");
  assert.equal(
    codes(await rollback(ports, r.home, { to: "ffffffff", by: "t" })),
    "generation_unknown",
  );
  assert.equal(
    codes(await rollback(ports, r.home, { to: "../..", by: "t" })),
    "generation_unknown",
  );
  const second = await commitFiles(r.repo, { "notes/x": "y" });
  const two = await good(r.home, r.repo, second);
  const file = `${r.home}/generations/${one.receipt.digest}/files/topology.toml`;
  await Deno.chmod(file, 0o600);
  await Deno.writeTextFile(file, `${LAB} `);
  assert.equal(codes(await rollback(ports, r.home, { by: "t" })), "generation_damaged");
  const current = await readCurrent(ports, r.home);
  assert.ok(current !== null && !("kind" in current));
  assert.equal(current.digest, two.receipt.digest);
});

Deno.test("home: verify finds every byte, file, link and bit that differs", async () => {
  await using r = await rig();
  const { receipt } = await good(r.home, r.repo, r.first);
  const at = (name: string) => `${r.home}/generations/${receipt.digest}/files/${name}`;
  const differences = async () => {
    const verified = await verifyGeneration(ports, r.home, receipt.digest);
    return "kind" in verified
      ? verified.code
      : verified.differences.map(({ path, state }) => `${path} ${state}`);
  };
  await Deno.writeTextFile(at("notes/new"), "x");
  await Deno.chmod(at("topology.toml"), 0o600);
  await Deno.writeTextFile(at("topology.toml"), LAB.replace("lab", "lob"));
  await Deno.chmod(at("hosts/gpu-a/serves.toml"), 0o700);
  await Deno.remove(at("notes/read me.md"));
  assert.deepEqual(await differences(), [
    "hosts/gpu-a/serves.toml executable",
    "notes/new extra",
    "notes/read me.md missing",
    "topology.toml differs",
  ]);
  await Deno.writeTextFile(at("topology.toml"), `${LAB}#`); // grew by one byte
  await Deno.rename(at("notes/new"), at("elsewhere"));
  await Deno.symlink(at("elsewhere"), at("notes/read me.md"));
  await Deno.chmod(at("hosts/gpu-a/serves.toml"), 0o600);
  assert.deepEqual(await differences(), [
    "elsewhere extra",
    "notes/read me.md not_a_file",
    "topology.toml differs",
  ]);
  const path = `${r.home}/generations/${receipt.digest}/receipt.json`;
  await Deno.chmod(path, 0o600);
  await Deno.writeTextFile(path, (await Deno.readTextFile(path)).replace(r.first, "0".repeat(40)));
  assert.equal(await differences(), "generation_damaged");
});

Deno.test("home: a bare repository has no tree to be dirty", async () => {
  await using r = await rig();
  await gitIn(r.dir.path, "clone", "-q", "--bare", "repo", "bare");
  await good(r.home, r.dir.at("bare"), "main");
});

Deno.test("home: one command changes it at a time", async () => {
  await using r = await rig();
  await good(r.home, r.repo, r.first);
  const second = await commitFiles(r.repo, { "notes/x": "y" });
  const both = await Promise.all(
    [1, 2, 3].map(() => materialize(ports, r.home, ask(r.repo, second))),
  );
  const kinds = both.map(codes);
  assert.ok(kinds.includes("materialized"), kinds.join());
  assert.ok(kinds.every((kind) => kind === "materialized" || kind === "home_busy"), kinds.join());
  // A program that was being started when the lock was held keeps it until it is exec'ed.
  let lock = await tryLock(`${r.home}/lock`);
  for (let tries = 0; lock.kind === "busy" && tries < 100; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    lock = await tryLock(`${r.home}/lock`);
  }
  assert.ok(lock.kind === "held");
  assert.equal(codes(await rollback(ports, r.home, { by: "t" })), "home_busy");
  assert.equal(codes(await materialize(ports, r.home, ask(r.repo, r.first))), "home_busy");
  await lock.release();
});

Deno.test("home: a damaged pointer is said, and a rollback by name mends it", async () => {
  await using r = await rig();
  const { receipt } = await good(r.home, r.repo, r.first);
  await Deno.writeTextFile(`${r.home}/current`, "{}");
  assert.equal(codes(await openHome(ports, r.home)), "current_damaged");
  assert.equal(codes(await materialize(ports, r.home, ask(r.repo, r.first))), "current_damaged");
  assert.equal(codes(await rollback(ports, r.home, { by: "t" })), "current_damaged");
  const mended = await rollback(ports, r.home, { to: receipt.digest, by: "t" });
  assert.ok(mended.kind === "rolled_back");
  const opened = await openHome(ports, r.home);
  assert.ok(opened.kind === "live");
  const topology = await liveTopology(ports, r.home, opened);
  assert.ok("fleet" in topology);
  assert.equal(topology.fleet.fleet, "lab");
});

Deno.test("home: a damaged history is said, and what is live is still read", async () => {
  await using r = await rig();
  await good(r.home, r.repo, r.first);
  await Deno.writeTextFile(`${r.home}/history.jsonl`, "what?\n");
  assert.equal(codes(await rollback(ports, r.home, { by: "t" })), "history_damaged");
  assert.equal((await openHome(ports, r.home)).kind, "live");
});

Deno.test("home: an empty home, and no git", async () => {
  await using r = await rig();
  assert.equal(codes(await openHome(ports, r.home)), "home_empty");
  const gitless = { ...ports, searchPath: r.dir.at("nothing") };
  assert.equal(codes(await materialize(gitless, r.home, ask(r.repo, r.first))), "git_absent");
  assert.equal(codes(await openHome(gitless, r.home)), "git_absent");
});

Deno.test("home: nothing of the environment points git elsewhere", async () => {
  await using r = await rig();
  const other = await rig();
  await using _other = other;
  Deno.env.set("GIT_DIR", `${other.repo}/.git`);
  try {
    assert.equal((await good(r.home, r.repo, r.first)).receipt.commit, r.first);
  } finally {
    Deno.env.delete("GIT_DIR");
  }
});

Deno.test("history: only what `current` leads back to was made", () => {
  const line = (seq: number, from: number | null): Switch => ({
    ...{ schema: 1, seq, from, action: "materialize", digest: `${seq}`.repeat(64) },
    ...{ commit: "c", at: "2026-01-01T00:00:00.000Z", by: "t" },
  });
  const lines = [line(1, null), line(2, 1), line(3, 1), line(4, 3), line(5, 4)];
  assert.deepEqual(made(lines, line(4, 3)).map(({ seq }) => seq), [4, 3, 1]);
  assert.deepEqual(made(lines, null), []);
  // A line that leads to itself ends somewhere.
  assert.ok(made([line(1, 2), line(2, 1)], line(2, 1)).length <= 3);
});

import assert from "node:assert/strict";
import {
  publishAsk,
  publisherRig,
  trustOfRig,
  writeTree,
} from "../../tests/fixtures/publisher_rig.ts";
import { systemClock } from "../../lib/host/clock.ts";
import { addKey, retireKey } from "./keyring.ts";
import { blobPath, pointerPath, sequencePath } from "./layout.ts";
import type { PublisherRefusal } from "./ports.ts";
import { publish, type Published, withdraw } from "./publish.ts";

function done(outcome: Published | PublisherRefusal): Published {
  assert.notEqual(outcome.kind, "refused", JSON.stringify(outcome));
  return outcome as Published;
}

function codeOf(outcome: Published | PublisherRefusal): string {
  return outcome.kind === "refused" ? outcome.code : outcome.kind;
}

Deno.test("a tree is published, and a host finds every byte of it", async () => {
  await using rig = await publisherRig();
  const { ports, config } = rig;
  const first = done(await publish(ports, config, publishAsk(await rig.tree("aaa", 1), "aaa")));
  assert.equal(first.kind, "published");
  assert.equal(first.written, 4); // three files and the manifest
  const offer = await rig.look();
  assert.equal(offer?.payload.rev.id, "aaa");
  assert.equal(offer?.floor.sequence, 1);
  const second = done(await publish(ports, config, publishAsk(await rig.tree("bbb", 2), "bbb")));
  assert.equal(second.written, 3); // one file is in both
  assert.equal((await rig.look("gpu-a", offer?.floor ?? null))?.payload.rev.id, "bbb");
  assert.equal(await rig.look("gpu-b"), null);
});

Deno.test("files in public are for everybody, and the numbers are not among them", async () => {
  await using rig = await publisherRig();
  const { ports, config } = rig;
  const { payload } = done(
    await publish(ports, config, publishAsk(await rig.tree("aaa", 1), "aaa")),
  );
  const mode = async (path: string) => ((await Deno.stat(path)).mode ?? 0) & 0o777;
  assert.equal(await mode(pointerPath(config.root, "gpu-a")), 0o644);
  const digest = payload.target.kind === "bundle" ? payload.target.digest : "";
  assert.equal(await mode(blobPath(config.root, digest)), 0o444);
  assert.equal(await mode(`${config.root}/public/blobs/sha256`), 0o755);
  assert.equal(await mode(sequencePath(config.root, "gpu-a", "rolling")), 0o600);
  const names = (await Array.fromAsync(Deno.readDir(`${config.root}/public`))).map((e) => e.name);
  assert.deepEqual(names.sort(), ["blobs", "candidates"]);
});

Deno.test("the same target again: a new number, a later end, nothing else", async () => {
  await using rig = await publisherRig();
  const { ports, config } = rig;
  const tree = await rig.tree("aaa", 1);
  const first = done(await publish(ports, config, publishAsk(tree, "aaa"))).payload;
  const later = { ...ports, clock: { ...systemClock, now: () => Date.now() + 3_600_000 } };
  const again = done(await publish(later, config, publishAsk(tree, "aaa")));
  assert.equal(again.kind, "refreshed");
  assert.equal(again.written, 0);
  const { sequence, issued_at, expires_at, ...rest } = again.payload;
  assert.equal(sequence, first.sequence + 1);
  assert.ok(issued_at > first.issued_at && expires_at > first.expires_at);
  assert.deepEqual({ ...first, sequence, issued_at, expires_at }, again.payload);
  assert.equal(rest.built_at, first.built_at);
});

Deno.test("the candidate itself says what it was built from", async () => {
  await using rig = await publisherRig();
  const { ports, config, dir } = rig;
  const outcome = async (files: { readonly [path: string]: string }, rev: string, more = {}) => {
    await Deno.remove(dir.at("t"), { recursive: true }).catch(() => {});
    await Deno.mkdir(dir.at("t"));
    await writeTree(dir.at("t"), files);
    return codeOf(await publish(ports, config, publishAsk(dir.at("t"), rev, more)));
  };
  const say = (change: object = {}) => ({
    "anvil-revision.json": JSON.stringify({
      rev: "abc",
      dirty: false,
      committed_at: 1_767_225_600,
      ...change,
    }),
    "a": "a",
  });
  assert.equal(await outcome({ "a": "a" }, "abc"), "revision_missing");
  assert.equal(await outcome({ "anvil-revision.json": "abc" }, "abc"), "revision_malformed");
  assert.equal(await outcome(say({ more: 1 }), "abc"), "revision_malformed");
  assert.equal(await outcome(say({ dirty: true }), "abc"), "rev_dirty");
  assert.equal(await outcome(say(), "abd"), "rev_differs");
  assert.equal(await outcome(say(), "github:o/r/xabc"), "rev_differs");
  assert.equal(await rig.look(), null, "nothing of that moved a pointer");
  assert.equal(await outcome(say(), "github:o/r/abc"), "published");
  const { rev } = (await rig.look())?.payload ?? {};
  assert.deepEqual(rev, {
    id: "github:o/r/abc",
    dirty: false,
    committed_at: "2026-01-01T00:00:00.000Z",
  });
});

Deno.test("a tree with links, devices, or nothing in it is refused by name", async () => {
  await using rig = await publisherRig();
  const { ports, config } = rig;
  const tree = await rig.tree("aaa", 1);
  await Deno.symlink("/etc/passwd", `${tree}/bin/passwd`);
  assert.equal(codeOf(await publish(ports, config, publishAsk(tree, "aaa"))), "tree_link");
  await Deno.remove(`${tree}/bin/passwd`);
  await Deno.writeTextFile(`${tree}/bin/aux.txt`, "");
  assert.equal(codeOf(await publish(ports, config, publishAsk(tree, "aaa"))), "bundle_path_unsafe");
  const nowhere = publishAsk(`${tree}/nowhere`, "aaa");
  assert.equal(codeOf(await publish(ports, config, nowhere)), "revision_missing");
  const wrong = { source: { kind: "store-path", path: "/nix/store/x" } } as const;
  assert.equal(
    codeOf(await publish(ports, config, publishAsk(tree, "aaa", wrong))),
    "source_wrong",
  );
  const unknown = publishAsk(tree, "aaa", { host: "gpu-z" });
  assert.equal(codeOf(await publish(ports, config, unknown)), "host_unknown");
  assert.equal(await rig.look(), null);
});

Deno.test("a bundle's own manifest must fit the tree, and says the commit", async () => {
  await using rig = await publisherRig();
  const { ports, config, dir } = rig;
  const commit = "0123456789".repeat(4);
  const text = "hello\n";
  const manifest = (sha256: string, dirty = "") =>
    `{"build":{"commit":"${commit}${dirty}","digest":"${"ab".repeat(32)}"},` +
    `"files":[{"mode":"0444","path":"a","sha256":"${sha256}","size":6}],` +
    `"platform":null,"roles":[],"schema":1,"version":"0.1.0"}`;
  const good = ports.sha256(text).toHex();
  const outcome = async (json: string, more = {}) => {
    await writeTree(dir.at("b"), { "a": text, "manifest.json": json });
    return codeOf(await publish(ports, config, publishAsk(dir.at("b"), commit, more)));
  };
  const committedAt = "2026-01-01T00:00:00Z";
  assert.equal(await outcome(manifest(good)), "committed_at_missing");
  assert.equal(await outcome(manifest(good, "-dirty"), { committedAt }), "rev_dirty");
  assert.equal(await outcome(manifest("cd".repeat(32)), { committedAt }), "tree_differs");
  assert.equal(await outcome("{}", { committedAt }), "manifest_malformed");
  assert.equal(await outcome(manifest(good), { committedAt }), "published");
  const offer = await rig.look();
  assert.equal(offer?.target, `sha256:${ports.sha256(manifest(good)).toHex()}`);
});

Deno.test("withdrawn: repeated in what follows, and not offered again unless that is meant", async () => {
  await using rig = await publisherRig();
  const { ports, config } = rig;
  const [one, two] = [await rig.tree("aaa", 1), await rig.tree("bbb", 2)];
  assert.equal(codeOf(await withdraw(ports, config, "gpu-a", null)), "no-candidate");
  const first = done(await publish(ports, config, publishAsk(one, "aaa"))).payload;
  const target = first.target.kind === "bundle" ? first.target.digest : "";
  const gone = done(await withdraw(ports, config, "gpu-a", null)).payload;
  assert.deepEqual([gone.withdrawn, gone.sequence], [[target], 2]);
  assert.equal(done(await withdraw(ports, config, "gpu-a", null)).payload.sequence, 2);
  assert.equal(codeOf(await publish(ports, config, publishAsk(one, "aaa"))), "target_withdrawn");
  const next = done(await publish(ports, config, publishAsk(two, "bbb"))).payload;
  assert.deepEqual([next.withdrawn, next.sequence], [[target], 3]);
  const back = publishAsk(one, "aaa", { reinstate: true, allowDowngradeFrom: ["bbb"] });
  const again = done(await publish(ports, config, back)).payload;
  assert.deepEqual([again.withdrawn, again.allow_downgrade_from], [[], ["bbb"]]);
  assert.equal((await rig.look())?.payload.rev.id, "aaa");
});

Deno.test("an older commit is published only when that is meant", async () => {
  await using rig = await publisherRig();
  const { ports, config } = rig;
  const [one, two] = [await rig.tree("aaa", 1), await rig.tree("bbb", 2)];
  done(await publish(ports, config, publishAsk(two, "bbb")));
  assert.equal(codeOf(await publish(ports, config, publishAsk(one, "aaa"))), "downgrade_unmeant");
  const meant = publishAsk(one, "aaa", { allowDowngradeFrom: ["bbb"] });
  assert.equal(codeOf(await publish(ports, config, meant)), "published");
});

Deno.test("rotation: both sign, then one; whoever has either trust file follows", async () => {
  await using rig = await publisherRig();
  const { ports, config } = rig;
  const tree = await rig.tree("aaa", 1);
  const old = await trustOfRig(ports, config);
  const [first = ""] = [...old.keys()];
  const last = await retireKey(ports, config.keys, first);
  assert.equal("kind" in last && last.code, "key_last");
  const added = await addKey(ports, config.keys, false);
  assert.ok(!("kind" in added));
  if ("kind" in added) return;
  const both = done(await publish(ports, config, publishAsk(tree, "aaa"))).payload;
  assert.deepEqual(both.signed_by, [first, added.id].sort());
  assert.ok(!("kind" in await retireKey(ports, config.keys, first)));
  // A pointer that the retired key signed, too, is still ours, and a host with the new file reads it.
  assert.equal((await rig.look())?.floor.sequence, 1);
  const one = done(await publish(ports, config, publishAsk(tree, "aaa"))).payload;
  assert.deepEqual(one.signed_by, [added.id]);
  assert.equal((await rig.look())?.floor.sequence, 2);
  const text = await Deno.readTextFile(`${config.keys}/${first}.json`);
  assert.equal(JSON.parse(text).private, null);
});

Deno.test("two publishers at once: both are done, with two numbers, or one is told to wait", async () => {
  await using rig = await publisherRig();
  const { ports, config } = rig;
  const tree = await rig.tree("aaa", 1);
  const [one, two, other] = await Promise.all([
    publish(ports, config, publishAsk(tree, "aaa")),
    publish(ports, config, publishAsk(tree, "aaa")),
    publish(ports, config, publishAsk(tree, "aaa", { host: "gpu-b" })),
  ]);
  const numbers = [done(one).payload.sequence, done(two).payload.sequence];
  assert.deepEqual(numbers.sort(), [1, 2]);
  assert.equal(done(other).payload.sequence, 1);
  const held = await ports.tryLock(`${config.root}/lock`);
  assert.equal(held.kind, "held");
  const impatient = { ...config, lock_seconds: 0 };
  assert.equal(codeOf(await publish(ports, impatient, publishAsk(tree, "aaa"))), "publisher_busy");
  if (held.kind === "held") await held.release();
});

Deno.test("damage is found, named, and not built on", async () => {
  await using rig = await publisherRig();
  const { ports, config } = rig;
  const tree = await rig.tree("aaa", 1);
  const ask = publishAsk(tree, "aaa");
  const { payload } = done(await publish(ports, config, ask));
  const digest = payload.target.kind === "bundle" ? payload.target.digest : "";
  const blob = blobPath(config.root, digest);
  await Deno.remove(blob);
  await Deno.writeTextFile(blob, "something else");
  assert.equal(done(await publish(ports, config, ask)).written, 1); // mended
  await rig.look();
  const pointer = pointerPath(config.root, "gpu-a");
  const text = await Deno.readTextFile(pointer);
  await Deno.writeTextFile(pointer, text.replace("A", "B"));
  assert.equal(codeOf(await publish(ports, config, ask)), "pointer_damaged");
  await Deno.remove(pointer);
  // Its number is known all the same.
  assert.equal(done(await publish(ports, config, ask)).payload.sequence, 3);
  await Deno.writeTextFile(sequencePath(config.root, "gpu-a", "rolling"), "{}");
  assert.equal(codeOf(await publish(ports, config, ask)), "sequence_damaged");
  await Deno.remove(sequencePath(config.root, "gpu-a", "rolling"));
  const above = publishAsk(tree, "aaa", { sequenceAbove: 40 });
  assert.equal(done(await publish(ports, config, above)).payload.sequence, 41);
});

Deno.test("a clock that went back does not publish", async () => {
  await using rig = await publisherRig();
  const { ports, config } = rig;
  const ask = publishAsk(await rig.tree("aaa", 1), "aaa");
  done(await publish(ports, config, ask));
  const early = { ...ports, clock: { ...systemClock, now: () => Date.now() - 3_600_000 } };
  assert.equal(codeOf(await publish(early, config, ask)), "clock_backwards");
});

Deno.test("keys that others may read, or that are damaged, sign nothing", async () => {
  await using rig = await publisherRig();
  const { ports, config } = rig;
  const ask = publishAsk(await rig.tree("aaa", 1), "aaa");
  const [name = ""] = (await Array.fromAsync(Deno.readDir(config.keys))).map((e) => e.name)
    .filter((one) => one.startsWith("ed25519"));
  const path = `${config.keys}/${name}`;
  await Deno.chmod(path, 0o644);
  assert.equal(codeOf(await publish(ports, config, ask)), "key_not_private");
  await Deno.chmod(path, 0o600);
  const text = await Deno.readTextFile(path);
  const record = JSON.parse(text);
  const broken = [
    text.slice(1),
    JSON.stringify({ ...record, private: record.private.replace(/^./, "N") }),
    JSON.stringify({ ...record, id: `ed25519-${"0".repeat(32)}` }),
    JSON.stringify({ ...record, private: null }),
  ];
  for (const bad of broken) {
    await Deno.writeTextFile(path, bad);
    const outcome = await publish(ports, config, ask);
    assert.equal(codeOf(outcome), "key_damaged");
    assert.ok(!JSON.stringify(outcome).includes(record.private.slice(20, 40)));
  }
  await Deno.remove(path);
  assert.equal(codeOf(await publish(ports, config, ask)), "keys_absent");
});

import assert from "node:assert/strict";
import { join } from "node:path";
import { sha256 } from "../host/digest.ts";
import { systemDirectories } from "../host/directories.ts";
import { systemFiles } from "../host/files.ts";
import { archiveOf, type Bundle, bundleOf, chunksOf } from "../testing/bundle_rig.ts";
import { tempDir } from "../testing/temp_dir.ts";
import { archiveLength } from "./write_archive.ts";
import { manifestDigest } from "./manifest.ts";
import { readPointers, switchBack, switchTo } from "./pointer.ts";
import { retire } from "./retention.ts";
import {
  listGenerations,
  stageArchive,
  stageFiles,
  type Store,
  verifyGeneration,
} from "./store.ts";

const ON_WINDOWS = Deno.build.os === "windows";
const [A, B, C] = ["1", "2", "3"].map((version) =>
  bundleOf({ "bin/run!": `run ${version}`, "lib/deep/a.js": "same" }, version)
) as [Bundle, Bundle, Bundle];
const digestOf = ({ manifest }: Bundle) => manifestDigest(sha256, manifest);

async function rig() {
  const dir = await tempDir();
  const ports = { files: systemFiles, directories: systemDirectories, sha256 };
  const store: Store = { ports, root: dir.at("store"), keepsModes: !ON_WINDOWS };
  const in_ = (digest: string, path: string) => join(store.root, "generations", digest, path);
  return { dir, store, in_, [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
}

const stage = async (store: Store, bundle: Bundle) =>
  await stageArchive(store, chunksOf(await archiveOf(bundle)), {
    digest: digestOf(bundle),
    length: archiveLength(bundle.manifest),
  });
const codeOf = (outcome: object) =>
  "code" in outcome ? outcome.code : "kind" in outcome ? outcome.kind : "ok";
const states = async (store: Store, digest: string) => {
  const verified = await verifyGeneration(store, digest);
  if ("kind" in verified) return verified.code;
  return verified.differences.map(({ path, state }) => `${path} ${state}`);
};

Deno.test("store: an archive becomes a generation once, whole, read by all and written by nobody", async () => {
  await using at = await rig();
  const { store } = at;
  const first = await stage(store, A);
  assert.ok(first.kind === "stored" && !first.present, JSON.stringify(first));
  assert.equal(first.digest, digestOf(A));
  const again = await stage(store, A);
  assert.ok(again.kind === "stored" && again.present);
  assert.deepEqual(await listGenerations(store), [digestOf(A)]);
  assert.deepEqual(await states(store, digestOf(A)), []);
  assert.equal(await Deno.readTextFile(at.in_(digestOf(A), "bin/run")), "run 1");
  if (ON_WINDOWS) return;
  for (const [path, mode] of [["bin/run", 0o555], ["lib/deep", 0o755], [".", 0o755]] as const) {
    assert.equal((await Deno.lstat(at.in_(digestOf(A), path))).mode! & 0o7777, mode, path);
  }
});

Deno.test("store: a folder and its archive become the same generation", async () => {
  await using at = await rig();
  const staged = await stageFiles(at.store, A.manifest, A.contentOf);
  assert.ok(staged.kind === "stored" && staged.digest === digestOf(A));
  const again = await stage(at.store, A);
  assert.ok(again.kind === "stored" && again.present);
  const lying = await stageFiles(at.store, B.manifest, A.contentOf);
  assert.equal(codeOf(lying), "generation_damaged");
});

Deno.test("store: what is not the one that was asked for leaves nothing behind", async () => {
  await using at = await rig();
  const other = await stageArchive(at.store, chunksOf(await archiveOf(A)), { digest: digestOf(B) });
  assert.equal(codeOf(other), "generation_digest_differs");
  const cut = (await archiveOf(A)).subarray(0, -5000);
  assert.equal(
    codeOf(await stageArchive(at.store, chunksOf(cut), { digest: digestOf(A) })),
    "archive_truncated",
  );
  assert.deepEqual([...Deno.readDirSync(join(at.store.root, "generations"))], []);
});

Deno.test("store: edited, missing, extra, linked and made executable are each told", async () => {
  await using at = await rig();
  const digest = digestOf(A);
  await stage(at.store, A);
  const file = at.in_(digest, "lib/deep/a.js");
  const replace = async (act: () => Promise<void>) => {
    await Deno.remove(file, { recursive: true }).catch(() => {});
    await act();
    return await states(at.store, digest);
  };
  const path = "lib/deep/a.js";
  assert.deepEqual(await replace(() => Deno.writeTextFile(file, "SAME")), [`${path} differs`]);
  assert.deepEqual(await replace(() => Deno.writeTextFile(file, "same and")), [`${path} differs`]);
  assert.deepEqual(await replace(() => Promise.resolve()), ["lib/deep extra", `${path} missing`]);
  assert.deepEqual(await replace(() => Deno.mkdir(file)), [`${path} extra`, `${path} missing`]);
  if (!ON_WINDOWS) {
    assert.deepEqual(await replace(() => Deno.symlink("/etc/passwd", file)), [
      `${path} not_a_file`,
    ]);
    const executable = () => Deno.writeTextFile(file, "same", { mode: 0o755 });
    assert.deepEqual(await replace(executable), [`${path} executable`]);
    await replace(() => Deno.writeTextFile(file, "same", { mode: 0o444 }));
    await Deno.chmod(at.in_(digest, "bin/run"), 0o444);
    assert.deepEqual(await states(at.store, digest), ["bin/run not_executable"]);
    await Deno.chmod(at.in_(digest, "bin/run"), 0o555);
  }
  await replace(() => Deno.writeTextFile(file, "same", { mode: 0o444 }));
  await Deno.mkdir(at.in_(digest, "empty"));
  await Deno.writeTextFile(at.in_(digest, "lib/more"), "");
  assert.deepEqual(await states(at.store, digest), ["empty extra", "lib/more extra"]);
  assert.equal(codeOf(await stage(at.store, A)), "generation_damaged");
  assert.equal(codeOf(await switchTo(at.store, digest)), "generation_damaged");
  await Deno.remove(at.in_(digest, "manifest.json"));
  assert.equal(await states(at.store, digest), "generation_unknown");
  await Deno.writeTextFile(at.in_(digest, "manifest.json"), "{}");
  assert.equal(await states(at.store, digest), "generation_damaged");
});

Deno.test("store: current and previous, forward, back and forward again", async () => {
  await using at = await rig();
  const { store } = at;
  const [a, b, c] = [digestOf(A), digestOf(B), digestOf(C)];
  assert.deepEqual(await readPointers(store), { current: null, previous: null });
  assert.equal(codeOf(await switchTo(store, a)), "generation_unknown");
  for (const bundle of [A, B, C]) await stage(store, bundle);
  assert.deepEqual(await switchTo(store, a), { current: a, previous: null });
  assert.equal(codeOf(await switchBack(store)), "nothing_to_go_back_to");
  assert.deepEqual(await switchTo(store, b), { current: b, previous: a });
  assert.deepEqual(await switchTo(store, b), { current: b, previous: a });
  assert.deepEqual(await switchTo(store, c), { current: c, previous: b });
  assert.deepEqual(await switchBack(store), { current: b, previous: c });
  assert.deepEqual(await readPointers(store), { current: b, previous: c });
  assert.equal(await Deno.readTextFile(join(store.root, "current")), `${b}\n`);
});

Deno.test("store: retention keeps current, previous and pins, and touches nothing in doubt", async () => {
  await using at = await rig();
  const { store } = at;
  const [a, b, c] = [digestOf(A), digestOf(B), digestOf(C)];
  for (const bundle of [A, B, C]) await stage(store, bundle);
  await switchTo(store, a);
  const kept = await retire(store, [b, c, "f".repeat(64)]);
  assert.ok(kept.kind === "retired" && kept.removed.length === 0);
  await switchTo(store, b);
  await Deno.writeTextFile(join(store.root, "previous"), "garbage");
  assert.equal(codeOf(await retire(store, [])), "pointer_damaged");
  assert.equal((await listGenerations(store) as string[]).length, 3);
  await Deno.writeTextFile(join(store.root, "previous"), `${a}\n`);
  assert.deepEqual(await retire(store, []), {
    kind: "retired",
    removed: [c],
    kept: [a, b].sort(),
  });
  assert.deepEqual(await listGenerations(store), [a, b].sort());
});

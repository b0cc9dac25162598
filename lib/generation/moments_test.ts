import assert from "node:assert/strict";
import { sha256 } from "../host/digest.ts";
import { archiveOf, type Bundle, bundleOf, chunksOf } from "../testing/bundle_rig.ts";
import { everyMoment } from "../testing/every_moment.ts";
import { fakeDirectories } from "../testing/fake_directories.ts";
import { FakeDisk } from "../testing/fake_disk.ts";
import { manifestDigest } from "./manifest.ts";
import { readPointers, switchTo } from "./pointer.ts";
import { retire } from "./retention.ts";
import { listGenerations, refuseDamaged, stageArchive, type Store } from "./store.ts";

const [A, B, C] = ["1", "2", "3"].map((version) =>
  bundleOf({ "bin/run!": `run ${version}`, "lib/a.js": "same" }, version)
) as [Bundle, Bundle, Bundle];
const [a, b, c] = [A, B, C].map(({ manifest }) => manifestDigest(sha256, manifest)) as [
  string,
  string,
  string,
];

function storeOn(disk: FakeDisk): Store {
  const ports = { files: disk.files, directories: fakeDirectories(disk), sha256 };
  return { ports, root: "/disk/store", keepsModes: true };
}

async function stage(store: Store, bundle: Bundle) {
  const digest = manifestDigest(sha256, bundle.manifest);
  return await stageArchive(store, chunksOf(await archiveOf(bundle)), { digest });
}

/** Every generation that has a name is whole, and both pointers name one that is there. */
async function assertSound(store: Store) {
  const present = await listGenerations(store);
  assert.ok(!("kind" in present));
  for (const digest of present) assert.equal(await refuseDamaged(store, digest), null);
  const pointers = await readPointers(store);
  assert.ok(!("kind" in pointers), "a pointer is damaged");
  for (const one of [pointers.current, pointers.previous]) {
    assert.ok(one === null || present.includes(one), "a pointer names nothing");
  }
  return { present, ...pointers };
}

Deno.test("moments: dying at any moment of staging, twice, leaves nothing with a name but whole", async () => {
  const moments = await everyMoment(async (disk) => {
    const store = storeOn(disk);
    await assertSound(store);
    const staged = await stage(store, A);
    assert.equal(staged.kind, "stored", JSON.stringify(staged));
    assert.deepEqual((await assertSound(store)).present, [a]);
    assert.deepEqual([...disk.contents.keys()].filter((path) => path.includes("/.")), []);
  }, 2);
  assert.equal(moments, 5 * 2 + 3 * 3); // four directories and a move, three files
});

Deno.test("moments: dying at any moment of a switch and its clearing leaves the old or the new", async () => {
  const moments = await everyMoment(async (disk, { deaths }) => {
    const store = storeOn(disk);
    if (deaths.length === 0 || (await assertSound(store)).current === null) {
      await stage(store, A);
      await switchTo(store, a);
    }
    const before = await assertSound(store);
    assert.ok(before.current === a || before.current === b || before.current === c);
    if (before.current === a) {
      await stage(store, B);
      await switchTo(store, b);
    }
    await stage(store, C);
    const switched = await switchTo(store, c);
    assert.ok(!("kind" in switched), JSON.stringify(switched));
    const cleared = await retire(store, []);
    assert.equal(cleared.kind, "retired");
    const after = await assertSound(store);
    assert.deepEqual([after.current, after.previous], [c, b]);
    assert.deepEqual(after.present, [b, c].sort());
    assert.deepEqual([...disk.contents.keys()].filter((path) => path.includes("/.")), []);
  });
  assert.ok(moments > 60, `${moments}`);
});

Deno.test("moments: a disk that is full from any write on leaves what was there", async () => {
  for (let spared = 0;; spared++) {
    const disk = new FakeDisk();
    disk.contents.set("/disk", { kind: "directory" });
    const store = storeOn(disk);
    await stage(store, A);
    await switchTo(store, a);
    let writes = 0;
    const files = {
      ...disk.files,
      replaceFile: (...args: Parameters<typeof disk.files.replaceFile>) => {
        disk.full = writes++ >= spared;
        return disk.files.replaceFile(...args);
      },
    };
    const limited = { ...store, ports: { ...store.ports, files } };
    const staged = await stage(limited, B);
    const switched = staged.kind === "stored" ? await switchTo(limited, b) : staged;
    disk.full = false;
    if (!("kind" in switched)) {
      assert.equal(spared, 5); // manifest, two files, previous, current
      return;
    }
    assert.equal(switched.code, "store_no_space");
    assert.equal((await assertSound(store)).current, a);
    await stage(store, B);
    assert.deepEqual(await switchTo(store, b), { current: b, previous: a });
  }
});

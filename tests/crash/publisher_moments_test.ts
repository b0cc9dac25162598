import assert from "node:assert/strict";
import { openEnvelope } from "../../lib/adoption/envelope.ts";
import type { Files } from "../../lib/core/files.ts";
import { sha256 } from "../../lib/host/digest.ts";
import { everyMoment } from "../../lib/testing/every_moment.ts";
import { Died, FakeDisk, type FakeFile } from "../../lib/testing/fake_disk.ts";
import { fakeDirectories } from "../../lib/testing/fake_directories.ts";
import { FakeClock } from "../../lib/testing/fake_clock.ts";
import { FakeDownload } from "../../lib/testing/fake_download.ts";
import { addKey, loadKeyring, retireKey } from "../../roles/publisher/keyring.ts";
import { pointerPath } from "../../roles/publisher/layout.ts";
import type { PublisherPorts } from "../../roles/publisher/ports.ts";
import { publish, withdraw } from "../../roles/publisher/publish.ts";
import {
  look,
  publishAsk,
  publisherConfig,
  treeFiles,
  trustOfRig,
} from "../fixtures/publisher_rig.ts";

const config = publisherConfig("/disk/root", "/keys");
const clock = new FakeClock();

function portsOn(disk: FakeDisk): PublisherPorts {
  return {
    files: disk.files,
    directories: fakeDirectories(disk),
    tryLock: disk.tryLock,
    clock,
    sha256,
    download: new FakeDownload(),
    run: () => Promise.reject(new Error("nothing is run here")),
    progress: () => {},
  };
}

/** Keys and two trees, as they lie on every disk below. */
async function given(): Promise<ReadonlyMap<string, FakeFile>> {
  const disk = new FakeDisk();
  const added = await addKey(portsOn(disk), config.keys, true);
  assert.ok(!("kind" in added), JSON.stringify(added));
  for (const [rev, n] of [["aaa", 1], ["bbb", 2]] as const) {
    for (const [name, text] of Object.entries(treeFiles(rev, n))) {
      const bytes = new TextEncoder().encode(text);
      disk.contents.set(`/tree-${rev}/${name}`, { kind: "file", bytes, mode: 0o644 });
    }
  }
  return disk.contents;
}

const GIVEN = await given();
const trust = await (async () => {
  const disk = new FakeDisk();
  for (const [path, file] of GIVEN) disk.contents.set(path, file);
  return await trustOfRig(portsOn(disk), config);
})();

/** Every payload that was ever on its way to the disk, by its number, per disk. */
const signed = new WeakMap<FakeDisk, Map<number, string>>();

/** Notes what is about to become the pointer, also when it never does. */
function watched(disk: FakeDisk): Files {
  const seen = signed.get(disk) ?? new Map<number, string>();
  signed.set(disk, seen);
  return {
    ...disk.files,
    replaceFile: async (path, bytes, mode) => {
      if (path === pointerPath(config.root, "gpu-a")) {
        const opened = await openEnvelope(bytes, trust, clock.now());
        assert.equal(opened.kind, "opened");
        if (opened.kind === "opened") {
          const { payload: { sequence }, payloadDigest } = opened;
          assert.equal(
            seen.get(sequence) ?? payloadDigest,
            payloadDigest,
            "one number, two payloads",
          );
          seen.set(sequence, payloadDigest);
        }
      }
      return await disk.files.replaceFile(path, bytes, mode);
    },
  };
}

Deno.test("crash, publisher: at every moment the pointer is whole, and no number comes twice", async () => {
  const moments = await everyMoment(async (disk, { deaths }) => {
    for (const [path, file] of GIVEN) if (!disk.contents.has(path)) disk.contents.set(path, file);
    // Whatever the death left: the old pointer or the new one, and every byte it names.
    const before = await look(disk.files, config, trust, "gpu-a", null, clock.now() + 600_000);
    // Each life is later than the one before, so that two payloads with one number would differ.
    const now = () => clock.now() + deaths.length * 60_000;
    const later = { now, monotonic: () => 0, sleep: () => Promise.resolve() };
    const ports = { ...portsOn(disk), files: watched(disk), clock: later };
    const steps = [
      () => publish(ports, config, publishAsk("/tree-aaa", "aaa", ANYWAY)),
      () => withdraw(ports, config, "gpu-a", null),
      () => publish(ports, config, publishAsk("/tree-bbb", "bbb", ANYWAY)),
    ];
    let floor = before?.floor ?? null;
    for (const step of steps) {
      const outcome = await step();
      assert.notEqual(outcome.kind, "refused", JSON.stringify(outcome));
      const offer = await look(disk.files, config, trust, "gpu-a", floor, now());
      assert.ok(offer !== null && offer.floor.sequence > (floor?.sequence ?? 0));
      floor = offer.floor;
    }
    assert.equal(
      (await look(disk.files, config, trust, "gpu-a", floor, now()))?.payload.rev.id,
      "bbb",
    );
    if (deaths.length === 0) assert.equal(floor?.sequence, 3);
  });
  // A step that is left out, or a new one, shows here.
  assert.equal(moments, MOMENTS);
});

const ANYWAY = { reinstate: true, allowDowngradeFrom: ["aaa", "bbb"] };
/** Three pointers: their blobs, numbers and renames. */
const MOMENTS = 57;

Deno.test("publisher, disk full: nothing moves, and it goes on once there is room", async () => {
  const disk = new FakeDisk();
  for (const [path, file] of GIVEN) disk.contents.set(path, file);
  const ports = portsOn(disk);
  assert.equal((await publish(ports, config, publishAsk("/tree-aaa", "aaa"))).kind, "published");
  disk.full = true;
  for (
    const act of [
      () => publish(ports, config, publishAsk("/tree-bbb", "bbb")),
      () => withdraw(ports, config, "gpu-a", null),
    ]
  ) {
    const outcome = await act();
    assert.equal(outcome.kind === "refused" && outcome.code, "publisher_no_space");
    const offer = await look(disk.files, config, trust, "gpu-a", null, clock.now());
    assert.equal(offer?.payload.rev.id, "aaa");
  }
  disk.full = false;
  assert.equal((await publish(ports, config, publishAsk("/tree-bbb", "bbb"))).kind, "published");
});

Deno.test("crash, publisher: keys are made, joined and retired, and each moment leaves all or none", async () => {
  const moments = await everyMoment(async (disk) => {
    const ports = portsOn(disk);
    const found = async () => {
      const keyring = await loadKeyring(ports, "/disk/keys");
      if (keyring.kind === "refused") {
        assert.equal(keyring.code, "keys_absent");
        return [];
      }
      assert.ok(keyring.signing.length > 0, "nobody can sign any more");
      return keyring.facts;
    };
    if ((await found()).length === 0) {
      assert.ok(!("kind" in await addKey(ports, "/disk/keys", true)));
    }
    if ((await found()).length === 1) {
      assert.ok(!("kind" in await addKey(ports, "/disk/keys", false)));
    }
    const keys = await found();
    assert.equal(keys.length, 2);
    if (keys.every(({ state }) => state === "signing")) {
      assert.ok(!("kind" in await retireKey(ports, "/disk/keys", keys[0]?.id ?? "")));
    }
    const left = await found();
    assert.deepEqual(left.map(({ state }) => state).sort(), ["retired", "signing"]);
  });
  assert.equal(moments, 13);
});

Deno.test("publisher: a death is a death, no refusal", async () => {
  const disk = new FakeDisk();
  for (const [path, file] of GIVEN) disk.contents.set(path, file);
  disk.dieAt(5);
  await assert.rejects(publish(portsOn(disk), config, publishAsk("/tree-aaa", "aaa")), Died);
});

import assert from "node:assert/strict";
import type { BlobFault } from "../../lib/core/download.ts";
import { stage } from "../../roles/adopter/verbs/stage.ts";
import { adopterRig, hostPorts, type HostRig } from "../support/adopter_rig.ts";

/** Everything that lasts is stale at once. */
function impatient(host: HostRig): void {
  host.config = { ...host.config, policy: { ...host.config.policy, stale_after_hours: 1e-6 } };
}

Deno.test("adoption, faults: waiting is fine, and loud when it lasts", async () => {
  await using rig = await adopterRig();
  const host = await rig.host();
  await rig.publish("one");
  await host.all();
  await rig.publish("two");
  await host.set("busy");
  assert.equal((await host.all()).code, "gates_not_clear");
  assert.equal(await host.marker(), null);
  impatient(host);
  const loud = await host.adopt();
  assert.deepEqual(
    [loud.exit, loud.code],
    [0, "gates_not_clear"],
    "still no failure of the candidate",
  );
  assert.match(await host.marker() ?? "", /code: waited_too_long\n[\s\S]*load exit_1/);
  await host.unset("busy");
  assert.equal((await host.adopt()).code, "proven");
  assert.equal(await host.marker(), null);
});

Deno.test("adoption, faults: a silent publisher changes nothing, and is loud when it lasts", async () => {
  await using rig = await adopterRig();
  const host = await rig.host();
  await rig.publish("one");
  await host.all();
  await rig.stop();
  assert.deepEqual([(await host.offer()).exit, (await host.offer()).code], [0, "fetch-failed"]);
  assert.equal(await host.marker("anvil-adopter-stage"), null);
  impatient(host);
  assert.equal((await host.offer()).exit, 0);
  assert.match(await host.marker("anvil-adopter-stage") ?? "", /code: publisher_silent/);
  assert.equal(await host.running(), "one");
});

Deno.test("adoption, faults: what goes wrong while staging has its class, and nothing that runs is touched", async () => {
  for (
    const [code, cls, exit] of [
      ["blob_no_space", "environment", 1],
      ["fetch-failed", "environment", 0],
      ["blob_absent", "environment", 0],
      ["blob_digest_wrong", "integrity", 1],
    ] as const
  ) {
    await using rig = await adopterRig();
    const host = await rig.host();
    await rig.publish("one");
    await host.all();
    await rig.publish("two");
    await host.offer();
    const real = hostPorts(host.folder).download;
    const cause = "a test";
    host.more = {
      download: {
        document: (ask) => real.document(ask),
        head: (ask) => real.head(ask),
        close: () => {},
        blob: () =>
          Promise.resolve({ kind: "refused", code: code satisfies BlobFault, detail: code, cause }),
      },
    };
    const staged = await host.stage();
    assert.deepEqual([staged.exit, staged.code], [exit, code]);
    const { rejected } = await host.slots();
    assert.deepEqual(rejected.map((one) => [one.class, one.code]), [[cls, code]]);
    assert.equal(await host.running(), "one");
    assert.equal(await host.marker("anvil-adopter-stage") !== null, exit === 1, code);
    // The bytes were not looked at again by a timer at once; a person may, and then it is fine.
    host.more = {};
    real.close();
    assert.equal((await host.stage()).code, "rejected");
    const again = await host.verb(
      (adopter) => stage(adopter, () => {}),
      "person",
    );
    assert.equal(again.code, "staged", code);
    assert.equal(await host.marker("anvil-adopter-stage"), null);
  }
});

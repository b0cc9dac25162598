import assert from "node:assert/strict";
import { candidateOf } from "../../lib/adoption/candidate.ts";
import { FakeBackend, FakeWorld } from "../../lib/testing/fake_backend.ts";
import { FakeDisk } from "../../lib/testing/fake_disk.ts";
import { rollback } from "../../roles/adopter/verbs/rollback.ts";
import { adopterRig, type HostRig } from "../support/adopter_rig.ts";

/** A host that boots: the backend is the fake one, all else is real. */
async function bootingHost(rig: Awaited<ReturnType<typeof adopterRig>>) {
  const host = await rig.host();
  const world = new FakeWorld();
  // Its pointer and units are the fake world's: the probe reads what that runs.
  host.more = { backend: () => new FakeBackend(world, new FakeDisk(), "by_itself") };
  const kernel = async (rev: string, name: string) => {
    await rig.publish(rev);
    const offer = await rig.look();
    assert.ok(offer !== null);
    const { id } = candidateOf(offer);
    world.generations.set(id, { whole: true, kernel: name });
    return id;
  };
  await Deno.writeTextFile(`${host.folder}/running`, "fine\n");
  return { host, world, kernel };
}

function policy(host: HostRig, reboot: "notify" | "idle" | "never"): void {
  host.config = { ...host.config, policy: { ...host.config.policy, reboot } };
}

Deno.test("adoption, boot: a kernel is a pending record, told by the host's policy, and proven after", async () => {
  await using rig = await adopterRig();
  const { host, world, kernel } = await bootingHost(rig);
  const id = await kernel("one", "k2");
  const installed = await host.all();
  assert.deepEqual([installed.exit, installed.code], [0, "reboot_required"]);
  assert.equal(world.current, "old", "nothing that runs was touched");
  assert.equal((await host.summary()).pending_boot?.path, id);
  assert.equal((await host.summary()).state, "waiting-for-safe-window");
  policy(host, "never");
  assert.equal((await host.adopt()).code, "reboot_required");
  assert.deepEqual(
    [await host.marker(), world.reboots],
    [null, 0],
    "never is quiet, and boots nothing",
  );
  policy(host, "notify");
  assert.equal((await host.adopt()).code, "reboot_required");
  assert.match(await host.marker() ?? "", /code: reboot_required/);
  policy(host, "idle");
  await host.set("busy");
  assert.equal((await host.adopt()).code, "gates_not_clear");
  await host.unset("busy");
  assert.equal((await host.adopt()).code, "rebooting");
  assert.equal(world.reboots, 1);
  world.powerCycle();
  const proven = await host.adopt();
  assert.deepEqual([proven.exit, proven.code], [0, "proven"], JSON.stringify(proven));
  assert.equal((await host.summary()).pending_boot, null);
  assert.equal(await host.marker(), null);
});

Deno.test("adoption, boot: rollback while a boot is pending boots what runs, and takes nothing again", async () => {
  await using rig = await adopterRig();
  const { host, world, kernel } = await bootingHost(rig);
  const id = await kernel("one", "k2");
  assert.equal((await host.all()).code, "reboot_required");
  assert.equal(world.bootDefault, id);
  const back = await host.verb(
    (adopter) => rollback(adopter, null, { rules: [], why: "" }),
    "person",
  );
  assert.equal(back.code, "boot_cancelled", JSON.stringify(back));
  assert.equal(world.bootDefault, "old");
  assert.equal((await host.summary()).pending_boot, null);
  assert.equal((await host.stage()).code, "rejected");
});

Deno.test("adoption, boot: another generation booted is told, not guessed about", async () => {
  await using rig = await adopterRig();
  const { host, world, kernel } = await bootingHost(rig);
  await kernel("one", "k2");
  await host.all();
  world.bootDefault = "old";
  world.powerCycle();
  const other = await host.adopt();
  assert.deepEqual([other.exit, other.code], [1, "other_generation_booted"]);
  assert.match(await host.marker() ?? "", /code: other_generation_booted/);
});

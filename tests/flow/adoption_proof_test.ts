import assert from "node:assert/strict";
import { plan } from "../../roles/adopter/verbs/plan.ts";
import { rollback } from "../../roles/adopter/verbs/rollback.ts";
import { unreject } from "../../roles/adopter/verbs/say.ts";
import { publish } from "../../roles/publisher/publish.ts";
import { publishAsk } from "../fixtures/publisher_rig.ts";
import { adopterRig, type HostRig } from "../support/adopter_rig.ts";

/** A host that came up by bootstrap with `rev`, which is also what is offered. */
async function bootstrapped(rig: Awaited<ReturnType<typeof adopterRig>>, rev: string) {
  const host = await rig.host();
  const target = await rig.publish(rev);
  assert.ok(target?.kind === "bundle");
  await rig.bootstrap(host, target.digest);
  return { host, path: target.digest };
}

function policy(host: HostRig, adopt: "rolling" | "stage-only" | "none"): void {
  host.config = { ...host.config, policy: { ...host.config.policy, adopt } };
}

const restarts = (host: HostRig) =>
  Deno.readTextFile(`${host.folder}/restarts`).then((text) => text.trim().split("\n"), () => []);

async function kinds(host: HostRig): Promise<readonly (readonly [string, string])[]> {
  const { receipts } = JSON.parse(
    await Deno.readTextFile(`${host.folder}/state/receipts.json`),
  ) as { readonly receipts: readonly { readonly kind: string; readonly code: string }[] };
  return receipts.map(({ kind, code }) => [kind, code] as const);
}

Deno.test("adoption, proof: a bootstrapped host proves what it runs, by any policy, and touches nothing", async () => {
  await using rig = await adopterRig();
  const { host, path } = await bootstrapped(rig, "one");
  policy(host, "none");
  await host.set("busy");
  await host.offer();
  assert.deepEqual((await host.summary()).proven, null);
  const staged = await host.verb((adopter) => plan(adopter), "person");
  assert.equal(staged.code, "would_prove", JSON.stringify(staged));
  const before = await Deno.stat(`${host.folder}/store/current`);
  const proven = await host.adopt();
  assert.deepEqual([proven.exit, proven.code], [0, "proven"], JSON.stringify(proven));
  const summary = await host.summary();
  assert.equal(summary.current, path);
  assert.deepEqual([summary.proven?.path, summary.proven?.rev], [summary.current, "one"]);
  assert.deepEqual([summary.state, summary.current_rev], ["known-good", "one"]);
  const after = await Deno.stat(`${host.folder}/store/current`);
  assert.deepEqual([after.ino, after.mtime], [before.ino, before.mtime], "the pointer was written");
  await assert.rejects(() => Deno.stat(`${host.folder}/store/previous`), Deno.errors.NotFound);
  assert.deepEqual(await restarts(host), [], "a unit was restarted");
  assert.deepEqual((await kinds(host)).at(-1), ["known-good", "proven"]);
  assert.equal(await host.marker(), null);
  // Once is enough, and a pointer that is only refreshed changes nothing of it.
  assert.equal((await host.adopt()).code, "already_current");
  const tree = rig.dir.at("tree-one-gpu-a");
  const again = await publish(rig.ports, rig.config, publishAsk(tree, "one"));
  assert.equal(again.kind, "refreshed");
  assert.equal((await host.offer()).code, "offered");
  policy(host, "rolling");
  assert.equal((await host.stage()).code, "already_current");
  assert.equal((await host.adopt()).code, "already_current");
  assert.equal((await host.summary()).state, "known-good");
});

Deno.test("adoption, proof: what runs is bad and nothing was ever proven: loud, later again, and no way barred", async () => {
  await using rig = await adopterRig();
  const { host } = await bootstrapped(rig, "bad");
  const found = await host.all();
  assert.deepEqual([found.exit, found.code], [1, "current_not_good"], JSON.stringify(found));
  assert.equal(await host.running(), "bad");
  const summary = await host.summary();
  assert.deepEqual([summary.proven, summary.state], [null, "failed"]);
  assert.equal(summary.rejected[0]?.class, "environment");
  assert.match(await host.marker() ?? "", /code: current_not_good/);
  assert.deepEqual((await kinds(host)).at(-1), ["failed", "current_not_good"]);
  assert.equal((await host.adopt()).code, "rejected", "it is not tried again at once");
  // The cause was elsewhere and is mended: a person need not wait.
  await Deno.writeTextFile(`${host.folder}/running`, "mended\n");
  await host.verb((adopter) => unreject(adopter, summary.current ?? "", "mended"), "person");
  assert.equal((await host.adopt()).code, "proven");
  assert.equal(await host.marker(), null, "well again");
  // And another candidate is adopted as ever.
  await rig.publish("two");
  assert.equal((await host.all()).code, "proven");
  assert.equal(await host.running(), "two");
});

Deno.test("adoption, proof: bad, and another one is proven: back to that one, as the policy lets", async () => {
  await using rig = await adopterRig();
  const host = await rig.host();
  await rig.publish("one");
  assert.equal((await host.all()).code, "proven");
  const target = await rig.publish("bad");
  assert.ok(target?.kind === "bundle");
  await rig.bootstrap(host, target.digest);
  policy(host, "stage-only");
  const told = await host.all();
  assert.deepEqual([told.exit, told.code], [1, "current_not_good"], JSON.stringify(told));
  assert.match(told.detail, /one was proven last/);
  assert.equal(await host.running(), "bad", "a timer moved what it may not");
  const id = target.digest;
  const again = () => host.verb((adopter) => unreject(adopter, id, "a test"), "person");
  // Busy: known to be bad, and nothing is cut for it.
  policy(host, "rolling");
  await again();
  await host.set("busy");
  const waits = await host.adopt();
  assert.deepEqual([waits.exit, waits.code], [1, "current_not_good"], JSON.stringify(waits));
  assert.match(waits.detail, /going back waits: .*load exit_1/);
  assert.equal(await host.running(), "bad");
  await host.unset("busy");
  await again();
  const back = await host.adopt();
  assert.deepEqual([back.exit, back.code], [1, "current_not_good"], JSON.stringify(back));
  assert.equal(await host.running(), "one");
  const summary = await host.summary();
  assert.equal(summary.current, summary.proven?.path);
  assert.deepEqual(summary.rejected.map((one) => [one.id, one.class]), [[id, "candidate"]]);
  assert.match(await host.marker() ?? "", /code: current_not_good/);
  assert.deepEqual((await kinds(host)).at(-1), ["rolled-back", "current_not_good"]);
  // It is not taken again.
  assert.equal((await host.stage()).code, "rejected");
  assert.equal(await host.running(), "one");
});

Deno.test("adoption, proof: good, and rollback leads to what was proven before", async () => {
  await using rig = await adopterRig();
  const host = await rig.host();
  await rig.publish("one");
  assert.equal((await host.all()).code, "proven");
  const target = await rig.publish("two");
  assert.ok(target?.kind === "bundle");
  await rig.bootstrap(host, target.digest);
  assert.equal((await host.all()).code, "proven");
  assert.equal((await host.summary()).proven?.rev, "two");
  assert.equal((await restarts(host)).length, 1, "only the first adoption restarted anything");
  const back = await host.verb(
    (adopter) => rollback(adopter, null, { rules: [], why: "" }),
    "person",
  );
  assert.equal(back.code, "proven", JSON.stringify(back));
  assert.equal(await host.running(), "one");
});

Deno.test("adoption, proof: a timer without a probe blesses nothing, a person may", async () => {
  await using rig = await adopterRig();
  const { host } = await bootstrapped(rig, "one");
  policy(host, "stage-only");
  host.config = { ...host.config, probes: [] };
  await host.offer();
  assert.equal((await host.adopt()).code, "policy");
  assert.equal((await host.summary()).proven, null);
  assert.equal((await host.adopt("person")).code, "proven");
});

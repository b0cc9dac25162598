import assert from "node:assert/strict";
import { rollback } from "../../roles/adopter/verbs/rollback.ts";
import { plan } from "../../roles/adopter/verbs/plan.ts";
import { pause, resume, unreject } from "../../roles/adopter/verbs/say.ts";
import { adopt } from "../../roles/adopter/verbs/adopt.ts";
import { publish, withdraw } from "../../roles/publisher/publish.ts";
import { pointerPath } from "../../roles/publisher/layout.ts";
import { publishAsk } from "../fixtures/publisher_rig.ts";
import { adopterRig } from "../support/adopter_rig.ts";

Deno.test("adoption: a good candidate is offered, staged, adopted, proven, and then a no-op", async () => {
  await using rig = await adopterRig();
  const host = await rig.host();
  assert.equal((await host.offer()).code, "no-candidate");
  await rig.publish("one");
  const first = await host.all();
  assert.equal(first.code, "proven", JSON.stringify(first));
  assert.equal(await host.running(), "one");
  const again = await host.all();
  assert.deepEqual([again.exit, again.code], [0, "already_current"]);
  await rig.publish("two");
  assert.equal((await host.all()).code, "proven");
  assert.equal(await host.running(), "two");
  const summary = await host.summary();
  assert.equal(summary.state, "known-good");
  assert.equal(summary.current_rev, "two");
  assert.equal(await host.marker(), null);
  // Staging restarted nothing, adopting once each.
  assert.equal((await Deno.readTextFile(`${host.folder}/restarts`)).trim().split("\n").length, 2);
});

Deno.test("adoption: one host's failed build does not hold the other back, nor bless it", async () => {
  await using rig = await adopterRig();
  const a = await rig.host("gpu-a");
  const b = await rig.host("gpu-b");
  for (const host of ["gpu-a", "gpu-b"]) await rig.publish("one", host);
  assert.equal((await a.all()).code, "proven");
  assert.equal((await b.all()).code, "proven");
  // The build of gpu-a fails: nothing is published for it. gpu-b goes on alone.
  const broken = await publish(rig.ports, rig.config, publishAsk(rig.dir.at("absent"), "two"));
  assert.equal(broken.kind, "refused");
  await rig.publish("two", "gpu-b");
  assert.equal((await b.all()).code, "proven");
  assert.equal((await a.all()).code, "already_current");
  assert.deepEqual([await a.running(), await b.running()], ["one", "two"]);
  for (const host of [a, b]) assert.equal((await host.summary()).state, "known-good");
});

Deno.test("adoption: a busy host defers durably, with every reason, and goes on when it is clear", async () => {
  await using rig = await adopterRig();
  const host = await rig.host();
  await rig.publish("one");
  assert.equal((await host.all()).code, "proven");
  await rig.publish("two");
  await host.set("busy");
  for (let times = 0; times < 3; times++) {
    const busy = await host.all();
    assert.deepEqual([busy.exit, busy.code], [0, "gates_not_clear"], JSON.stringify(busy));
  }
  const waiting = await host.summary();
  assert.equal(waiting.state, "waiting-for-safe-window");
  assert.deepEqual(waiting.blocked_by.map(({ gate, state }) => [gate, state]), [["load", "busy"]]);
  assert.equal(await host.running(), "one");
  assert.equal(await host.marker(), null, "busy is no failure");
  const receipts = JSON.parse(await Deno.readTextFile(`${host.folder}/state/receipts.json`));
  const deferred = receipts.receipts.filter(({ kind }: { kind: string }) => kind === "deferred");
  assert.deepEqual(deferred.map(({ count }: { count: number }) => count), [3]);
  await host.unset("busy");
  assert.equal((await host.adopt()).code, "proven");
  assert.equal((await host.summary()).blocked_by.length, 0);
});

Deno.test("adoption: a failed probe brings the earlier generation back, loudly, and is not tried again", async () => {
  await using rig = await adopterRig();
  const host = await rig.host();
  await rig.publish("one");
  await host.all();
  await rig.publish("bad");
  const rolled = await host.all();
  assert.deepEqual([rolled.exit, rolled.code], [1, "probe_failed"], JSON.stringify(rolled));
  assert.equal(await host.running(), "one");
  const summary = await host.summary();
  assert.equal(summary.state, "rolled-back");
  assert.equal(summary.proven?.rev, "one");
  const marker = await host.marker() ?? "";
  assert.match(marker, /^anvil-failure 1\nunit: anvil-adopter-activate\ncode: probe_failed\n/);
  const [rejected] = summary.rejected;
  assert.equal(rejected?.class, "candidate");
  // A timer does not take it again; a person may, by a flag of its own.
  assert.equal((await host.stage()).code, "rejected");
  await host.verb((adopter) => unreject(adopter, rejected?.id ?? "", "a test"), "person");
  assert.equal((await host.all()).code, "probe_failed");
  await rig.publish("two");
  assert.equal((await host.all()).code, "proven");
  assert.equal(await host.marker(), null, "well again");
});

Deno.test("adoption: rollback works with the publisher and the network gone", async () => {
  await using rig = await adopterRig();
  const host = await rig.host();
  await rig.publish("one");
  await host.all();
  await rig.publish("two");
  await host.all();
  await rig.stop();
  const away = await host.offer();
  assert.deepEqual([away.exit, away.code], [0, "fetch-failed"]);
  const back = await host.verb(
    (adopter) => rollback(adopter, null, { rules: [], why: "" }),
    "person",
  );
  assert.equal(back.exit, 0, JSON.stringify(back));
  assert.equal(await host.running(), "one");
  // The timer does not go forward again by itself.
  const later = await host.adopt();
  assert.equal(later.exit, 0);
  assert.equal(await host.running(), "one");
});

Deno.test("adoption: taken back while it waits, it is not adopted", async () => {
  await using rig = await adopterRig();
  const host = await rig.host();
  await rig.publish("one");
  await host.all();
  await rig.publish("two");
  await host.set("busy");
  await host.all();
  const taken = await withdraw(rig.ports, rig.config, "gpu-a", null);
  assert.notEqual(taken.kind, "refused", JSON.stringify(taken));
  await host.unset("busy");
  assert.equal((await host.offer()).code, "candidate_withdrawn");
  const after = await host.adopt();
  assert.equal(after.exit, 0);
  assert.equal(await host.running(), "one");
  assert.equal((await host.slots()).staged, null);
});

Deno.test("adoption: a tampered and a replayed pointer are refused by name, and marked", async () => {
  await using rig = await adopterRig();
  const host = await rig.host();
  await rig.publish("one");
  const path = pointerPath(rig.config.root, "gpu-a");
  const old = await Deno.readTextFile(path);
  await host.all();
  await rig.publish("two");
  const good = await Deno.readTextFile(path);
  await Deno.writeTextFile(
    path,
    good.replace(/"sig":"(.)/, (_, one) => `"sig":"${one === "A" ? "B" : "A"}`),
  );
  const tampered = await host.offer();
  assert.deepEqual([tampered.exit, tampered.code], [1, "signature_wrong"]);
  assert.match(await host.marker("anvil-adopter-stage") ?? "", /code: signature_wrong/);
  await Deno.writeTextFile(path, good);
  assert.equal((await host.offer()).code, "offered");
  assert.equal(await host.marker("anvil-adopter-stage"), null);
  await Deno.writeTextFile(path, old);
  assert.equal((await host.offer()).code, "replayed");
});

Deno.test("adoption: pause holds timers, not staging; policy holds timers, not people", async () => {
  await using rig = await adopterRig();
  const host = await rig.host();
  await rig.publish("one");
  await host.all();
  await rig.publish("two");
  await host.verb((adopter) => pause(adopter, "bench", null), "person");
  assert.equal((await host.all()).code, "paused");
  assert.equal((await host.adopt("person")).code, "paused");
  const looked = await host.verb(plan, "person");
  assert.equal(looked.code, "would_wait");
  assert.ok(looked.data !== null && "admission_code" in (looked.data as object));
  assert.ok(!("code" in (looked.data as object)), "a verb's own fields must not hide its code");
  await host.verb(resume, "person");
  host.config = { ...host.config, policy: { ...host.config.policy, adopt: "stage-only" } };
  assert.equal((await host.adopt()).code, "policy");
  const person = await host.verb(
    (adopter) => adopt(adopter, { rules: ["gates"], why: "a test" }),
    "person",
  );
  assert.equal(person.code, "proven");
  const receipts = await Deno.readTextFile(`${host.folder}/state/receipts.json`);
  assert.match(receipts, /despite gates: a test/);
});

Deno.test("adoption: a damaged journal stops everything and is told apart from an empty one", async () => {
  await using rig = await adopterRig();
  const host = await rig.host();
  await rig.publish("one");
  await host.all();
  const path = `${host.folder}/state/journal.jsonl`;
  const whole = await Deno.readTextFile(path);
  await Deno.writeTextFile(path, `${whole}{"torn`);
  assert.equal((await host.adopt()).code, "already_current", "a torn last line is no damage");
  const lines = whole.trimEnd().split("\n");
  await Deno.writeTextFile(path, `${[...lines.slice(0, 2), ...lines.slice(3)].join("\n")}\n`);
  await assert.rejects(() => host.adopt(), /journal_damaged/);
});

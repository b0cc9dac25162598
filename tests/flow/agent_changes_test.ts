import assert from "node:assert/strict";
import { digestOf as sha256Of, evidenceId } from "../../lib/evidence/evidence.ts";
import { FakeDisk } from "../../lib/testing/fake_disk.ts";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { type AgentRig, startAgentRig, type Told } from "../support/agent.ts";
import { namedIn } from "../support/change_evidence.ts";
import { ChangeWorld, servesOf } from "../support/change_world.ts";
import { until } from "../support/wait.ts";

const ROLES = { roles: ["serving"] } as const;

async function change(rig: AgentRig): Promise<Record<string, unknown> | null> {
  const { body } = await rig.call("mode.status", { input: {} });
  return (body["result"] as { change: Record<string, unknown> | null }).change;
}

function result(told: Told): Record<string, unknown> {
  assert.equal(told.status, 200, JSON.stringify(told.body));
  return told.body["result"] as Record<string, unknown>;
}

Deno.test("agent: a mode is looked at, entered, and left again, over HTTP", async () => {
  await using dir = await tempDir();
  const world = new ChangeWorld(new FakeDisk());
  await using rig = await startAgentRig(dir.path, [], { ...ROLES, serves: servesOf(world) });
  const wish = { mode: "studio" };
  const preview = result(
    await rig.call("mode.preview", { input: { ...wish, action: "enter" } }),
  );
  const dry = result(
    await rig.call("mode.enter", { input: wish, dry_run: true, confirm: true }),
  );
  assert.deepEqual(
    [dry["digest"], dry["steps"]],
    [preview["digest"], preview["steps"]],
    "a dry run is the plan",
  );
  assert.deepEqual(world.host.happened, [], "and does nothing");
  const unconfirmed = await rig.call("mode.enter", { input: wish }, { key: "enter-000" });
  assert.deepEqual([unconfirmed.status, unconfirmed.code], [428, "confirm_required"]);

  const confirmed = { input: wish, confirm: true };
  const entered = await rig.call("mode.enter", confirmed, { key: "enter-001" });
  assert.equal(result(entered)["change"], "000001-enter");
  assert.deepEqual(world.host.running, ["embed", "studio"]);
  const again = await rig.call("mode.enter", confirmed, { key: "enter-001" });
  assert.deepEqual([again.status, again.body["known"]], [200, true]);
  assert.deepEqual(world.host.happened, ["stop chat", "start studio"], "a key runs once");
  const twice = await rig.call("mode.enter", confirmed, { key: "enter-002" });
  assert.equal(result(twice)["change"], null, "it is in force already");

  const left = await rig.call("mode.leave", confirmed, { key: "leave-001" });
  assert.equal(result(left)["change"], "000002-leave");
  assert.deepEqual(world.host.running, ["chat", "embed"]);
});

Deno.test("agent: a change that is taken back is a failed run without an effect", async () => {
  await using dir = await tempDir();
  const world = new ChangeWorld(new FakeDisk());
  world.host.courses.set("studio", { serves: "org/impostor" });
  await using rig = await startAgentRig(dir.path, [], { ...ROLES, serves: servesOf(world) });
  const asked = { input: { mode: "studio" }, confirm: true };
  const told = await rig.call("mode.enter", asked, { key: "enter-001" });
  assert.deepEqual([told.status, told.code], [409, "change_returned"]);
  assert.match(String(told.body["detail"]), /identity_mismatch/);
  assert.equal(told.body["may_have_executed"], false);
  assert.deepEqual(world.host.running, ["chat", "embed"]);
  assert.equal((await change(rig))?.["state"], "returned");
});

Deno.test("agent: a stop leaves a change lying, a start goes on with it, the key tells the truth", async () => {
  await using dir = await tempDir();
  const world = new ChangeWorld(new FakeDisk());
  const starting = Promise.withResolvers<void>();
  {
    const rig = await startAgentRig(dir.path, [], {
      ...ROLES,
      serves: servesOf(world, () => {
        starting.resolve();
        return new Promise(() => {});
      }),
      toml: "[limits]\ndrain_seconds = 0\n",
    });
    const asked = { input: { mode: "studio" }, confirm: true };
    const told = rig.call("mode.enter", asked, { key: "enter-001" });
    await starting.promise;
    await rig[Symbol.asyncDispose]();
    assert.equal((await told).code, "change_interrupted");
  }
  assert.deepEqual(world.host.running, ["embed"], "in the middle");
  await using rig = await startAgentRig(dir.path, [], { ...ROLES, serves: servesOf(world) });
  await until(
    "the start went on",
    async () => (await change(rig))?.["state"] === "reached",
    60_000,
  );
  assert.deepEqual(world.host.running, ["embed", "studio"]);
  const asked = { input: { mode: "studio" }, confirm: true };
  const told = await rig.call("mode.enter", asked, { key: "enter-001" });
  assert.equal(told.code, "change_interrupted");
  assert.equal(told.body["may_have_executed"], true);
  const run = told.body["run"] as { readonly step: string };
  assert.match(run.step, /^000001-enter: start serve studio$/);
});

Deno.test("agent: a change that is cancelled turns back", async () => {
  await using dir = await tempDir();
  const world = new ChangeWorld(new FakeDisk());
  const starting = Promise.withResolvers<void>();
  let gate = new Promise<void>(() => {});
  await using rig = await startAgentRig(dir.path, [], {
    ...ROLES,
    serves: servesOf(world, () => {
      starting.resolve();
      return gate;
    }),
  });
  const asked = { input: { mode: "studio" }, confirm: true };
  const told = rig.call("mode.enter", asked, { key: "enter-001" });
  await starting.promise;
  const { body } = await rig.call("operations.list", { input: {} });
  const [run] = (body["result"] as { readonly runs: readonly { readonly id: string }[] }).runs;
  gate = Promise.resolve();
  assert.equal(
    (await rig.call("operations.cancel", { input: { run: run?.id } }, { key: "cancel-01" })).status,
    200,
  );
  await told;
  await until(
    "it is taken back",
    async () => (await change(rig))?.["state"] === "returned",
    60_000,
  );
  assert.deepEqual(world.host.running, ["chat", "embed"]);
});

Deno.test("agent: a promotion without a router, a manifest or a fresh plan is refused", async () => {
  await using dir = await tempDir();
  const world = new ChangeWorld(new FakeDisk());
  const evidence = await namedIn("gpu-a", world.serve("chat-next"));
  const wish = { alias: "llm.primary", config: "schema = 1\n", evidence };
  {
    await using rig = await startAgentRig(dir.path, [], ROLES);
    const told = await rig.call("promotion.plan", { input: wish });
    assert.equal(told.code, "topology_unknown");
    const no = await rig.call("router.config-validate", { input: { config: "x" } });
    assert.equal(no.code, "router_not_configured");
  }
  await using rig = await startAgentRig(dir.path, [], { ...ROLES, serves: servesOf(world) });
  assert.equal((await rig.call("promotion.plan", { input: wish })).code, "router_not_configured");
  const named = async (changed: typeof evidence) => {
    const told = await rig.call("promotion.plan", { input: { ...wish, evidence: changed } });
    return told.code;
  };
  const other = { ...evidence, document: evidence.document.replace("gpu-a", "gpu-b") };
  assert.equal(await named(other), "evidence_tampered");
  const text = `${JSON.stringify(JSON.parse(evidence.document), null, 1)}\n`;
  const bytes = new TextEncoder().encode(text);
  const spelled = { id: evidenceId(await sha256Of(bytes)), document: text };
  assert.equal(await named(spelled), "evidence_invalid");
  assert.equal(await named({ ...evidence, id: "ev-example" }), "input_invalid");
  const bare: Partial<typeof wish> = { ...wish };
  delete bare.evidence;
  assert.equal((await rig.call("promotion.plan", { input: bare })).code, "input_invalid");
  world.axes = { runtime: "native", availability: "opportunistic" };
  assert.equal((await rig.call("promotion.plan", { input: wish })).code, "promotion_ineligible");
  const apply = { input: { ...wish, plan: "0".repeat(64) }, confirm: true };
  assert.equal(
    (await rig.call("promotion.apply", apply, { key: "apply-001" })).code,
    "promotion_ineligible",
  );
  const resume = { input: { change: "000001-enter" }, confirm: true };
  assert.equal(
    (await rig.call("promotion.resume", resume, { key: "resume-01" })).code,
    "change_unknown",
  );
});

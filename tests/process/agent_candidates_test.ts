import assert from "node:assert/strict";
import { adopterRig, adopterToml } from "../support/adopter_rig.ts";
import { startAgentRig } from "../support/agent.ts";
import { roleWords } from "../support/role_process.ts";

Deno.test("candidates: every verb is one that the real adopter takes, in the name of who asked", async () => {
  await using rig = await adopterRig();
  const { folder } = await rig.host();
  const text = adopterToml(folder, rig.url)
    .replace('units = ["thing.service"]', "units = []")
    .replaceAll(/argv = \["\/bin\/sh".*\]/g, `argv = ["${folder}/probe"]`);
  await Deno.writeTextFile(`${folder}/probe`, "#!/bin/sh\nexit 0\n", { mode: 0o755 });
  await Deno.writeTextFile(`${folder}/adopter.toml`, text);
  const cache = Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno`;
  const program = [
    ...["env", "-C", folder, `DENO_DIR=${cache}`, Deno.execPath()],
    ...await roleWords("adopter", folder),
  ];
  const toml = `[adopter]\nconfig = "${folder}/adopter.toml"\noutside = []\n` +
    `program = ${JSON.stringify(program)}\n`;
  await using agent = await startAgentRig(`${folder}/agent`, [], { toml });
  let keys = 0;
  const call = async (verb: string, input: object = {}, dry_run = false) => {
    const told = await agent.call(
      `candidates.${verb}`,
      { input, confirm: true, dry_run },
      verb === "status" || dry_run ? {} : { key: `process-${++keys}-key` },
    );
    assert.equal(told.status, 200, `${verb}: ${JSON.stringify(told.body)}`);
    return told.body["result"] as Record<string, unknown>;
  };
  const proven = async () =>
    ((await call("status"))["proven"] as { rev: string } | null)?.rev ?? null;

  await rig.publish("one");
  assert.equal((await call("stage"))["code"], "staged");
  assert.equal((await call("adopt", {}, true))["would_adopt"], true);
  assert.equal(await proven(), null, "a dry run adopted");
  assert.equal((await call("adopt"))["code"], "proven");
  const second = await rig.publish("two");
  assert.equal((await call("stage"))["code"], "staged");
  assert.equal((await call("pause", { reason: "--timer", hours: 2 }))["code"], "paused");
  const { paused } = await call("status") as { paused: { by: string; reason: string } };
  assert.deepEqual([paused.by, paused.reason], ["agent:all", "--timer"]);
  const waits = await call("adopt");
  assert.deepEqual([waits["code"], (waits["reasons"] as unknown[]).length], ["paused", 1]);
  const over = await call("adopt", { despite: ["pause"], why: "it is short" });
  assert.deepEqual([over["code"], over["rev"]], ["proven", "two"]);
  assert.equal((await call("resume"))["code"], "resumed");

  assert.equal((await call("rollback", {}, true))["to"], null);
  const back = await call("rollback");
  assert.equal(back["code"], "proven", JSON.stringify(back));
  assert.ok(second?.kind === "bundle");
  const { rejected } = await call("status") as { rejected: { id: string; code: string }[] };
  assert.deepEqual(rejected.map(({ id, code }) => [id, code]), [
    [second.digest, "rolled_back_by_person"],
  ]);
  assert.equal(
    (await call("unreject", { id: second.digest, why: "it was me" }))["code"],
    "unrejected",
  );
  // Two at once: who comes second is told so, and nothing was done.
  const lock = await Deno.open(`${folder}/state/lock`, { read: true, write: true });
  await lock.lock(true);
  const busy = await agent.call(
    "candidates.resume",
    { input: {} },
    { key: "process-busy-key" },
  );
  lock.close();
  assert.deepEqual([busy.code, busy.body["may_have_executed"]], ["adopter_busy", false]);
});

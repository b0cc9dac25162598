import assert from "node:assert/strict";
import { agentQuestion, judgeAgent } from "../../lib/identity/agent_proof.ts";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { DOCKER } from "../fixtures/serves.ts";
import { startServesRig } from "../support/serves_rig.ts";

const PINNED = "example-org/example-8b";

Deno.test("serves.identity: what the agent answers is what a router judges by", async () => {
  await using dir = await tempDir();
  await using rig = await startServesRig(dir.path, DOCKER);
  const judged = async (port: number, pinned = PINNED) => {
    const told = await rig.agent.call("serves.identity", JSON.parse(agentQuestion(port)));
    assert.equal(told.status, 200, JSON.stringify(told.body));
    return judgeAgent(pinned, JSON.stringify(told.body));
  };
  assert.deepEqual(await judged(9999), {
    kind: "mismatch",
    observed: ["serves.toml declares nothing on port 9999"],
  });
  assert.deepEqual(await judged(8001), { kind: "mismatch", observed: [] }, "nobody listens");

  const up = await rig.agent.call("serves.up", { input: { serve: "primary" } }, {
    key: "key-of-identity-0",
  });
  assert.equal(up.status, 200, JSON.stringify(up.body));
  assert.deepEqual(await judged(8001), { kind: "match" });
  assert.deepEqual(await judged(8001, "another"), { kind: "mismatch", observed: [PINNED] });

  rig.host.silent = true;
  assert.equal((await judged(8001)).kind, "unparseable", "a silent runtime proves nothing");
  rig.host.silent = false;

  rig.host.crash("primary");
  rig.host.courses.set("primary", { serves: "another-org/another" });
  const opened = await rig.open();
  assert.ok(!("code" in opened));
  const [serve] = opened.serves;
  assert.ok(serve !== undefined);
  rig.host.run(serve);
  assert.deepEqual(await judged(8001), { kind: "mismatch", observed: ["another-org/another"] });

  rig.host.crash("primary");
  rig.host.courses.set("primary", { healthyAfterMs: null });
  rig.host.run(serve);
  assert.deepEqual(await judged(8001), { kind: "silent" });
});

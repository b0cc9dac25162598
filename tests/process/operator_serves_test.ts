import assert from "node:assert/strict";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { DOCKER } from "../fixtures/serves.ts";
import { TOKENS } from "../support/agent.ts";
import { dispatchRig } from "../support/dispatch.ts";
import { roleCommand } from "../support/role_process.ts";
import { startServesRig } from "../support/serves_rig.ts";
import { until } from "../support/wait.ts";

Deno.test("SIGINT while a serve starts: the truth in the pipe, and the start goes on", async () => {
  await using dir = await tempDir();
  await using agent = await startServesRig(dir.path, DOCKER);
  await using rig = await dispatchRig([["gpu-a", agent.agent.agent.port]], {
    "gpu-a": TOKENS.all,
  });
  let loaded = false;
  // As long as it takes until the command is over.
  agent.host.courses.set("primary", { healthyAfterMs: 6000 });
  const words = ["serves", "up", "primary", "--target", "host:gpu-a", ...rig.flags];
  await using child = (await roleCommand("operator", rig.folder.path, words)).spawn();
  const timer = setTimeout(() => child.kill("SIGKILL"), 30_000);
  const out = new Response(child.stdout).text();
  let err = "";
  for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) {
    err += text;
    if (loaded || !err.includes("primary: loading")) continue;
    loaded = true;
    child.kill("SIGINT");
  }
  const { code } = await child.status;
  clearTimeout(timer);
  assert.deepEqual([code, await out, loaded], [1, "", true], err);
  const [, run] =
    /next: anvil-operator op status --target host:gpu-a (run-[0-9a-f]{24})/.exec(err) ??
      [];
  assert.match(err, /interrupted: .*; the run goes on at the node without it/);
  assert.match(err, /gpu-a: may_have_executed\n$/);
  await until("the start is over", async () => {
    const { body } = await agent.agent.get(`/v1/operations/runs/${run}`);
    return body["state"] === "done";
  }, 20_000);
  assert.deepEqual(agent.host.running, ["primary"]);
});

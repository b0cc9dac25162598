import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { verifyAudit } from "../../lib/operation/audit_verify.ts";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { agentToml, lampOperation, startAgentRig, TOKENS } from "../support/agent.ts";
import { AgentProcess } from "../support/agent_process.ts";
import { runRole } from "../support/role_process.ts";
import { until, within } from "../support/wait.ts";

Deno.test("agent process: SIGTERM in the middle of an operation settles it; exit 0; the next start knows", async () => {
  await using dir = await tempDir();
  const process = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-A", "--frozen", "--quiet"],
      fileURLToPath(new URL("./agent_child.ts", import.meta.url)),
      dir.path,
    ],
    cwd: fileURLToPath(new URL("../../", import.meta.url)),
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  let out = "";
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of process.stdout) out += decoder.decode(chunk, { stream: true });
  })();
  const timer = setTimeout(() => process.kill("SIGKILL"), 60_000);
  const body = { input: { lamp: "a" } };
  const key = "key-00000001";
  try {
    await until("it listens", () => out.includes("\n"), 30_000);
    const asked = fetch(`${out.split("\n")[0]}/v1/operations/lamp.light`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${TOKENS.all}`,
        "x-anvil-node": "gpu-a",
        "content-type": "application/json",
        "idempotency-key": key,
      },
      body: JSON.stringify(body),
    });
    await until("the lamp is lit", () => out.includes("lit\n"));
    process.kill("SIGTERM");
    // Whoever waits is told the truth before the process goes.
    const answer = await within("the answer", asked, 20_000);
    const told = await answer.json();
    assert.deepEqual([answer.status, told.code, told.may_have_executed, told.run.step], [
      500,
      "operation_interrupted",
      true,
      "light",
    ]);
    const { code, signal } = await within("the end", process.status, 20_000);
    assert.deepEqual([code, signal], [0, null]);
  } finally {
    clearTimeout(timer);
    try {
      process.kill("SIGKILL");
    } catch {
      // It has ended, as it should.
    }
    await reading;
    await process.status;
  }
  const lamps = dir.at("lamps");
  const lamp = lampOperation(lamps, () => Promise.resolve());
  await using rig = await startAgentRig(dir.path, [lamp]);
  const again = await rig.call("lamp.light", body, { key });
  assert.deepEqual([again.code, again.body["may_have_executed"]], ["operation_interrupted", true]);
  assert.equal(await Deno.readTextFile(lamps), "a\n");
  assert.equal((await verifyAudit(dir.at("state/audit.jsonl"))).kind, "whole");
});

/** Holds the write lock of a database until its standard input ends. */
const HOLDER = `
import { DatabaseSync } from "node:sqlite";
const database = new DatabaseSync(Deno.args[0]);
database.exec("BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS held (x)");
console.log("held");
await Deno.stdin.read(new Uint8Array(1));
database.exec("ROLLBACK");
database.close();
`;

Deno.test("agent: a ledger that another process holds refuses mutations, not reads, and comes back", async () => {
  await using dir = await tempDir();
  await Deno.writeTextFile(dir.at("holder.js"), HOLDER);
  await Deno.writeTextFile(dir.at("lamps"), "");
  const lamp = lampOperation(dir.at("lamps"), () => Promise.resolve());
  await using rig = await startAgentRig(dir.path, [lamp]);
  const light = (key: string) => rig.call("lamp.light", { input: { lamp: "a" } }, { key });
  const holder = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", dir.at("holder.js"), dir.at("state/ledger.sqlite")],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const reader = holder.stdout.getReader();
  try {
    await within("the lock", reader.read(), 30_000);
    const no = await light("key-00000001");
    assert.deepEqual([no.code, no.body["may_have_executed"]], ["ledger_unavailable", false]);
    assert.equal((await rig.call("node.identity", {})).status, 200);
    assert.equal((await rig.call("operations.list", {})).status, 200);
  } finally {
    await holder.stdin.close();
    await reader.cancel();
    await holder.status;
  }
  assert.equal((await light("key-00000001")).status, 200);
  assert.equal(await Deno.readTextFile(dir.at("lamps")), "a\n");
});

Deno.test("agent process: a second one, a ledger of a later version, and one that is held", async () => {
  await using dir = await tempDir();
  await Deno.mkdir(dir.at("state"));
  await Deno.writeTextFile(dir.at("agent.toml"), agentToml());
  const flag = "--allow-unauthenticated-loopback";
  const refused = async () => {
    const { code, stderr } = await runRole("agent", dir.path, ["run", "agent.toml", flag]);
    return [code, /\b([a-z]+_[a-z_]+): /.exec(stderr)?.[1]];
  };
  const ledger = dir.at("state/ledger.sqlite");
  {
    await using agent = await AgentProcess.start(dir.path, [flag]);
    assert.deepEqual(await refused(), [1, "state_in_use"]);
    const health = await fetch(`${agent.url}/health`);
    await health.body?.cancel();
    assert.equal(health.status, 200);
    agent.kill("SIGTERM");
    assert.equal((await agent.finished).code, 0);
  }
  const { DatabaseSync } = await import("node:sqlite");
  const database = new DatabaseSync(ledger);
  database.exec("BEGIN IMMEDIATE");
  assert.deepEqual(await refused(), [1, "database_unavailable"]);
  database.exec("ROLLBACK; PRAGMA user_version = 99");
  database.close();
  assert.deepEqual(await refused(), [1, "database_too_new"]);
  const bytes = await Deno.readFile(ledger);
  bytes.fill(0x55, 4096, 8192);
  await Deno.writeFile(ledger, bytes);
  assert.deepEqual(await refused(), [1, "database_corrupt"]);
});

// needs: mount
import assert from "node:assert/strict";
import { systemClock } from "../../lib/host/clock.ts";
import { openDatabase } from "../../lib/host/sqlite.ts";
import { Ledger } from "../../lib/operation/ledger.ts";
import { LEDGER_MIGRATIONS } from "../../lib/operation/ledger_schema.ts";
import { verifyAudit } from "../../lib/operation/audit_verify.ts";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { missingFor } from "../../scripts/needs.ts";
import { type AgentRig, lampOperation, startAgentRig } from "../support/agent.ts";

const missing = missingFor(import.meta.url);

async function run(...argv: [string, ...string[]]): Promise<boolean> {
  const [program, ...args] = argv;
  const { success } = await new Deno.Command(program, { args, stderr: "null" }).output();
  return success;
}

/** Fills the disk to its last byte. */
async function fill(path: string): Promise<void> {
  using file = await Deno.open(path, { write: true, create: true });
  for (const size of [64 * 1024, 512, 1]) {
    for (;;) {
      try {
        if (await file.write(new Uint8Array(size)) === 0) break;
      } catch {
        break;
      }
    }
  }
}

async function codes(rig: AgentRig, key: string): Promise<unknown[]> {
  const lit = await rig.call("lamp.light", { input: { lamp: key } }, { key });
  const facts = await rig.call("node.facts", {});
  const tail = await rig.call("audit.tail", {});
  return [lit.code, lit.body["may_have_executed"] ?? null, facts.code, tail.code];
}

/** What a process that died leaves. */
function leaveRun(path: string): void {
  const opened = openDatabase(path, { migrations: LEDGER_MIGRATIONS });
  assert.ok(opened.kind === "open");
  using database = opened.database;
  const ledger = new Ledger(database, { clock: systemClock, epoch: "dead" });
  const subject = { principal: "all", operation: "lamp.light", node: "gpu-a", topology: null };
  ledger.claim("run-left", "key-left", { ...subject, input: { lamp: "l" } });
}

Deno.test({
  name: "real, agent: a full disk refuses every change, tells why, loses nothing, and is got over",
  ignore: missing.length > 0 || Deno.build.os !== "linux" || Deno.uid() !== 0,
  fn: async () => {
    await using dir = await tempDir();
    const disk = dir.at("state");
    await Deno.mkdir(disk);
    if (!await run("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk)) {
      console.log("skipped: a tmpfs cannot be mounted here");
      return;
    }
    const lamps = dir.at("lamps");
    await Deno.writeTextFile(lamps, "");
    let during = () => Promise.resolve();
    const lamp = lampOperation(lamps, (moment) => moment === "after_effect" ? during() : none());
    const none = () => Promise.resolve();
    try {
      {
        await using rig = await startAgentRig(dir.path, [lamp]);
        assert.deepEqual(await codes(rig, "key-before"), [null, null, null, null]);
        await fill(`${disk}/ballast`);
        // The last page of the audit may have room for a few records: then it is the ledger that says no.
        for (let n = 0, code: unknown; code !== "audit_unavailable"; n++) {
          const told = await rig.call("lamp.light", { input: { lamp: "x" } }, {
            key: `key-full-${n}`,
          });
          code = told.code;
          assert.ok(code === "ledger_unavailable" || code === "audit_unavailable", `${code}`);
          assert.equal(told.body["may_have_executed"], false);
          assert.ok(n < 50);
        }
        // No record, no act: nothing is begun. What people need to see why is answered.
        assert.deepEqual(await codes(rig, "key-full"), [
          ...["audit_unavailable", false],
          ...[null, "audit_unavailable"],
        ]);
        assert.equal((await rig.get("/health")).status, 200);
        assert.ok(rig.said.some((line) => line.startsWith("the audit cannot be written, nothing")));
        assert.equal(await Deno.readTextFile(lamps), "key-before\n");
        await Deno.remove(`${disk}/ballast`);
        assert.deepEqual(await codes(rig, "key-full"), [null, null, null, null]);
        // Full between effect and end: it may have run, says so, and is not run again.
        during = () => fill(`${disk}/ballast`);
        const lit = await rig.call("lamp.light", { input: { lamp: "c" } }, { key: "key-mid-run" });
        during = none;
        assert.equal(lit.body["may_have_executed"], true, JSON.stringify(lit.body));
        await Deno.remove(`${disk}/ballast`);
        const again = await rig.call("lamp.light", { input: { lamp: "c" } }, {
          key: "key-mid-run",
        });
        assert.equal(again.body["may_have_executed"], true, JSON.stringify(again.body));
        assert.equal((again.body["run"] as { state: string }).state, "failed");
        await fill(`${disk}/ballast`); // it stops cleanly on a full disk too
      }
      await fill(`${disk}/more`); // what closing the ledger gave back
      {
        // It starts on a full disk, to say so.
        await using rig = await startAgentRig(dir.path, [lamp]);
        assert.equal((await rig.get("/health")).status, 200);
        const no = await rig.call("lamp.light", { input: { lamp: "x" } }, {
          key: "key-start-full",
        });
        assert.deepEqual([no.status, no.body["may_have_executed"]], [503, false]);
      }
      await Deno.remove(`${disk}/ballast`);
      await Deno.remove(`${disk}/more`);
      leaveRun(`${disk}/ledger.sqlite`);
      await fill(`${disk}/ballast`);
      await fill(`${disk}/more`);
      // But not with a run to settle: what cannot be put on record is not passed over.
      await assert.rejects(
        startAgentRig(dir.path, [lamp]),
        /state_unwritable|database_unavailable/,
      );
      await Deno.remove(`${disk}/ballast`);
      await Deno.remove(`${disk}/more`);
      await using rig = await startAgentRig(dir.path, [lamp]);
      assert.deepEqual(await codes(rig, "key-after"), [null, null, null, null]);
      const left = await rig.call("lamp.light", { input: { lamp: "l" } }, { key: "key-left" });
      assert.equal(left.code, "operation_interrupted");
      const known = await rig.call("lamp.light", { input: { lamp: "key-full" } }, {
        key: "key-full",
      });
      assert.equal(known.body["known"], true);
      assert.equal(await Deno.readTextFile(lamps), "key-before\nkey-full\nc\nkey-after\n");
      assert.equal((await verifyAudit(`${disk}/audit.jsonl`)).kind, "whole");
    } finally {
      await run("umount", "-l", disk);
    }
  },
});

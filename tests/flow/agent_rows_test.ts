import assert from "node:assert/strict";
import { openDatabase } from "../../lib/host/sqlite.ts";
import { fingerprintOf } from "../../lib/operation/run_record.ts";
import { LEDGER_MIGRATIONS } from "../../lib/operation/ledger_schema.ts";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { lampOperation, startAgentRig } from "../support/agent.ts";

const ROWS = 100_000;
const input = { lamp: "a" };

/** As many runs as an agent has after years, the newest of them left running by one that died. */
function fill(path: string): void {
  const opened = openDatabase(path, { migrations: LEDGER_MIGRATIONS });
  assert.ok(opened.kind === "open");
  using database = opened.database;
  const subject = { principal: "all", operation: "lamp.light", node: "gpu-a", topology: null };
  const fingerprint = fingerprintOf({ ...subject, input });
  const ended = Date.now() - 1000;
  database.transaction(() => {
    for (let n = 0; n < ROWS; n++) {
      const last = n === ROWS - 1;
      database.run(
        `INSERT INTO runs (id, key, fingerprint, principal, operation, epoch, state, effect, result,
           started_at, ended_at) VALUES (?, ?, ?, 'all', 'lamp.light', 'dead', ?, ?, ?, ?, ?)`,
        ...[`run-${n}`, `key-of-run-${n}`, fingerprint, last ? "running" : "done"],
        ...[last ? "unknown" : "applied", last ? null : '{"lit":"a"}', ended, last ? null : ended],
      );
    }
    return null;
  });
}

Deno.test("agent: 100,000 rows: it starts, every key answers, and results go in small steps", async () => {
  await using dir = await tempDir();
  await Deno.mkdir(dir.at("state"));
  fill(dir.at("state/ledger.sqlite"));
  const lamp = lampOperation(dir.at("lamps"), () => Promise.resolve());
  await using rig = await startAgentRig(dir.path, [lamp]);
  const light = (key: string) => rig.call("lamp.light", { input }, { key });
  const oldest = await light("key-of-run-0");
  assert.deepEqual([oldest.body["known"], oldest.body["result"]], [true, { lit: "a" }]);
  assert.equal((await light(`key-of-run-${ROWS - 1}`)).code, "operation_interrupted");
  assert.equal((await light("key-of-a-new-one")).body["known"], false);
  // The first claim let go of a few results beyond the bound; the keys stay.
  const again = await light("key-of-run-0");
  assert.deepEqual([again.body["known"], again.body["result"]], [true, null]);
  assert.equal((await light("key-of-run-90000")).body["known"], true);
  const health = await rig.get("/health");
  assert.deepEqual(health.body["ledger"], { runs: ROWS + 1, running: 0 });
  const listed = await rig.call("operations.list", { input: { most: 1000 } });
  assert.equal((listed.body["result"] as { runs: unknown[] }).runs.length, 1000);
  assert.equal(await Deno.readTextFile(dir.at("lamps")), "a\n");
});

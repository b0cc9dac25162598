import assert from "node:assert/strict";
import { openDatabase } from "../host/sqlite.ts";
import { FakeClock } from "../testing/fake_clock.ts";
import { tempDir } from "../testing/temp_dir.ts";
import { Ledger, LEDGER_BOUNDS, type LedgerBounds } from "./ledger.ts";
import { LEDGER_MIGRATIONS } from "./ledger_schema.ts";

const SUBJECT = {
  principal: "ops",
  operation: "box.put",
  input: { text: "a" },
  node: "gpu-a",
  topology: "t1",
};

function open(path: string) {
  const opened = openDatabase(path, { migrations: LEDGER_MIGRATIONS });
  assert.ok(opened.kind === "open");
  return opened.database;
}

async function withLedger(
  run: (ledger: (epoch: string, bounds?: LedgerBounds) => Ledger, clock: FakeClock) => void,
): Promise<void> {
  await using dir = await tempDir();
  using database = open(dir.at("ledger.sqlite"));
  const clock = new FakeClock();
  run((epoch, bounds = LEDGER_BOUNDS) => new Ledger(database, { clock, epoch }, bounds), clock);
}

Deno.test("ledger: a key is bound to principal, operation, input, node and topology", async () => {
  await withLedger((ledger) => {
    const here = ledger("one");
    assert.equal(here.claim("r1", "key", SUBJECT).kind, "claimed");
    assert.equal(here.claim("r2", "key", SUBJECT).kind, "known");
    assert.equal(here.claim("r3", "key", { ...SUBJECT, input: { text: "a" } }).kind, "known");
    const others = [
      { principal: "other" },
      { operation: "box.take" },
      { input: { text: "b" } },
      { node: "gpu-b" },
      { topology: null },
    ];
    for (const other of others) {
      assert.equal(here.claim("r4", "key", { ...SUBJECT, ...other }).kind, "refused");
    }
    assert.equal(here.count().runs, 1);
    assert.equal(here.get("r1")?.state, "running");
  });
});

Deno.test("ledger: the running row of another epoch is settled by claim, get, list and boot alike", async () => {
  for (const see of ["claim", "get", "list", "boot"] as const) {
    await withLedger((ledger, clock) => {
      const before = ledger("before");
      before.claim("r1", "key", SUBJECT);
      before.step("r1", "write", "unknown");
      clock.jump(-86_400_000); // a day back: an epoch is no time
      const after = ledger("after");
      const seen = see === "claim"
        ? after.claim("r2", "key", SUBJECT)
        : see === "boot"
        ? { run: after.settleOthers()[0] }
        : { run: see === "get" ? after.get("r1") : after.list(5, null)[0] };
      assert.ok("run" in seen && seen.run, see);
      const { state, code, step, effect } = seen.run;
      assert.deepEqual([state, code, step, effect], [
        "failed",
        "operation_interrupted",
        "write",
        "unknown",
      ]);
      assert.throws(() => before.step("r1", "written", "applied"), /was settled/);
      assert.equal(before.settle("r1", { state: "done", result: 1 }).state, "failed");
    });
  }
});

Deno.test("ledger: endings say what is known of the world", async () => {
  await withLedger((ledger) => {
    const here = ledger("one");
    for (const id of ["a", "b", "c"]) here.claim(id, `key-${id}`, SUBJECT);
    here.step("b", "write", "applied");
    const no = { code: "no", detail: "No." };
    assert.equal(here.settle("a", { state: "done", result: { x: 1 } }).effect, "applied");
    assert.equal(here.settle("b", { state: "failed", ...no }).effect, "applied");
    assert.equal(here.settle("c", { state: "refused", ...no, effect: "none" }).effect, "none");
    assert.deepEqual(here.get("a")?.result, { x: 1 });
    assert.equal(here.settle("a", { state: "failed", ...no }).state, "done");
    assert.equal(here.get("nobody"), null);
    assert.deepEqual(here.list(2, "ops").map((run) => [run.id, run.result]), [["c", null], [
      "b",
      null,
    ]]);
    assert.deepEqual(here.list(2, "other"), []);
  });
});

Deno.test("ledger: results go by count and age, keys far later, and nothing is refused", async () => {
  await withLedger((ledger, clock) => {
    const bounds = { resultBytes: 10, results: 20, resultsMs: 1000, tombstones: 300 };
    const here = ledger("one", bounds);
    const rows = 1000;
    for (let i = 0; i < rows; i++) {
      assert.equal(here.claim(`r${i}`, `key-${i}`, SUBJECT).kind, "claimed");
      here.settle(`r${i}`, { state: "done", result: i });
    }
    assert.ok(here.count().runs <= 20 + 300 + 128, `${here.count().runs}`);
    assert.equal(here.get(`r${rows - 1}`)?.result, rows - 1);
    const old = here.get(`r${rows - 200}`);
    assert.deepEqual([old?.forgotten, old?.result, old?.state], [true, null, "done"]);
    assert.equal(here.claim("again", `key-${rows - 200}`, SUBJECT).kind, "known");
    assert.equal(here.get("r0"), null);
    clock.jump(5000);
    for (let i = 0; i < 64; i++) here.claim(`late${i}`, `late-${i}`, SUBJECT);
    assert.equal(here.get(`r${rows - 1}`)?.forgotten, true);
    assert.equal(here.get("late0")?.state, "running");
  });
});

Deno.test("ledger: a result beyond the bound is not kept, its ending is", async () => {
  await withLedger((ledger) => {
    const here = ledger("one", { ...LEDGER_BOUNDS, resultBytes: 4 });
    here.claim("r1", "k1", SUBJECT);
    here.claim("r2", "k2", SUBJECT);
    assert.equal(here.settle("r1", { state: "done", result: "ab" }).truncated, false);
    const cut = here.settle("r2", { state: "done", result: "äb" }); // five bytes with its quotes
    assert.deepEqual([cut.truncated, cut.result, cut.state], [true, null, "done"]);
  });
});

import assert from "node:assert/strict";
import type { Database } from "../host/sqlite.ts";
import { FakeClock } from "../testing/fake_clock.ts";
import { OperationRig, put } from "../testing/operation_rig.ts";
import { tempDir } from "../testing/temp_dir.ts";
import { openAudit } from "./audit.ts";
import { verifyAudit } from "./audit_verify.ts";

/** Which writes of the ledger wait for the disk, in order. */
function watched(database: Database): string[] {
  const seen: string[] = [];
  const [run, soon] = [database.run.bind(database), database.runSoon.bind(database)];
  const step = (sql: string, values: readonly unknown[]) =>
    /^UPDATE runs SET step/.test(sql) ? ` ${values[0]}` : ` ${/^\s*\w+/.exec(sql)?.[0].trim()}`;
  database.run = (sql, ...values) => {
    seen.push(`waits${step(sql, values)}`);
    return run(sql, ...values);
  };
  database.runSoon = (sql, ...values) => {
    seen.push(`soon${step(sql, values)}`);
    database.run = run;
    try {
      return soon(sql, ...values);
    } finally {
      database.run = (again, ...more) => {
        seen.push(`waits${step(again, more)}`);
        return run(again, ...more);
      };
    }
  };
  return seen;
}

Deno.test("durable: what could otherwise be told as less than it was waits for the disk", async () => {
  await using dir = await tempDir();
  using rig = await OperationRig.open({ folder: dir.path });
  await rig.runner.call(put("a", { key: "key-warm-up" })); // the sweep of a first claim
  const seen = watched(rig.database);
  await rig.runner.call(put("a"));
  assert.deepEqual(seen, ["waits INSERT", "waits run", "soon put", "soon put", "waits UPDATE"]);
  const subject = { principal: "p", operation: "o", input: 1, node: "n", topology: null };
  rig.ledger.claim("r1", "key-steps", subject);
  seen.length = 0;
  rig.ledger.step("r1", "run", "unknown");
  rig.ledger.step("r1", "stop a", "unknown"); // what `run` said, more exactly
  rig.ledger.step("r1", "stop b", "unknown"); // must not be told as `stop a`
  rig.ledger.step("r1", "stopped b", "applied");
  rig.ledger.step("r1", "start", "unknown"); // a new unknown
  assert.deepEqual(seen, [
    "waits run",
    "soon stop a",
    "waits stop b",
    "soon stopped b",
    "waits start",
  ]);
});

Deno.test("durable: an end that a power cut took from the audit is written by the next start", async () => {
  await using dir = await tempDir();
  const path = dir.at("audit.jsonl");
  {
    using rig = await OperationRig.open({ folder: dir.path });
    await rig.runner.call(put("a"));
    rig.course = "refuse";
    await rig.runner.call(put("b", { key: "key-00000002" }));
  }
  const lines = (await Deno.readTextFile(path)).trimEnd().split("\n");
  assert.equal(lines.length, 4);
  // Of the second call the end is lost; so is everything behind it, as in a file cut short.
  await Deno.writeTextFile(path, lines.slice(0, 3).join("\n") + "\n");
  {
    using rig = await OperationRig.open({ folder: dir.path, epoch: "epoch-2" });
    assert.deepEqual(rig.runner.recover(), []);
    assert.deepEqual(rig.runner.recover(), []);
    const ends = rig.audit.tail(9) as unknown as { phase: string; outcome: string; code: string }[];
    assert.deepEqual(ends.slice(2).map(({ phase, outcome, code }) => [phase, outcome, code]), [
      ["start", null, null],
      ["end", "refused", "box_full"],
    ]);
  }
  // A start whose claim is lost too: nothing was begun, and the key is free.
  await Deno.writeTextFile(path, lines[0] + "\n");
  const opened = await openAudit(path, new FakeClock());
  assert.ok(opened.kind === "open");
  const [start] = opened.audit.openStarts();
  assert.ok(start !== undefined);
  opened.audit.append({ ...start, call: "run-nobody-knows" }, true);
  opened.audit.close();
  using rig = await OperationRig.open({ folder: dir.path, epoch: "epoch-3" });
  rig.runner.recover();
  const codes = (rig.audit.tail(9) as unknown as { code: string | null }[]).map(({ code }) => code);
  assert.deepEqual(codes, [null, null, null, "operation_interrupted"]);
  assert.equal((await verifyAudit(path)).kind, "whole");
});

Deno.test("durable: an end that the ledger could not take is told as unsure, and written later", async () => {
  await using dir = await tempDir();
  using rig = await OperationRig.open({ folder: dir.path });
  const run = rig.database.run.bind(rig.database);
  rig.database.run = (sql, ...values) => {
    if (/SET state = 'done'/.test(sql)) throw new Error("the disk is full");
    return run(sql, ...values);
  };
  const answer = await rig.runner.call(put("a"));
  assert.ok(answer.kind === "refused" && answer.code === "ledger_unavailable");
  assert.equal(answer.mayHaveExecuted, true);
  const again = await rig.runner.call(put("a"));
  assert.ok(again.kind === "refused" && again.code === "ledger_unavailable" && !again.run);
  rig.database.run = run;
  const later = await rig.runner.call(put("a"));
  assert.ok(later.kind === "done" && later.known, JSON.stringify(later));
  assert.deepEqual(rig.world, ["a"]);
});

Deno.test("durable: a clock set back a day changes no answer and forgets nothing", async () => {
  await using dir = await tempDir();
  const clock = new FakeClock();
  using rig = await OperationRig.open({ folder: dir.path, clock });
  const calls = async (key: string) => {
    const answer = await rig.runner.call(put("a", { key }));
    return answer.kind === "done" ? answer.known : answer.code;
  };
  assert.equal(await calls("key-before"), false);
  clock.jump(-86_400_000);
  for (let n = 0; n < 130; n++) assert.equal(await calls(`key-after-${n}`), false); // two sweeps
  assert.equal(await calls("key-before"), true);
  const [newest] = rig.ledger.list(1, null);
  assert.equal(newest?.key, "key-after-129");
  const tail = rig.audit.tail(4) as unknown as { duration_ms: number | null }[];
  for (const { duration_ms } of tail) assert.ok(duration_ms === null || duration_ms >= 0);
  assert.equal((await verifyAudit(dir.at("audit.jsonl"))).kind, "whole");
});

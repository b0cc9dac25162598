/**
 * A mutation that dies at every moment there is, and what its key answers after the next start. The
 * moments are counted from what is written and done, so a new one cannot be forgotten.
 *
 * @module
 */

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import type { AuditRecord } from "../../lib/operation/audit_record.ts";
import { verifyAudit } from "../../lib/operation/audit_verify.ts";
import { OperationRig, put } from "../../lib/testing/operation_rig.ts";
import { type TempDir, tempDir } from "../../lib/testing/temp_dir.ts";
import { within } from "../support/wait.ts";

/** What the same key gives after the restart, what is known of the world, and what the world is. */
type Ending = readonly [
  answer: "runs now" | "interrupted" | "done before",
  effect: "none" | "unknown" | "applied",
  done: 0 | 1,
];

const FREE: Ending = ["runs now", "applied", 1];
const CLAIMED: Ending = ["interrupted", "none", 0];
const UNKNOWN: Ending = ["interrupted", "unknown", 0];
const ACTED: Ending = ["interrupted", "unknown", 1];
const KNOWN: Ending = ["interrupted", "applied", 1];
const DONE: Ending = ["done before", "applied", 1];

const ENDINGS: Readonly<Record<string, Ending>> = {
  "before audit start": FREE,
  "after audit start": FREE,
  "before claim": FREE,
  "after claim": CLAIMED,
  "before step run unknown": CLAIMED,
  "after step run unknown": UNKNOWN,
  "before step put unknown": UNKNOWN,
  "after step put unknown": UNKNOWN,
  "before the effect": UNKNOWN,
  "after the effect": ACTED,
  "before step put applied": ACTED,
  "after step put applied": KNOWN,
  "before settle": KNOWN,
  "after settle": DONE,
  "before audit end": DONE,
  "after audit end": DONE,
};

/** Processes at once. */
const AT_ONCE = 4;

async function child(dir: TempDir, number: number): Promise<{ signal: unknown; out: string }> {
  const command = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-A", "--frozen", "--quiet"],
      fileURLToPath(new URL("./agent_moments_child.ts", import.meta.url)),
      ...[dir.path, String(number)],
    ],
    cwd: fileURLToPath(new URL("../../", import.meta.url)),
    stdin: "null",
    stderr: "inherit",
  });
  const { signal, stdout } = await within("the child", command.output(), 60_000);
  return { signal, out: new TextDecoder().decode(stdout) };
}

async function after(dir: TempDir): Promise<Ending> {
  using rig = await OperationRig.open({ folder: dir.path, epoch: "second" });
  let done = (await Deno.readTextFile(dir.at("world")).catch(() => "")).split("\n").length - 1;
  rig.world.push = () => ++done;
  rig.runner.recover();
  const answers = [await rig.runner.call(put("a")), await rig.runner.call(put("a"))];
  const [first, second] = answers.map((answer) =>
    answer.kind === "done" ? (answer.known ? "done before" : "runs now") : answer.code
  );
  assert.equal(second, first === "runs now" ? "done before" : first, "the second answer differs");
  const run = answers[0]?.run;
  const records = rig.audit.tail(20) as unknown as AuditRecord[];
  for (const { phase, call } of records) {
    const ends = records.filter((one) => one.phase === "end" && one.call === call).length;
    if (phase === "start") assert.equal(ends, 1, "a start without its end");
  }
  const answer = first === "operation_interrupted" ? "interrupted" : first;
  return [answer, run?.effect, done] as unknown as Ending;
}

Deno.test("crash matrix: a mutation killed at every moment; its key answers truthfully, once", async () => {
  await using counted = await tempDir();
  const moments: string[] = JSON.parse((await child(counted, -1)).out);
  assert.deepEqual(moments, Object.keys(ENDINGS));
  assert.equal(moments.length, 16);
  const rows: string[] = [];
  const one = async (number: number, moment: string) => {
    await using dir = await tempDir();
    assert.equal((await child(dir, number)).signal, "SIGKILL", moment);
    const ending = await after(dir);
    assert.equal((await verifyAudit(dir.at("audit.jsonl"))).kind, "whole", moment);
    const [answer, effect, done] = ending;
    rows[number] = `${moment.padEnd(24)} ${answer.padEnd(12)} ${effect.padEnd(8)} ${done}`;
    assert.deepEqual(ending, ENDINGS[moment], moment);
  };
  for (let first = 0; first < moments.length; first += AT_ONCE) {
    const some = moments.slice(first, first + AT_ONCE);
    await Promise.all(some.map((moment, n) => one(first + n, moment)));
  }
  console.log(
    `a mutation killed (SIGKILL) at each of its ${moments.length} moments; after the next start:\n` +
      `${"killed".padEnd(24)} ${"its key".padEnd(12)} ${"effect".padEnd(8)} times done\n` +
      rows.join("\n"),
  );
});

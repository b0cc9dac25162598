/**
 * A full audit file moves away and the oldest goes: killed at every moment of it, the chain is whole
 * and no record is lost but the one that was never answered.
 *
 * @module
 */

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { systemClock } from "../../lib/host/clock.ts";
import { openAudit } from "../../lib/operation/audit.ts";
import { verifyAudit } from "../../lib/operation/audit_verify.ts";
import { type TempDir, tempDir } from "../../lib/testing/temp_dir.ts";
import { BOUNDS, EVENT } from "../support/small_audit.ts";
import { within } from "../support/wait.ts";

const MOMENTS = [
  ...["before move", "after move", "before fresh file", "after fresh file"],
  ...["before record pruned", "after record pruned", "before remove", "after remove"],
  ...["before record start", "after record start"],
];

/** Two full files and a live one that is full too: the next record moves it. */
async function prepare(dir: TempDir): Promise<number> {
  const path = dir.at("audit.jsonl");
  let records = 0;
  for (;;) {
    const opened = await openAudit(path, systemClock, BOUNDS);
    assert.ok(opened.kind === "open");
    opened.audit.append(EVENT, false);
    records++;
    opened.audit.close();
    const names = await Array.fromAsync(Deno.readDir(dir.path));
    if (names.length === 3 && (await Deno.stat(path)).size >= BOUNDS.fileBytes) return records;
    assert.ok(records < 50);
  }
}

async function child(dir: TempDir, number: number): Promise<{ signal: unknown; out: string }> {
  const command = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-A", "--frozen", "--quiet"],
      fileURLToPath(new URL("./audit_rotation_child.ts", import.meta.url)),
      ...[dir.path, String(number)],
    ],
    cwd: fileURLToPath(new URL("../../", import.meta.url)),
    stdin: "null",
    stderr: "inherit",
  });
  const { signal, stdout } = await within("the child", command.output(), 60_000);
  return { signal, out: new TextDecoder().decode(stdout) };
}

async function one(number: number, moment: string): Promise<void> {
  await using dir = await tempDir();
  const before = await prepare(dir);
  assert.equal((await child(dir, number)).signal, "SIGKILL", moment);
  const path = dir.at("audit.jsonl");
  for (let n = 0; n < 12; n++) { // over two more files
    const opened = await openAudit(path, systemClock, BOUNDS);
    assert.ok(opened.kind === "open", `${moment}: ${JSON.stringify(opened)}`);
    opened.audit.append(EVENT, true);
    opened.audit.close();
    const verdict = await verifyAudit(path);
    assert.ok(verdict.kind === "whole", `${moment}: ${JSON.stringify(verdict)}`);
    const last = verdict.from + verdict.records - 1;
    assert.ok(last >= before + 1 + n, `${moment}: a record is lost`);
  }
  const names = await Array.fromAsync(Deno.readDir(dir.path));
  assert.equal(names.length, 3, `${moment}: ${names.map(({ name }) => name)}`);
}

Deno.test("crash: an audit file that is full, killed at every moment of moving it away", async () => {
  await using dir = await tempDir();
  await prepare(dir);
  assert.deepEqual(JSON.parse((await child(dir, -1)).out), MOMENTS);
  assert.equal(MOMENTS.length, 10);
  for (let first = 0; first < MOMENTS.length; first += 4) {
    const some = MOMENTS.slice(first, first + 4);
    await Promise.all(some.map((moment, n) => one(first + n, moment)));
  }
  console.log(`an audit file moved away, killed at each of ${MOMENTS.length} moments: whole`);
});

import assert from "node:assert/strict";
import { systemClock } from "../host/clock.ts";
import { tempDir } from "../testing/temp_dir.ts";
import { openAudit, verifyAudit } from "./audit.ts";
import { type AuditEvent, hashOf } from "./audit_record.ts";
import { canonicalJson } from "../core/canonical_json.ts";

const EVENT: AuditEvent = {
  phase: "start",
  call: "run-1",
  principal: "ops",
  operation: "box.put",
  action: "apply",
  key: "key-00000001",
  target_digest: null,
  dry_run: false,
  outcome: null,
  code: null,
  duration_ms: null,
};

async function write(path: string, records: number): Promise<void> {
  const opened = await openAudit(path, systemClock);
  assert.ok(opened.kind === "open", JSON.stringify(opened));
  for (let i = 0; i < records; i++) {
    opened.audit.append({ ...EVENT, call: `run-${i}` }, i % 2 === 0);
  }
  opened.audit.close();
}

Deno.test("audit: whole across restarts, private, its newest records readable", async () => {
  await using dir = await tempDir();
  const path = dir.at("audit.jsonl");
  await write(path, 0);
  assert.equal((await verifyAudit(path)).kind, "whole");
  await write(path, 3);
  await write(path, 2);
  const verdict = await verifyAudit(path);
  assert.ok(verdict.kind === "whole" && verdict.records === 5);
  const opened = await openAudit(path, systemClock);
  assert.ok(opened.kind === "open");
  const tail = opened.audit.tail(2) as unknown as { readonly seq: number }[];
  assert.deepEqual(tail.map(({ seq }) => seq), [4, 5]);
  assert.equal((await openAudit(path, systemClock)).kind, "refused"); // one writer
  opened.audit.close();
  assert.equal(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o600);
});

Deno.test("audit: a flipped byte, a removed line, a reordered pair, a torn end: each found, where it is", async () => {
  await using dir = await tempDir();
  const path = dir.at("audit.jsonl");
  await write(path, 6);
  const whole = await Deno.readTextFile(path);
  const lines = whole.trimEnd().split("\n");
  const forged = { ...JSON.parse(lines[2] ?? ""), principal: "nobody" };
  const resealed = canonicalJson({ ...forged, hash: hashOf(forged) });
  const cases: [string, string, number, string][] = [
    ["a record sealed anew", whole.replace(lines[2] ?? "", resealed), 4, "audit_chain_broken"],
    ["a changed value", whole.replace("run-2", "run-9"), 3, "audit_record_changed"],
    ["a removed line", lines.toSpliced(2, 1).join("\n") + "\n", 3, "audit_chain_broken"],
    ["the first line removed", lines.slice(1).join("\n") + "\n", 1, "audit_chain_broken"],
    [
      "a reordered pair",
      [...lines.slice(0, 2), lines[3], lines[2], ...lines.slice(4)].join("\n") + "\n",
      3,
      "audit_chain_broken",
    ],
    ["a line twice", [lines[0], ...lines].join("\n") + "\n", 2, "audit_chain_broken"],
    ["a torn end", whole.slice(0, -1), 6, "audit_line_torn"],
    ["another spelling", whole.replace(",", ", "), 1, "audit_line_malformed"],
    ["a blank line", `${lines[0]}\n\n`, 2, "audit_line_malformed"],
  ];
  for (const [what, text, line, code] of cases) {
    await Deno.writeTextFile(path, text);
    assert.deepEqual(await verifyAudit(path), { kind: "broken", line, code }, what);
  }
});

Deno.test("audit: every flipped bit of a record is found", async () => {
  await using dir = await tempDir();
  const path = dir.at("audit.jsonl");
  await write(path, 2);
  const bytes = await Deno.readFile(path);
  for (let at = 0; at < bytes.length; at += 7) {
    const bent = bytes.slice();
    bent[at] = (bent[at] ?? 0) ^ (1 << (at % 8));
    await Deno.writeFile(path, bent);
    assert.equal((await verifyAudit(path)).kind, "broken", `byte ${at}`);
  }
});

Deno.test("audit: a torn last line is cut at start, a damaged one stops the start", async () => {
  await using dir = await tempDir();
  const path = dir.at("audit.jsonl");
  await write(path, 2);
  const whole = await Deno.readTextFile(path);
  await Deno.writeTextFile(path, `${whole}{"action":"ap`);
  await write(path, 1);
  const verdict = await verifyAudit(path);
  assert.ok(verdict.kind === "whole" && verdict.records === 3);
  for (const bad of [whole.replaceAll("ops", "oqs"), `${whole}x\n`, "x".repeat(100_000)]) {
    await Deno.writeTextFile(path, bad);
    const opened = await openAudit(path, systemClock);
    assert.ok(opened.kind === "refused" && opened.code === "audit_damaged", bad.slice(-10));
    assert.equal(await Deno.readTextFile(path), bad);
  }
  const opened = await openAudit(dir.path, systemClock);
  assert.ok(opened.kind === "refused" && opened.code === "audit_unavailable");
});

import assert from "node:assert/strict";
import { systemClock } from "../host/clock.ts";
import { tempDir } from "../testing/temp_dir.ts";
import { openAudit } from "./audit.ts";
import { verifyAudit } from "./audit_verify.ts";
import { EVENT } from "../../tests/support/small_audit.ts";
import { hashOf } from "./audit_record.ts";
import { canonicalJson } from "../core/canonical_json.ts";

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
    assert.deepEqual(await verifyAudit(path), { kind: "broken", file: path, line, code }, what);
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

/** Small enough for a few records in a file. */
const SMALL = { fileBytes: 1500, files: 1000 };

async function writeSmall(path: string, records: number, bounds = SMALL): Promise<void> {
  const opened = await openAudit(path, systemClock, bounds);
  assert.ok(opened.kind === "open", JSON.stringify(opened));
  for (let i = 0; i < records; i++) opened.audit.append({ ...EVENT, call: `run-${i}` }, false);
  opened.audit.close();
}

async function filesIn(dir: { readonly path: string }): Promise<string[]> {
  return (await Array.fromAsync(Deno.readDir(dir.path))).map(({ name }) => name).sort();
}

Deno.test("audit: a full file is moved away and the chain goes on, across restarts too", async () => {
  await using dir = await tempDir();
  const path = dir.at("audit.jsonl");
  await writeSmall(path, 20);
  await writeSmall(path, 21);
  const verdict = await verifyAudit(path);
  assert.ok(verdict.kind === "whole");
  const names = await filesIn(dir);
  assert.deepEqual([verdict.records, verdict.from, verdict.files], [41, 1, names.length]);
  assert.ok(names.length > 8 && names[0] === "audit-000000000001.jsonl", String(names));
  for (const name of names) {
    const { size, mode } = await Deno.stat(dir.at(name));
    assert.ok(size < 2500 && ((mode ?? 0) & 0o777) === 0o600, name);
  }
  const opened = await openAudit(path, systemClock, SMALL);
  assert.ok(opened.kind === "open");
  const tail = opened.audit.tail(30) as unknown as { readonly seq: number }[];
  assert.deepEqual(tail.map(({ seq }) => seq), Array.from({ length: 30 }, (_, i) => i + 12));
  opened.audit.close();
  // Died between the move and the first record of the fresh file.
  const live = await Deno.readTextFile(path);
  const first = JSON.parse(live.split("\n")[0] ?? "").seq;
  await Deno.rename(path, dir.at(`audit-${String(first).padStart(12, "0")}.jsonl`));
  await writeSmall(path, 1);
  const after = await verifyAudit(path);
  assert.ok(after.kind === "whole" && after.records === 42, JSON.stringify(after));
});

Deno.test("audit: over several files, a flipped byte, a removed line, a pair, a file: each found", async () => {
  await using dir = await tempDir();
  const path = dir.at("audit.jsonl");
  await writeSmall(path, 30);
  const names = await filesIn(dir);
  const second = names[1] ?? "";
  const whole = await Deno.readTextFile(dir.at(second));
  const [a = "", b = "", ...rest] = whole.trimEnd().split("\n");
  const found = async () => {
    const verdict = await verifyAudit(path);
    return verdict.kind === "broken"
      ? [verdict.file.split("/").at(-1), verdict.line, verdict.code]
      : [];
  };
  const cases: [string, unknown[]][] = [
    [whole.replace("ops", "oqs"), [second, 1, "audit_record_changed"]],
    [[a, ...rest].join("\n") + "\n", [second, 2, "audit_chain_broken"]],
    [[b, a, ...rest].join("\n") + "\n", [second, 1, "audit_chain_broken"]],
    [[a, b].join("\n") + "\n", [names[2], 1, "audit_chain_broken"]],
    [whole.slice(0, -1), [second, rest.length + 2, "audit_line_torn"]],
  ];
  for (const [text, expected] of cases) {
    await Deno.writeTextFile(dir.at(second), text);
    assert.deepEqual(await found(), expected);
  }
  await Deno.remove(dir.at(second));
  assert.deepEqual(await found(), [names[2], 1, "audit_chain_broken"]);
  await Deno.writeTextFile(dir.at(second), whole);
  assert.deepEqual(await found(), []);
  await Deno.remove(dir.at(names[0] ?? ""));
  assert.deepEqual(await found(), [second, 1, "audit_chain_broken"]);
  await Deno.remove(path);
  await assert.rejects(verifyAudit(path));
});

Deno.test("audit: the oldest files go on record, and only so", async () => {
  await using dir = await tempDir();
  const path = dir.at("audit.jsonl");
  await writeSmall(path, 60, { fileBytes: 1500, files: 3 });
  const names = await filesIn(dir);
  assert.equal(names.length, 4);
  const verdict = await verifyAudit(path);
  assert.ok(verdict.kind === "whole" && verdict.from > 20, JSON.stringify(verdict));
  await Deno.remove(dir.at(names[0] ?? ""));
  const cut = await verifyAudit(path);
  assert.ok(cut.kind === "broken" && cut.code === "audit_chain_broken");
});

Deno.test("audit: when no fresh file can be made, records go on into the full one", async () => {
  await using dir = await tempDir();
  const path = dir.at("audit.jsonl");
  const opened = await openAudit(path, systemClock, SMALL);
  assert.ok(opened.kind === "open");
  await Deno.mkdir(dir.at("audit-000000000001.jsonl/x"), { recursive: true });
  for (let i = 0; i < 30; i++) opened.audit.append(EVENT, false);
  opened.audit.close();
  assert.deepEqual(await filesIn(dir), ["audit-000000000001.jsonl", "audit.jsonl"]);
  await Deno.remove(dir.at("audit-000000000001.jsonl"), { recursive: true });
  const verdict = await verifyAudit(path);
  assert.ok(verdict.kind === "whole" && verdict.records === 30, JSON.stringify(verdict));
});

Deno.test("audit: records cut off at the end are found by the head that was noted", async () => {
  await using dir = await tempDir();
  const path = dir.at("audit.jsonl");
  await write(path, 6);
  const whole = await verifyAudit(path);
  assert.ok(whole.kind === "whole");
  assert.equal(whole.holdsNoted, null);
  const noted = whole.hash;
  const lines = (await Deno.readTextFile(path)).split("\n").filter((line) => line !== "");
  for (let kept = 0; kept < lines.length; kept++) {
    await Deno.writeTextFile(path, lines.slice(0, kept).map((line) => `${line}\n`).join(""));
    const cut = await verifyAudit(path, noted);
    assert.equal(cut.kind === "whole" && cut.holdsNoted, false, `${kept} records are left`);
  }
  await Deno.writeTextFile(path, lines.map((line) => `${line}\n`).join(""));
  const [first] = lines.map((line) => String(JSON.parse(line)["hash"]));
  for (const hash of [noted, first]) {
    const again = await verifyAudit(path, hash);
    assert.equal(again.kind === "whole" && again.holdsNoted, true);
  }
});

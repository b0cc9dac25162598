/**
 * How evidence and parity look: the page, the index and the chart as the golden texts say, with names
 * that are full of markup. Write the texts anew with `GOLDEN=write deno test -A tests/golden`, and read
 * the difference.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Document } from "../../lib/evidence/document.ts";
import type { Evidence } from "../../lib/evidence/evidence_shape.ts";
import { parityOf, writeParity } from "../../lib/evidence/parity.ts";
import { DEFAULT_THRESHOLDS } from "../../lib/evidence/parity_shape.ts";
import { derivedFiles } from "../../lib/evidence/publication.ts";
import type { AnswerRecord } from "../../lib/evidence/record.ts";
import {
  laptopEvidence,
  sampleEvidence,
  sampleRecord,
  sampleRun,
} from "../../lib/testing/evidence_samples.ts";

const FOLDER = new URL("evidence/", import.meta.url);

/** A model name as somebody unkind would choose it. */
const MARKUP = '<img src=x onerror="alert(1)">|[click](javascript:alert`1`)**&amp;</text><script>';

async function golden(name: string, text: string): Promise<void> {
  const file = new URL(`${name}.txt`, FOLDER); // no formatter and no link check takes it for its own
  if (Deno.env.get("GOLDEN") === "write") await Deno.writeTextFile(file, text);
  assert.equal(text, await Deno.readTextFile(file), name);
}

function answers(change: (record: AnswerRecord, at: number) => AnswerRecord = (one) => one) {
  return ["arith-1", "arith-2", `capital ${MARKUP}`, "list-1"]
    .map((prompt) => sampleRecord(prompt, ["The", " answer", " is", " four", "."]))
    .map(change);
}

/** A kernel that is wrong at the fourth token of the third prompt. */
const planted = (record: AnswerRecord, at: number) =>
  at === 2
    ? sampleRecord(record.prompt, ["The", " answer", " is", " </text><b>", "."], {
      top: [
        [["The", -0.125], ["…", -2.5]],
        [[" answer", -0.125], ["…", -2.5]],
        [[" is", -0.125], ["…", -2.5]],
        [[" </text><b>", -0.01], [" four", -6]],
        [[".", -0.125]],
      ],
    })
    : at === 3
    ? { ...record, error: "timed_out" }
    : record;

async function published(): Promise<Document[]> {
  const loud = (body: Evidence) => {
    body.subject.model = MARKUP;
    body.workload.corpus.name = MARKUP;
  };
  const left = { evidence: await sampleRun(sampleEvidence(loud), answers()), records: answers() };
  const wrong = answers(planted);
  const right = { evidence: await sampleRun(laptopEvidence(loud), wrong), records: wrong };
  const parity = parityOf(left, right, { ...DEFAULT_THRESHOLDS, compared_share_min: 0.5 });
  const plain = await sampleRun(sampleEvidence(), []);
  const { digest } = await writeParity(parity);
  return [
    { kind: "evidence", digest: plain.digest, body: plain.body, signed: ["ed25519-00"] },
    { kind: "evidence", digest: left.evidence.digest, body: left.evidence.body, signed: [] },
    { kind: "evidence", digest: right.evidence.digest, body: right.evidence.body, signed: [] },
    { kind: "parity", digest, body: parity, signed: [] },
  ];
}

Deno.test("evidence: page, index and chart as the golden texts say", async () => {
  const files = derivedFiles(await published());
  assert.deepEqual(files.map(({ name }) => name.replace(/^[0-9a-f]{64}/, "parity")), [
    "parity.svg",
    "index.json",
    "index.md",
  ]);
  for (const { name, text } of files) {
    await golden(name.replace(/^[0-9a-f]{64}/, "parity"), text);
  }
});

Deno.test("evidence: the order documents are given in does not show", async () => {
  const documents = await published();
  assert.deepEqual(derivedFiles(documents), derivedFiles(documents.toReversed()));
});

Deno.test("evidence: no name becomes markup of the page, and no row lacks its conditions", async () => {
  const page = derivedFiles(await published()).at(-1)?.text ?? "";
  assert.doesNotMatch(page, /<[a-z/]/i);
  assert.doesNotMatch(page, /[^\\]\]\(javascript/);
  const rows = page.split("\n").filter((line) => line.startsWith("| ") && line.includes(".json)"));
  assert.equal(rows.length, 4);
  for (const row of rows) {
    assert.match(row, /(continuous|opportunistic); power (mains|battery)/);
    // An unescaped bar would shift the cells.
    const cells = row.replaceAll(/\\./g, "").split("|").length;
    assert.ok(cells === 12 || cells === 11, row);
  }
  const tables = page.split("### ").slice(1).map((part) => part.split("## ")[0] ?? "");
  for (const table of tables) {
    const opportunistic = table.includes("| opportunistic;");
    assert.ok(!(opportunistic && table.includes("| continuous;")), "one class to a table");
    assert.equal(table.startsWith("Opportunistic"), opportunistic);
  }
});

Deno.test("evidence: an opportunistic host without conditions is not rendered at all", async () => {
  const bare = await sampleRun(laptopEvidence((body) => body.conditions = null), []);
  assert.throws(
    () => derivedFiles([{ kind: "evidence", digest: bare.digest, body: bare.body, signed: [] }]),
    /conditions_missing/,
  );
});

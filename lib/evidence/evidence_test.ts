import assert from "node:assert/strict";
import fc from "fast-check";
import { CALM, sampleEvidence, spread } from "../testing/evidence_samples.ts";
import { digestOfId, evidenceText, readEvidence, writeEvidence } from "./evidence.ts";
import { type Evidence, MOST_EVIDENCE_BYTES } from "./evidence_shape.ts";

const encode = (text: string) => new TextEncoder().encode(text);

/** The codes and paths of what is wrong with `body`, spelled as it is. */
async function faults(body: unknown): Promise<readonly (readonly [string, string])[]> {
  const read = await readEvidence(encode(evidenceText(body as Evidence)));
  return read.kind === "ok" ? [] : read.problems.map(({ path, code }) => [path, code] as const);
}

Deno.test("evidence: a document is named by its bytes and reads back as it was", async () => {
  const body = sampleEvidence();
  const written = await writeEvidence(body);
  const read = await readEvidence(written.bytes, written.digest);
  assert.deepEqual(read, {
    kind: "ok",
    model: { digest: written.digest, id: `ev-${written.digest}`, body },
  });
  assert.equal(digestOfId(written.id), written.digest);
  assert.equal(digestOfId("ev-example-primary"), null);
  const again = await writeEvidence(JSON.parse(JSON.stringify(body)));
  assert.equal(again.digest, written.digest);
});

Deno.test("evidence: every fault at once, unknown keys with their path", async () => {
  const body = sampleEvidence() as Record<string, unknown> & Evidence;
  body["promotes"] = true;
  (body.subject as Record<string, unknown>)["weight"] = 1;
  body.workload.sampling.temperature = -1;
  body.host.availability = "mostly" as "continuous";
  body.measures.errors = [{ code: "line\nbreak", count: 1 }];
  assert.deepEqual(await faults(body), [
    ["subject.weight", "unknown_key"],
    ["host.availability", "not_allowed"],
    ["workload.sampling.temperature", "out_of_range"],
    ["measures.errors[0].code", "malformed"],
    ["promotes", "unknown_key"],
  ]);
});

Deno.test("evidence: what contradicts itself is refused, all of it", async () => {
  const cases: readonly (readonly [string, (body: Evidence) => void])[] = [
    ["run.ended_at", ({ run }) => run.ended_at = "2026-01-31T07:59:59.999Z"],
    ["measures.requests.sent", ({ measures }) => measures.requests.completed = 3],
    ["measures.errors", ({ measures }) => measures.errors = [{ code: "timeout", count: 1 }]],
    ["measures.ttft_ms", ({ measures }) => measures.ttft_ms = { ...spread(4, 1, 2), p50: 3 }],
    ["measures.total_ms", ({ measures }) => measures.total_ms = { ...spread(4, 1, 2), mean: 9 }],
    ["measures.ttft_ms.count", ({ measures }) => measures.ttft_ms = spread(5, 1, 2)],
    ["measures.tokens.counted_by", ({ measures }) => measures.tokens.counted_by = "none"],
    ["run.complete", ({ workload }) => workload.corpus.prompts = 5],
    ["measures.requests.sent", ({ workload }) => workload.corpus.prompts = 3],
    ["records.count", (body) => body.records = { digest: "0".repeat(64), bytes: 1, count: 5 }],
    ["host.runtime", ({ host }) => host.runtime = null],
  ];
  for (const [path, change] of cases) {
    assert.deepEqual(await faults(sampleEvidence(change)), [[path, "evidence_contradicts"]], path);
  }
});

Deno.test("evidence: another spelling, another name, too many bytes", async () => {
  const { bytes, digest } = await writeEvidence(sampleEvidence());
  const text = new TextDecoder().decode(bytes);
  const codes = async (changed: string, expected?: string) => {
    const read = await readEvidence(encode(changed), expected);
    return read.kind === "ok" ? [] : read.problems.map(({ code }) => code);
  };
  assert.deepEqual(await codes(text.trimEnd()), ["evidence_not_canonical"]);
  assert.deepEqual(await codes(` ${text}`), ["evidence_not_canonical"]);
  assert.deepEqual(await codes(JSON.stringify(JSON.parse(text), null, 1)), [
    "evidence_not_canonical",
  ]);
  assert.deepEqual(await codes(text.replace("49.5", "4.95e1")), ["evidence_not_canonical"]);
  assert.deepEqual(await codes(text, "0".repeat(64)), ["evidence_tampered"]);
  assert.deepEqual(await codes(text.replace('"gpu-a"', '"gpu-b"'), digest), ["evidence_tampered"]);
  assert.deepEqual(
    await codes(text.replace('"complete":true', '"complete":true,"complete":true')),
    [
      "json_duplicate_key",
    ],
  );
  assert.deepEqual(await codes(text + " ".repeat(MOST_EVIDENCE_BYTES)), ["json_too_large"]);
  await assert.rejects(
    writeEvidence(sampleEvidence(({ measures }) => measures.requests.sent = 9)),
    /measures.requests.sent/,
  );
});

Deno.test("evidence: whatever a stranger sends, reading ends in a value", async () => {
  const { bytes, digest } = await writeEvidence(sampleEvidence());
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: bytes.length - 1 }),
      fc.integer({ min: 1, max: 255 }),
      async (at, flip) => {
        const flipped = bytes.slice();
        flipped[at] = (flipped[at] ?? 0) ^ flip;
        const read = await readEvidence(flipped, digest);
        assert.equal(read.kind === "invalid" && read.problems[0]?.code, "evidence_tampered");
        await readEvidence(flipped);
      },
    ),
    { numRuns: 200 },
  );
  await fc.assert(
    fc.asyncProperty(fc.json({ maxDepth: 4 }), fc.uint8Array({ maxLength: 64 }), async (a, b) => {
      assert.equal((await readEvidence(encode(a))).kind, "invalid");
      assert.equal((await readEvidence(new Uint8Array(b))).kind, "invalid");
    }),
    { numRuns: 200 },
  );
});

Deno.test("evidence: any one key taken away or replaced is found", async () => {
  const whole = sampleEvidence((body) => body.conditions = structuredClone(CALM));
  const leaves: string[][] = [];
  const walk = (value: unknown, path: string[]) => {
    if (path.length > 0) leaves.push(path);
    if (typeof value !== "object" || value === null) return;
    for (const [key, inner] of Object.entries(value)) walk(inner, [...path, key]);
  };
  walk(whole, []);
  for (const path of leaves) {
    const copy = structuredClone(whole) as unknown as Record<string, unknown>;
    const last = path.at(-1) ?? "";
    const holder = path.slice(0, -1).reduce<Record<string, unknown>>(
      (here, key) => here[key] as Record<string, unknown>,
      copy,
    );
    if (Array.isArray(holder)) continue;
    delete holder[last];
    assert.notDeepEqual(await faults(copy), [], `without ${path.join(".")}`);
    holder[last] = ["<b>"];
    assert.notDeepEqual(await faults(copy), [], `with a list at ${path.join(".")}`);
    assert.ok(leaves.length > 60);
  }
});

import assert from "node:assert/strict";
import fc from "fast-check";
import {
  laptopEvidence,
  sampleEvidence,
  sampleRecord,
  sampleRun,
} from "../testing/evidence_samples.ts";
import type { Evidence } from "./evidence_shape.ts";
import { parityOf, readParity, type Side, writeParity } from "./parity.ts";
import { parityChart } from "./parity_chart.ts";
import { DEFAULT_THRESHOLDS, type Parity, PARITY_REASONS } from "./parity_shape.ts";
import type { AnswerRecord } from "./record.ts";

const PROMPTS = ["arith-1", "arith-2", "capital-1", "capital-2"];
const WORDS = ["The", " answer", " is", " four", "."];

function answers(): AnswerRecord[] {
  return PROMPTS.map((prompt) => sampleRecord(prompt, WORDS));
}

async function side(body: Evidence, records: readonly AnswerRecord[] | null): Promise<Side> {
  if (records === null) return { evidence: await sampleRun(body, answers()), records: null };
  return { evidence: await sampleRun(body, records), records };
}

async function parity(
  left: readonly AnswerRecord[] | null,
  right: readonly AnswerRecord[] | null,
  change: (body: Evidence) => void = () => {},
  because: string | null = null,
): Promise<Parity> {
  return parityOf(
    await side(sampleEvidence(), left),
    await side(laptopEvidence(change), right),
    DEFAULT_THRESHOLDS,
    because,
  );
}

const codes = ({ reasons }: Parity) => reasons.map(({ code }) => code);

Deno.test("parity: equal answers of two engines agree, and what differs in identity is listed", async () => {
  const found = await parity(answers(), answers());
  assert.equal(found.verdict, "agree");
  assert.deepEqual(found.reasons, []);
  assert.deepEqual(found.summary, {
    ...{ asked: 4, compared: 4, exact: 4, diverged: 0, decisive: 0 },
    refusals: { left: 0, right: 0, differ: 0 },
    similarity: { mean: 1, min: 1 },
    logprobs: { answers: 4, positions: 20, mean: 0, max: 0 },
    first_divergence: null,
  });
  const differing = found.identity.map(({ path }) => path);
  for (const path of ["subject.engine", "subject.image_digest", "host.node", "host.memory"]) {
    assert.ok(differing.includes(path), path);
  }
  assert.ok(!differing.includes("subject.model"));
});

Deno.test("parity: a planted defect is named: its prompt, its token, and that no rounding made it", async () => {
  const wrong = answers();
  wrong[2] = sampleRecord("capital-1", ["The", " answer", " is", " five", "!"], {
    top: [
      [["The", -0.125], ["…", -2.5]],
      [[" answer", -0.125], ["…", -2.5]],
      [[" is", -0.125], ["…", -2.5]],
      [[" five", -0.01], [" four", -6]],
      [["!", -0.1]],
    ],
  });
  const found = await parity(answers(), wrong);
  assert.equal(found.verdict, "diverge");
  assert.deepEqual(codes(found), ["exact_share_low", "decisive_divergence"]);
  const first = found.summary?.first_divergence;
  assert.deepEqual({ ...first, nats: null }, {
    ...{ prompt: "capital-1", repeat: 0, unit: "token", index: 3 },
    ...{ left: " four", right: " five", nats: null },
  });
  // Left is sure by 2.375, right by 5.99.
  assert.equal(first?.nats?.toFixed(3), "8.365");
  assert.equal(found.prompts.filter(({ exact }) => exact).length, 3);
});

Deno.test("parity: a tie that rounding decided is told apart from a defect", async () => {
  const tie = (chosen: string, other: string) =>
    answers().map((one, at) =>
      at !== 0
        ? one
        : sampleRecord("arith-1", [chosen], { top: [[[chosen, -0.69], [other, -0.7]]] })
    );
  const found = await parity(tie("four", "five"), tie("five", "four"));
  assert.equal(found.summary?.decisive, 0);
  assert.equal(found.summary?.first_divergence?.nats?.toFixed(2), "0.02");
  assert.deepEqual(codes(found), ["exact_share_low", "similarity_low"]);
});

Deno.test("parity: wherever a token is planted, it is the one that is named", async () => {
  const text = fc.array(fc.stringMatching(/^ [a-z]{1,6}$/), { minLength: 1, maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(text, fc.nat(), async (tokens, where) => {
      const at = where % tokens.length;
      const planted = tokens.with(at, " DEFECT");
      const found = await parity(
        [sampleRecord("p", tokens)],
        [sampleRecord("p", planted, { top: null })],
      );
      assert.deepEqual(found.summary?.first_divergence, {
        ...{ prompt: "p", repeat: 0, unit: "token", index: at },
        ...{ left: tokens[at], right: " DEFECT", nats: null },
      });
      // The same by text alone, where an engine tells no tokens.
      const blind = await parity(
        [sampleRecord("p", tokens)],
        [sampleRecord("p", planted, { tokens: null, top: null })],
      );
      const first = blind.summary?.first_divergence;
      assert.equal(first?.unit, "code_point");
      const before = tokens.slice(0, at).join("").length;
      assert.equal(first.index, before + 1); // the space before it is equal
      assert.ok(first.right?.startsWith("DEFECT"));
    }),
    { numRuns: 100 },
  );
});

Deno.test("parity: sides change places and nothing else changes", async () => {
  const word = fc.constantFrom("a", "b", "é", "👍🏽", "the cat", "");
  const lists = fc.array(fc.array(word, { maxLength: 6 }), { minLength: 4, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(lists, lists, async (one, other) => {
      const make = (list: string[][]) =>
        list.map((words, at) => sampleRecord(PROMPTS[at] ?? "", words));
      const there = await parity(make(one), make(other));
      const back = await parity(make(other), make(one));
      assert.equal(there.summary?.exact, back.summary?.exact);
      assert.equal(there.summary?.similarity?.mean, back.summary?.similarity?.mean);
      assert.equal(there.verdict, back.verdict);
      for (const [at, pair] of there.prompts.entries()) {
        const mirror = back.prompts[at];
        assert.equal(pair.divergence?.index, mirror?.divergence?.index);
        assert.equal(pair.divergence?.left, mirror?.divergence?.right);
        assert.equal(pair.logprobs?.mean, mirror?.logprobs?.mean);
        assert.equal(pair.exact, pair.divergence === null);
      }
    }),
    { numRuns: 100 },
  );
});

Deno.test("parity: what is not the same question is not compared, with every reason", async () => {
  const all = await parity(answers(), null, (body) => {
    body.subject.model = "example/other";
    body.subject.quantization = "4bit";
    body.workload.corpus.digest = "0".repeat(64);
    body.workload.sampling.seed = 8;
    body.run.complete = false;
  });
  assert.equal(all.verdict, "not_comparable");
  assert.deepEqual(codes(all), [
    "model_differs",
    "workload_differs",
    "run_incomplete",
    "records_missing",
  ]);
  assert.deepEqual(all.reasons.map(({ differences }) => differences.map(({ path }) => path)), [
    ["subject.model", "subject.quantization"],
    ["workload.corpus.digest", "workload.sampling.seed"],
    [],
    [],
  ]);
  assert.equal(all.summary, null);
  assert.equal(all.workload, null);

  const hot = (body: Evidence) => body.workload.sampling.temperature = 0.7;
  const random = parityOf(
    await side(sampleEvidence(hot), answers()),
    await side(laptopEvidence(hot), answers()),
    DEFAULT_THRESHOLDS,
  );
  assert.deepEqual(codes(random), ["sampling_random"]);
  const bare = (body: Evidence) => body.subject.revision = null;
  const unnamed = parityOf(
    await side(sampleEvidence(bare), answers()),
    await side(laptopEvidence(bare), answers()),
    DEFAULT_THRESHOLDS,
  );
  assert.deepEqual(codes(unnamed), ["model_differs"]);
});

Deno.test("parity: a person may hold two names for one model, and that is kept", async () => {
  const rename = (body: Evidence) => body.subject.model = "mlx-community/model-8b";
  assert.equal((await parity(answers(), answers(), rename)).verdict, "not_comparable");
  const held = await parity(answers(), answers(), rename, "converted from that revision");
  assert.equal(held.verdict, "agree");
  assert.equal(held.same_model_because, "converted from that revision");
  assert.ok(held.identity.some(({ path }) => path === "subject.model"));
});

Deno.test("parity: what failed or is not there is skipped aloud, and too much of it is no verdict", async () => {
  const [one, two, three, four] = answers();
  assert.ok(one !== undefined && two !== undefined && three !== undefined && four !== undefined);
  const found = await parity(
    [one, { ...two, error: "timed_out" }, three],
    [one, two, { ...three, error: "timed_out" }, four],
  );
  assert.deepEqual(found.prompts.map(({ skipped }) => skipped), [
    null,
    "failed_left",
    "failed_right",
    "only_right",
  ]);
  assert.equal(found.verdict, "not_comparable");
  assert.deepEqual(codes(found), ["too_few_compared"]);
  const none = await parity([], []);
  assert.deepEqual([none.verdict, none.summary?.compared], ["not_comparable", 0]);
});

Deno.test("parity: one that refuses where the other answers is counted", async () => {
  const refusing = answers();
  refusing[0] = sampleRecord("arith-1", ["I’m sorry, but I can't help with that."]);
  refusing[1] = sampleRecord("arith-2", WORDS, { finish: "content_filter" });
  const found = await parity(answers(), refusing);
  assert.deepEqual(found.summary?.refusals, { left: 0, right: 2, differ: 2 });
  assert.deepEqual(found.prompts.slice(0, 2).map(({ refusals }) => refusals?.right), [
    "phrased",
    "stated",
  ]);
  assert.ok(codes(found).includes("refusals_differ"));
});

Deno.test("parity: logprobs far apart are found though the texts are equal", async () => {
  const unsure = answers().map((one) => ({
    ...one,
    top: one.tokens?.map((token): [string, number][] => [[token, -1.125], ["…", -1.5]]) ?? null,
  }));
  const found = await parity(answers(), unsure);
  assert.deepEqual(codes(found), ["logprobs_far"]);
  assert.equal(found.summary?.logprobs?.mean, 1);
  assert.equal(found.verdict, "diverge");
});

Deno.test("parity: made again it is the same bytes; a changed byte is found", async () => {
  const made = async () => await writeParity(await parity(answers(), answers().toReversed()));
  const [one, two] = [await made(), await made()];
  assert.equal(one.digest, two.digest);
  const read = await readParity(one.bytes, one.digest);
  assert.ok(read.kind === "ok");
  await fc.assert(
    fc.asyncProperty(
      fc.nat(one.bytes.length - 1),
      fc.integer({ min: 1, max: 255 }),
      async (at, flip) => {
        const flipped = one.bytes.slice();
        flipped[at] = (flipped[at] ?? 0) ^ flip;
        const found = await readParity(flipped, one.digest);
        assert.equal(found.kind === "invalid" && found.problems[0]?.code, "evidence_tampered");
        await readParity(flipped);
      },
    ),
    { numRuns: 100 },
  );
});

Deno.test("parity: any text of any answer becomes a document and a picture without markup of its own", async () => {
  const wild = fc.oneof(
    fc.string({ unit: "binary" }).map((text) => text.toWellFormed()),
    fc.constantFrom(
      "</text><script>",
      '"><img src=x onerror=alert(1)>',
      "&lt;",
      "\u0000",
      "\u202e",
      "e".padEnd(900, "\u0301"),
    ),
  );
  const lists = fc.array(fc.array(wild, { maxLength: 3 }), { minLength: 2, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(lists, lists, async (one, other) => {
      const make = (list: string[][]) =>
        list.map((words, at) => sampleRecord(PROMPTS[at] ?? "", words));
      const found = await parity(make(one), make(other));
      const { bytes, digest } = await writeParity(found);
      assert.equal((await readParity(bytes, digest)).kind, "ok");
      const chart = parityChart(found, "abc");
      const tags = new Set([...chart.matchAll(/<([a-zA-Z!?]+)/g)].map(([, tag]) => tag));
      const known = ["svg", "title", "desc", "style", "defs", "pattern", "rect", "text", "line"];
      assert.deepEqual([...tags].filter((tag) => !known.includes(tag ?? "")), []);
      assert.doesNotMatch(chart, /[\p{Cc}--\n]/v);
      assert.doesNotMatch(chart, /&(?!amp;|lt;|gt;|quot;|#39;)/);
    }),
    { numRuns: 100 },
  );
});

Deno.test("parity: the table of reasons is whole", () => {
  assert.equal(new Set(PARITY_REASONS).size, PARITY_REASONS.length);
});

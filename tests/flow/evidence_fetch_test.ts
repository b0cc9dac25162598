import assert from "node:assert/strict";
import { pieceOf } from "../../lib/evidence/handover.ts";
import {
  laptopEvidence,
  sampleEvidence,
  sampleRecord,
  sampleRun,
} from "../../lib/testing/evidence_samples.ts";
import { canonicalJson } from "../../lib/core/canonical_json.ts";
import { sha256 } from "../../lib/host/digest.ts";
import {
  json,
  NODE_OPERATIONS,
  nodeHealth,
  type NodeScript,
  SimulatedNode,
} from "../fixtures/node.ts";
import { dispatchRig } from "../support/dispatch.ts";

const OPERATIONS = [
  {
    ...{ name: "benchmarks.result", effect: "read", scopes: ["benchmarks.result:read"] },
    ...{ brief: "It is simulated", destructive: false, roles: null, deadline_ms: 5000 },
    ...{ input: {}, output: {} },
  },
  ...NODE_OPERATIONS,
];
const DIGEST = sha256(canonicalJson(OPERATIONS)).toHex();

/** A node that hands over what `result` makes of a question. */
function handing(node: string, result: (from: number | null) => unknown): NodeScript {
  return ({ path, method, body }) => {
    if (path === "/health") return json({ ...nodeHealth(node), catalogue_digest: DIGEST });
    if (path === "/v1/operations" && method === "GET") {
      return json({ node, digest: DIGEST, operations: OPERATIONS });
    }
    if (path !== "/v1/operations/benchmarks.result") return null;
    const { input } = JSON.parse(body);
    assert.equal(input.id, "bench-1");
    const operation = "benchmarks.result";
    return json({ operation, dry_run: false, known: false, result: result(input.records_from) });
  };
}

type Run = Awaited<ReturnType<typeof sampleRun>>;

const whole = ({ id, bytes, body, records }: Run, from: number | null) => ({
  id: "bench-1",
  state: "finished",
  evidence: { id, text: new TextDecoder().decode(bytes) },
  records: from === null || body.records === null
    ? null
    : pieceOf(records, body.records.digest, from),
});

async function fetched(node: string, result: (from: number | null) => unknown) {
  await using simulated = new SimulatedNode(node, handing(node, result));
  await using rig = await dispatchRig([[node, simulated.port]]);
  const fetch = () => rig.data("evidence", "fetch", "--target", `host:${node}`, "--id", "bench-1");
  const told = await fetch();
  const folder = rig.folder.at("home/evidence");
  const names = await Array.fromAsync(Deno.readDir(folder)).catch(() => []);
  const again = told.ok ? await fetch() : null;
  return {
    told,
    again,
    names: names.map(({ name }) => name).toSorted(),
    asked: simulated.posts.filter(({ path }) => path.endsWith("benchmarks.result")).length,
  };
}

const run = await sampleRun(
  sampleEvidence(),
  ["a", "b", "c", "d"].map((prompt) => sampleRecord(prompt, ["x".repeat(150_000), "y"])),
);

Deno.test("evidence: fetched with its records, piece by piece, and once", async () => {
  const { told, again, names, asked } = await fetched("gpu-a", (from) => whole(run, from));
  assert.deepEqual(told.outcomes[0]?.result, { id: run.id, kept: true, records: "kept" });
  assert.deepEqual(again?.outcomes[0]?.result, { id: run.id, kept: false, records: "kept" });
  assert.deepEqual(names, [`${run.digest}.json`, `${run.digest}.records.jsonl`]);
  // Twice: the document, and two pieces of records.
  assert.equal(asked, 2 * (1 + Math.ceil(run.records.length / (1024 * 1024))));
});

Deno.test("evidence: what a node hands over is believed by its digests alone", async () => {
  const cases: readonly (readonly [string, (from: number | null) => unknown])[] = [
    [
      "evidence_not_ready",
      () => ({ id: "bench-1", state: "running", evidence: null, records: null }),
    ],
    ["handover_malformed", (from) => ({ ...whole(run, from), more: 1 })],
    ["evidence_tampered", (from) => {
      const good = whole(run, from);
      return {
        ...good,
        evidence: { ...good.evidence, text: good.evidence.text.replace("7", "8") },
      };
    }],
    ["handover_broken", (from) => whole(run, from === null ? null : 0)],
    ["records_tampered", (from) => {
      const good = whole(run, from);
      const piece = good.records === null ? "" : good.records.piece.replace("eHh4", "eXh4");
      return { ...good, records: good.records === null ? null : { ...good.records, piece } };
    }],
  ];
  for (const [code, result] of cases) {
    const { told, names } = await fetched("gpu-a", result);
    assert.equal(told.outcomes[0]?.outcome, "refused", code);
    assert.equal(told.problems[0]?.code, code);
    assert.deepEqual(names, [], code);
  }
  const other = await sampleRun(laptopEvidence(), []);
  const { told } = await fetched("gpu-a", (from) => whole(other, from));
  assert.equal(told.problems[0]?.code, "evidence_of_other");
});

Deno.test("evidence: records a node no longer has are told apart from records there never were", async () => {
  const without = await fetched("gpu-a", () => whole(run, null));
  assert.deepEqual(without.told.outcomes[0]?.result, {
    ...{ id: run.id, kept: true, records: "not_handed_over" },
  });
  const none = await sampleRun(sampleEvidence(), []);
  const never = await fetched("gpu-a", (from) => whole(none, from));
  assert.equal(never.told.outcomes[0]?.result?.["records"], "none");
});

Deno.test("evidence: a node that is down is unreachable, and nothing is kept", async () => {
  await using rig = await dispatchRig([["gpu-a", 1]]);
  const told = await rig.data("evidence", "fetch", "--target", "host:gpu-a", "--id", "bench-1");
  assert.equal(told.outcomes[0]?.outcome, "unreachable");
  await assert.rejects(Deno.stat(rig.folder.at("home/evidence")), Deno.errors.NotFound);
});

import assert from "node:assert/strict";
import fc from "fast-check";
import { AGENT_HEALTHS, AGENT_PROOFS, agentQuestion, judgeAgent } from "./agent_proof.ts";

const said = (result: unknown) => judgeAgent("org/model", JSON.stringify({ result }));
const proven = { proof: "proven", model: "org/model", observed: "", health: "healthy" };

Deno.test("agent proof: only a proven process of the pinned model is a match", () => {
  const cases: [unknown, unknown][] = [
    [proven, { kind: "match" }],
    [{ ...proven, health: "not_asked" }, { kind: "match" }],
    [{ ...proven, health: "silent" }, { kind: "silent" }],
    [{ ...proven, model: "other" }, { kind: "mismatch", observed: ["other"] }],
    [{ ...proven, model: "other", health: "silent" }, { kind: "mismatch", observed: ["other"] }],
    [{ ...proven, model: null }, { kind: "mismatch", observed: [""] }],
    [{ ...proven, proof: "absent" }, { kind: "mismatch", observed: [] }],
    [{ ...proven, proof: "differs", observed: "another program" }, {
      kind: "mismatch",
      observed: ["another program"],
    }],
    [{ ...proven, proof: "undeclared", observed: "pid 7" }, {
      kind: "mismatch",
      observed: ["pid 7"],
    }],
    [{ ...proven, proof: "unknown", observed: "ss failed" }, {
      kind: "unparseable",
      detail: "the agent cannot tell: ss failed",
    }],
  ];
  for (const [result, finding] of cases) assert.deepEqual(said(result), finding);
});

Deno.test("agent proof: whatever else comes is unparseable, never a match", () => {
  const words: string[] = [...AGENT_PROOFS, ...AGENT_HEALTHS];
  fc.assert(fc.property(fc.json(), (text) => {
    const { kind } = judgeAgent("org/model", text);
    assert.equal(kind, "unparseable");
  }));
  for (const text of ["", "<html>", "null", '{"result":null}', '{"result":{"proof":"proven"}}']) {
    assert.equal(judgeAgent("org/model", text).kind, "unparseable", text);
  }
  fc.assert(fc.property(fc.string(), fc.string(), (proof, health) => {
    fc.pre(!words.includes(proof) || !words.includes(health));
    assert.equal(said({ ...proven, proof, health }).kind, "unparseable");
  }));
});

Deno.test("agent proof: the question names the port and nothing else", () => {
  assert.equal(agentQuestion(8001), '{"input":{"port":8001}}');
});

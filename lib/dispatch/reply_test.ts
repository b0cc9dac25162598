import assert from "node:assert/strict";
import fc from "fast-check";
import { readReply } from "./reply.ts";

const raw = (status: number, headers: Record<string, string>, text: string) => ({
  status,
  headers: new Map(Object.entries(headers)),
  bytes: new TextEncoder().encode(text),
});
const OURS = { "x-anvil-node": "a" };

Deno.test("reply: only what names its node is an agent's", () => {
  const body = '{"code":"token_unknown","may_have_executed":false,"detail":"no"}';
  for (const named of [{}, { "x-anvil-node": "" }, { "x-anvil-node": "A B" }]) {
    const reply = readReply(raw(401, { ...named, "x-anvil-code": "token_unknown" }, body), "a");
    assert.equal(reply.kind === "strange" && reply.code, "another_process");
  }
  const ours = readReply(raw(401, { ...OURS, "x-anvil-code": "token_unknown" }, body), "a");
  assert.equal(ours.kind === "problem" && ours.code, "token_unknown");
  assert.deepEqual(readReply(raw(200, { "x-anvil-node": "b" }, "{}"), "a"), {
    kind: "other_node",
    node: "b",
    refused: false,
  });
});

Deno.test("reply: a refusal that does not say it did nothing may have done something", () => {
  const of = (body: object) => {
    const text = JSON.stringify({ code: "x", ...body });
    const reply = readReply(raw(500, { ...OURS, "x-anvil-code": "x" }, text), "a");
    return reply.kind === "problem" ? reply.mayHaveExecuted : reply.kind;
  };
  assert.equal(of({ may_have_executed: false }), false);
  for (const value of [true, null, 0, "false", undefined]) {
    assert.equal(of({ may_have_executed: value }), true);
  }
});

Deno.test("reply: whatever comes is read or refused, and never quoted", () => {
  fc.assert(fc.property(fc.string(), fc.integer({ min: 100, max: 599 }), (text, status) => {
    const reply = readReply(raw(status, { ...OURS, "x-anvil-code": "x" }, text), "a");
    if (reply.kind === "strange" && text.length > 12) assert.ok(!reply.detail.includes(text));
  }));
});

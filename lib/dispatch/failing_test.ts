import assert from "node:assert/strict";
import { SSH_AFTER } from "../topology/transport.ts";
import type { ExchangeFailure } from "./exchange.ts";
import { fellBy, fellWith } from "./failing.ts";

const CODES: readonly ExchangeFailure[] = [
  "connect_refused",
  "connect_unreachable",
  "connect_timeout",
  "connect_tls",
  "connect_local",
  "closed_before_head",
  "malformed_head",
  "late",
  "interrupted",
  "truncated",
  "too_large",
];

Deno.test("failing: a mutation of which something may have left is may_have_executed, and nothing else is", () => {
  for (const code of CODES) {
    for (const sent of ["no", "unknown"] as const) {
      for (const stage of ["proof", "ask"] as const) {
        for (const effect of ["read", "mutate"] as const) {
          const outcome = fellBy("a", stage, effect, { kind: "failed", code, sent });
          const left = stage === "ask" && sent === "unknown";
          const name = `${code} ${sent} ${stage} ${effect}`;
          assert.equal(outcome?.kind === "may_have_executed", left && effect === "mutate", name);
          if (outcome !== null) assert.equal(outcome.notSent, !left, name);
          else assert.equal(code, "interrupted", name);
        }
      }
    }
  }
});

Deno.test("failing: SSH may be asked for after three failures of the connection, and no other", () => {
  const allowed = CODES.filter((code) => {
    const outcome = fellBy("a", "proof", "mutate", { kind: "failed", code, sent: "no" });
    const failure = outcome?.failure ?? null;
    return failure !== null && SSH_AFTER[failure];
  });
  assert.deepEqual(allowed, ["connect_refused", "connect_unreachable", "connect_timeout"]);
});

Deno.test("failing: another node's answer", () => {
  const at = (stage: "proof" | "ask", effect: "read" | "mutate", refused: boolean) =>
    fellWith("a", stage, effect, { kind: "other_node", node: "b", refused });
  assert.equal(at("proof", "read", false).kind, "wrong_node");
  assert.equal(at("ask", "mutate", true).kind, "wrong_node");
  assert.equal(at("ask", "read", false).kind, "wrong_node");
  // It does not say that it did nothing: then nobody knows.
  assert.equal(at("ask", "mutate", false).kind, "may_have_executed");
});

Deno.test("failing: a problem document is believed about what was done", () => {
  const problem = {
    kind: "problem",
    status: 500,
    code: "operation_failed",
    detail: "d",
    nextStep: null,
    mayHaveExecuted: true,
    run: null,
    problems: [],
  } as const;
  assert.equal(fellWith("a", "ask", "mutate", problem).kind, "may_have_executed");
  assert.equal(fellWith("a", "ask", "read", problem).kind, "refused");
  const sure = { ...problem, mayHaveExecuted: false };
  assert.equal(fellWith("a", "ask", "mutate", sure).kind, "refused");
  assert.equal(fellWith("a", "ask", "mutate", { ...sure, status: 401 }).failure, "unauthorized");
  const scope = { ...sure, status: 403, code: "scope_missing" };
  assert.equal(fellWith("a", "ask", "mutate", scope).failure, "forbidden");
});

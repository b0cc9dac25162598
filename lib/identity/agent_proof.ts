/**
 * The identity kind `agent`: not the engine says which model it serves, but the agent of its host
 * says which declared serve owns the port, by looking at the process.
 *
 *     POST /v1/operations/serves.identity {"input":{"port":8001}}
 *     -> {"result":{"proof":"proven","model":"org/model","observed":"…","health":"healthy",…}}
 *
 * For engines whose own lists prove nothing, and for whoever trusts the operating system more than
 * an engine. The proof is of a process and its declared arguments: what that process has read from
 * its disk stays the manifest's word.
 *
 * @module
 */

import type { Finding } from "./readiness.ts";

/** The kind, as a tier declares it. */
export const AGENT_KIND = "agent";

/** Where the agent is asked. */
export const AGENT_PROOF_TARGET = "/v1/operations/serves.identity";

/** The body of the question about one port of the agent's own host. */
export function agentQuestion(port: number): string {
  return JSON.stringify({ input: { port } });
}

/** What the agent may say of the port. */
export const AGENT_PROOFS = ["proven", "differs", "absent", "undeclared", "unknown"] as const;
/** What the agent may say of the serve's health path. */
export const AGENT_HEALTHS = ["healthy", "silent", "not_asked"] as const;

/** Judges the agent's 200 answer, already bounded in size, against the pinned model name. */
export function judgeAgent(pinned: string, text: string): Finding {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return { kind: "unparseable", detail: "the agent's answer is not JSON" };
  }
  const result = member(body, "result");
  const proof = AGENT_PROOFS.find((one) => one === member(result, "proof"));
  const health = AGENT_HEALTHS.find((one) => one === member(result, "health"));
  if (proof === undefined || health === undefined) {
    return { kind: "unparseable", detail: "the agent's answer states no proof, or no health" };
  }
  const observed = textOf(result, "observed");
  switch (proof) {
    case "unknown":
      return { kind: "unparseable", detail: `the agent cannot tell: ${observed}` };
    case "absent":
      return { kind: "mismatch", observed: [] };
    case "differs":
    case "undeclared":
      return { kind: "mismatch", observed: [observed] };
    case "proven": {
      const model = textOf(result, "model");
      if (model !== pinned) return { kind: "mismatch", observed: [model] };
      // A busy engine is not an unhealthy one: silence is weighed like that of any other probe.
      return health === "silent" ? { kind: "silent" } : { kind: "match" };
    }
  }
}

function member(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null
    ? (value as { readonly [name: string]: unknown })[key]
    : undefined;
}

function textOf(value: unknown, key: string): string {
  const text = member(value, key);
  return typeof text === "string" ? text.slice(0, 256) : "";
}

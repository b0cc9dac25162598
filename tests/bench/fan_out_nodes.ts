/**
 * A process of simulated nodes, for the fan-out measurement: says its ports, ends with its stdin.
 *
 * @module
 */

import { sha256 } from "../../lib/host/digest.ts";
import { json, type NodeScript, nodeWith, SimulatedNode } from "../fixtures/node.ts";
import { ADOPTER_STATUS } from "../support/fake_adopter.ts";

/** Facts as large as a host may send in a fan-out of a thousand. */
const FACTS = Object.fromEntries(
  Array.from({ length: 280 }, (_, at) => [
    `fact-${at}`,
    { value: at, source: "simulated", at: "2026-01-01T00:00:00Z", why: null },
  ]),
);
const MODEL = "example-org/example-70b";
const done = (operation: string, result: unknown) =>
  json({ operation, dry_run: false, known: false, result });
const SERVES = Array.from({ length: 4 }, (_, at) => ({
  ...{ name: `serve-${at}`, capability: `llm.c${at}`, runtime: "docker", port: 8001 + at },
  ...{ tier: `tier-${at}`, mode: null, residency: "resident", model: MODEL, revision: "r1" },
  ...{ quantization: null, engine: "vllm", state: "running", instance: { id: "x", pid: 4711 } },
}));
const ROUTER = {
  ...{ node: "n", version: "0.1.0", build_digest: "b".repeat(64), draining: false, open: 3 },
  config_digest: sha256("schema = 1\n").toHex(),
  aliases: Object.fromEntries(SERVES.map(({ capability, tier }) => [capability, tier])),
  tiers: SERVES.map(({ tier }) => ({
    ...{ tier, intent: "admit", readiness: "ready", in_flight: 1, waiting: 0 },
    members: ["a", "b"].map((id) => ({
      ...{ id, state: "ready", expected: MODEL, observed: "the pinned model", age_ms: 40 },
    })),
  })),
};
/** Two dozen files, of which one is edited and one is extra. */
const DIGESTS = {
  left_out: 0,
  files: [
    ...Array.from({ length: 24 }, (_, at) => ({ name: `more/${at}.toml`, own: true })),
    { name: "extra.toml", own: false },
    { name: "router.toml", own: false },
  ].map((file) => ({
    ...{ root: "/etc/anvil", state: "present", size: 900, sha256: "c".repeat(64), code: null },
    ...file,
  })),
  units: Array.from({ length: 6 }, (_, at) => ({
    ...{ unit: `anvil-${at}.service`, state: "installed", sha256: "d".repeat(64), drop_ins: [] },
    ...{ reload_due: false, active: "active", code: null },
  })),
  programs: ["anvil-agent", "anvil-router", "anvil-adopter"].map((name) => {
    const build = { version: "0.1.0", build_digest: "b".repeat(64) };
    return { name, running: build, installed: build, code: null };
  }),
};
const RECORDS = Array.from({ length: 100 }, (_, at) => ({
  ...{ seq: at, at: new Date(1.78e12 + at * 1000).toISOString(), phase: "end", call: `c-${at}` },
  ...{ principal: "ann", operation: "serves.up", action: "apply", key: "k", dry_run: false },
  ...{ target_digest: "e".repeat(64), outcome: "done", code: null, duration_ms: 4 },
  ...{ prev: "f".repeat(64), hash: "f".repeat(64) },
}));
const reads = nodeWith({
  "serves.list": () => done("serves.list", { host: {}, serves: SERVES }),
  "serves.identity": () =>
    done("serves.identity", {
      ...{ port: 8001, serve: "serve-0", proof: "proven", model: MODEL, revision: "r1" },
      ...{ observed: "", health: "healthy", process: null },
    }),
  "router.status": () => done("router.status", { status: ROUTER }),
  "candidates.status": () => done("candidates.status", ADOPTER_STATUS),
  "config.digests": () => done("config.digests", DIGESTS),
  "config.export": () => done("config.export", { fingerprint: "", files: [] }),
  "audit.tail": () => done("audit.tail", { records: RECORDS }),
});
const script: NodeScript = (request) =>
  request.path === "/v1/operations/node.facts" ? done("node.facts", FACTS) : reads(request);

const count = Number(Deno.args[0] ?? "1000");
const nodes = Array.from(
  { length: count },
  (_, at) => new SimulatedNode(`node-${at}`, script, false),
);
console.log(JSON.stringify(nodes.map(({ name, port }) => [name, port])));
for await (const _ of Deno.stdin.readable) {
  // until whoever started us is gone
}
Deno.exit(0);

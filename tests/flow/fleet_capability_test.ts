import assert from "node:assert/strict";
import type { CapabilityMatrix, CapabilityRow } from "../../lib/dispatch/capability.ts";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { startEngine } from "../fixtures/engine.ts";
import { json, type NodeScript, nodeWith, problem, SimulatedNode } from "../fixtures/node.ts";
import { DOCKER } from "../fixtures/serves.ts";
import { TOKENS } from "../support/agent.ts";
import { type DispatchRig, dispatchRig } from "../support/dispatch.ts";
import { freePort } from "../support/free_port.ts";
import { startRouter } from "../support/router.ts";
import { OBSERVER } from "../support/router_toml.ts";
import { startServesRig } from "../support/serves_rig.ts";

const MODEL = "example-org/example-8b";

/** A node with these two operations besides, each answering so. */
const telling = (serves: unknown, router: unknown, proof: unknown = {}): NodeScript =>
  nodeWith({
    "serves.list": () => json(done("serves.list", { host: {}, serves })),
    "router.status": () => json(done("router.status", { status: router })),
    "serves.identity": () => json(done("serves.identity", proof)),
  });
const done = (operation: string, result: unknown) => ({
  ...{ operation, dry_run: false, known: false, result },
});
const ROUTER = {
  draining: false,
  aliases: { "llm.primary": "primary" },
  tiers: [{
    ...{ tier: "primary", intent: "admit", readiness: "ready", in_flight: 0 },
    members: [
      { id: "a", state: "ready", expected: MODEL, observed: "the pinned model", age_ms: 40 },
    ],
  }],
};
const SERVE = {
  ...{ name: "primary", capability: "llm.primary", port: 8001, tier: "primary", model: MODEL },
  ...{ revision: "0f1e2d3c", state: "running" },
};

async function rowOf(rig: DispatchRig, ...more: readonly string[]): Promise<CapabilityRow> {
  const { out } = await rig.run("capability", "llm.primary", "--json", ...more);
  const [row] = (JSON.parse(out).data.fleet as CapabilityMatrix).rows;
  assert.ok(row, out);
  return row;
}

Deno.test("capability: a real agent and a real router, from three perspectives", async () => {
  await using dir = await tempDir();
  await using stack = new AsyncDisposableStack();
  const engine = await startEngine({ models: [MODEL] });
  stack.defer(() => engine.close());
  await using router = await startRouter({
    members: [engine.port],
    tier: { served_model: MODEL },
  });
  await Deno.writeTextFile(dir.at("router.token"), `${OBSERVER}\n`, { mode: 0o600 });
  const toml = `[router]\nadmin = "http://127.0.0.1:${router.adminPort}"\n` +
    `token_file = ${JSON.stringify(dir.at("router.token"))}\n`;
  await using host = await startServesRig(dir.path, DOCKER, toml);
  await using rig = await dispatchRig([["gpu-a", host.agent.agent.port]], {
    "gpu-a": TOKENS.all,
  });
  // Declared, and nothing runs: the router's engine is somebody else's.
  const [stopped] = (await rowOf(rig)).cells;
  assert.deepEqual(
    stopped?.said.map(({ perspective, standing, code }) => [perspective, standing, code]),
    [["agent", "idle", "stopped"], ["router", "served", "ready"], ["probe", "idle", "not_running"]],
  );
  await host.agent.call("serves.up", { input: { serve: "primary" } }, { key: "up-of-a-test" });
  const row = await rowOf(rig);
  assert.equal(row.verdict, "served");
  const [cell] = row.cells;
  assert.deepEqual(
    cell?.said.map(({ perspective, code, model }) => [perspective, code, model]),
    [["agent", "running", MODEL], ["router", "ready", MODEL], ["probe", "proven", MODEL]],
  );
  const { code, out } = await rig.run("capability", "llm.primary");
  assert.equal(code, 0);
  assert.match(out, /^llm\.primary: served, not declared in the topology$/m);
  assert.match(out, /^gpu-a +served +agent +served: running +example-org\/example-8b +0f1e2d3c /m);
  assert.match(out, /^ +router +served: ready +example-org\/example-8b +- +0 s/m);
  assert.match((await rig.run("capability")).out, /^llm\.primary +served +gpu-a +example-org/m);
  const no = await rig.run("capability", "voice.stt");
  assert.deepEqual([no.code, /voice\.stt: empty/.test(no.out)], [1, true], no.out);
});

Deno.test("capability: unknown, unreachable, empty and wrong are four answers", async () => {
  const scripts: Readonly<Record<string, NodeScript>> = {
    empty: telling([], { draining: false, aliases: {}, tiers: [] }),
    wrong: telling([SERVE], ROUTER, {
      ...{ proof: "differs", model: null, revision: null, observed: "another process" },
      ...{ health: "not_asked" },
    }),
    // Its catalogue is older than both operations, and the topology says that it has a router.
    older: () => null,
    barred: ({ path }) => path === "/health" ? problem(401, "token_unknown") : null,
    mute: nodeWith({
      "serves.list": () => problem(403, "scope_missing"),
      "router.status": () => problem(502, "router_unreachable"),
    }),
    strange: telling([{ nonsense: true }], { tiers: 7 }),
  };
  await using stack = new AsyncDisposableStack();
  const nodes = Object.entries(scripts).map(([name, script]) =>
    stack.use(new SimulatedNode(name, script))
  );
  await using rig = await dispatchRig([
    ...nodes.map(({ name, port }) => [name, port] as const),
    ["gone", freePort()],
  ]);
  const topology = rig.folder.at("topology.toml");
  const text = await Deno.readTextFile(topology);
  await Deno.writeTextFile(topology, text.replaceAll("roles = []", 'roles = ["router"]'));
  const { out, code } = await rig.run("capability", "--json");
  assert.equal(code, 0);
  const matrix = JSON.parse(out).data.fleet as CapabilityMatrix;
  const [row] = matrix.rows;
  assert.ok(row);
  assert.equal(row.verdict, "wrong");
  assert.deepEqual(row.cells.map(({ host, verdict }) => [host, verdict]), [["wrong", "wrong"]]);
  assert.deepEqual(
    Object.fromEntries(matrix.hosts.map(({ host, verdict, code }) => [host, [verdict, code]])),
    {
      barred: ["unknown", "token_unknown"],
      empty: ["empty", "no_serve"],
      gone: ["unreachable", "connection_refused"],
      mute: ["unknown", "scope_missing"],
      older: ["unknown", "operation_absent"],
      strange: ["unknown", "answer_unreadable"],
      wrong: ["empty", "no_serve"],
    },
  );
  assert.deepEqual([row.counts.unknown, row.counts.unreachable, row.counts.empty], [4, 1, 1]);
  // Wrong is no success, and neither is not knowing.
  assert.equal((await rig.run("capability", "llm.primary")).code, 1);
});

Deno.test("capability: what nodes say cannot steer the terminal", async () => {
  const evil = "\u001b[2J\u009b31mllm\u202e.x\r\n<b>";
  await using node = new SimulatedNode(
    "loud",
    telling([{ ...SERVE, capability: evil, state: "stopped", why: evil.repeat(500) }], {
      ...ROUTER,
      aliases: { [evil]: evil },
      tiers: [],
    }),
  );
  await using rig = await dispatchRig([["loud", node.port]]);
  for (const words of [["capability"], ["capability", "llm.primary"], ["capability", "--json"]]) {
    const { out, err } = await rig.run(...words);
    assert.doesNotMatch(out + err, /[^\n\P{Cc}]|\u202e/u);
    assert.ok(out.split("\n").every((line) => words.includes("--json") || line.length < 800));
  }
});

import assert from "node:assert/strict";
import { json, nodeHealth, type NodeScript, nodeWith, SimulatedNode } from "../fixtures/node.ts";
import { ADOPTER_STATUS } from "../support/fake_adopter.ts";
import { dispatchRig } from "../support/dispatch.ts";
import { freePort } from "../support/free_port.ts";
import { ServesOperator } from "../support/serves_operator.ts";

const HOUR = 3_600_000;
const at = (ms: number) => new Date(ms).toISOString();

/** A node with an adopter that says this, whose clock is so far from ours. */
const adopting = (status: object, skewMs = 0): NodeScript => {
  const good = nodeWith({
    "candidates.status": () =>
      json({
        ...{ operation: "candidates.status", dry_run: false, known: false },
        result: { ...ADOPTER_STATUS, ...status },
      }),
  }, { started_at: at(Date.now() + skewMs - HOUR - 60_000) });
  return async (request) => {
    const reply = await good(request);
    return reply?.kind === "answer"
      ? { ...reply, headers: { date: new Date(Date.now() + skewMs).toUTCString() } }
      : reply;
  };
};

/** Hosts of the rows, in their order. */
const hostsOf = (out: string) =>
  out.split("\n\n")[0]?.split("\n").slice(1).map((line) => line.split(" ")[0]);

Deno.test("fleet status: one connection per host, ages by the host's own clock, a summary", async () => {
  await using stack = new AsyncDisposableStack();
  const proven = (ms: number) => ({
    ...{ path: "sha256:aa", rev: "one", sequence: 1, at: at(Date.now() + ms) },
  });
  const nodes = Object.entries({
    ahead: adopting({ proven: proven(5 * HOUR - 2 * HOUR - 60_000) }, 5 * HOUR),
    fine: adopting({ proven: proven(-2 * HOUR - 60_000) }),
    late: adopting({ freshness: "stale", why: "old", proven: proven(-2 * HOUR) }),
    plain: () => null,
  }).map(([name, script]) => stack.use(new SimulatedNode(name, script)));
  await using rig = await dispatchRig([
    ...nodes.map(({ name, port }) => [name, port] as const),
    ["gone", freePort()],
  ]);
  const { out, code } = await rig.run("fleet", "status");
  assert.equal(code, 0);
  for (const node of nodes) assert.equal(node.connections, 1, node.name);
  assert.match(
    out,
    /^ahead +done +now +0\.1\.0 +1 h +1[78]\d{3} s ahead of ours .* one 2 h ago /m,
  );
  assert.match(out, /^fine +done +now +0\.1\.0 +1 h +as ours .* one 2 h ago /m);
  assert.match(
    out,
    /^5 hosts: 4 done, 1 unreachable; 1 stale; clocks: ahead \d+ s ahead of ours$/m,
  );
  assert.deepEqual(hostsOf(out), ["ahead", "fine", "gone", "late", "plain"]);
  const sorted = await rig.run("fleet", "status", "--sort", "problems");
  assert.deepEqual(hostsOf(sorted.out), ["gone", "ahead", "late", "fine", "plain"]);
  const stale = await rig.run("fleet", "status", "--only", "stale");
  assert.deepEqual(hostsOf(stale.out), ["late"]);
  assert.match(stale.out, /; 1 shown$/m);
  const both = await rig.run("fleet", "status", "--only", "problems,skewed", "--json");
  const rows = JSON.parse(both.out).data.fleet as { host: string }[];
  assert.deepEqual(rows.map(({ host }) => host), ["ahead"]);
  assert.deepEqual(hostsOf((await rig.run("fleet", "versions", "--only", "behind")).out), ["gone"]);
});

Deno.test("fleet status: half-upgraded nodes keep their rows, and say what is missing", async () => {
  await using stack = new AsyncDisposableStack();
  const nodes = Object.entries<NodeScript>({
    // Its agent has no candidates.*, and the topology says that it adopts.
    behind: () => null,
    // Speaks a protocol of tomorrow: who it is, is known all the same.
    tomorrow: ({ path }) =>
      path === "/health"
        ? json({ ...nodeHealth("tomorrow"), protocol: 2, version: "9.0.0" })
        : null,
    // Its catalogue names operations that nobody here knows, and one row that is none.
    newer: nodeWith({ "node.dream": () => json({}) }),
  }).map(([name, script]) => stack.use(new SimulatedNode(name, script)));
  await using rig = await dispatchRig(nodes.map(({ name, port }) => [name, port] as const));
  const topology = rig.folder.at("topology.toml");
  const text = await Deno.readTextFile(topology);
  await Deno.writeTextFile(
    topology,
    text.replace(
      "[hosts.behind]\n",
      '[hosts.behind]\nadoption = { policy = "rolling", reboot = "notify" }\n',
    ),
  );
  await Deno.mkdir(rig.folder.at("home"));
  const { out, code } = await rig.run("fleet", "status");
  assert.equal(code, 0);
  assert.match(
    out,
    /^behind +done .* no adopter .* adopter_absent: the topology declares adoption/m,
  );
  assert.match(out, /^tomorrow +refused +now +9\.0\.0 .*protocol_differs/m);
  assert.match(out, /^newer +done +now +0\.1\.0 .* no adopter /m);
});

Deno.test("fleet status --watch: each look prints its whole, until Ctrl-C", async () => {
  await using node = new SimulatedNode("gpu-a");
  await using operator = await ServesOperator.over([["gpu-a", `http://127.0.0.1:${node.port}`]]);
  let looks = 0;
  const { out, code } = await operator.run("fleet status --watch 0.05", {
    onSaid: (said, stop) => {
      if (said.includes("1 host: 1 done") && ++looks === 3) stop();
    },
  });
  assert.equal(code, 0);
  assert.equal(looks, 3);
  assert.equal(out.match(/^HOST /gm)?.length, 3);
  assert.ok(!out.includes("\u001b"), "a pipe is not cleared");
});

import assert from "node:assert/strict";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { makeRepo } from "../fixtures/git_repo.ts";
import { fleetToml, nodeHealth, type NodeScript, SimulatedNode } from "../fixtures/node.ts";
import { operator } from "../fixtures/operator_cli.ts";
import { dispatchRig, toldOf } from "../support/dispatch.ts";
import { freePort } from "../support/free_port.ts";

/** A node that says it is of this version. */
const ofVersion = (version: string): NodeScript => ({ path }) =>
  path === "/health"
    ? {
      kind: "answer",
      status: 200,
      body: JSON.stringify({ ...nodeHealth("old"), version }),
    }
    : null;

Deno.test("a hundred nodes: each has its row, whatever the others do", async () => {
  const nodes = Array.from({ length: 100 }, (_, at) => new SimulatedNode(`n-${at}`));
  await using stack = new AsyncDisposableStack();
  for (const node of nodes) stack.use(node);
  const down = nodes.filter((_, at) => at % 10 === 3);
  for (const node of down) node.refuse();
  await using rig = await dispatchRig(nodes.map((node) => [node.name, node.port]));
  const { code, out, err } = await rig.run("fleet", "status");
  assert.equal(code, 0);
  const rows = out.trimEnd().split("\n");
  assert.equal(rows.length, 103);
  assert.equal(rows.at(-1), "100 hosts: 90 done, 10 unreachable");
  assert.equal(rows.filter((row) => / done +now +0\.1\.0 /.test(row)).length, 90);
  assert.equal(
    rows.filter((row) => / unreachable +never +unknown .*connection_refused/.test(row)).length,
    10,
  );
  // In a pipe: one plain line per host, as it comes.
  assert.equal(err.trimEnd().split("\n").length, 100);
  assert.ok(!err.includes("\r"));
  // The catalogue is the same everywhere: a few asked for it, not everybody.
  const asked = nodes.filter(({ requests }) =>
    requests.some(({ path, method }) => method === "GET" && path === "/v1/operations")
  );
  assert.equal(asked.length, 1);
  for (const node of nodes) assert.ok(node.posts.length <= 1 && node.connections <= 1);
});

Deno.test("an old node looks old, and one that went away keeps its row with its age", async () => {
  await using rig = await (async () => {
    await using old = new SimulatedNode("old", ofVersion("0.9.1"));
    await using fresh = new SimulatedNode("fresh", ({ path }) =>
      path === "/health"
        ? {
          kind: "answer",
          status: 200,
          body: JSON.stringify({ ...nodeHealth("fresh"), version: "0.10.0" }),
        }
        : null);
    const made = await dispatchRig([
      ["old", old.port],
      ["fresh", fresh.port],
      ["never", freePort()],
    ]);
    await Deno.mkdir(made.folder.at("home"));
    const { out } = await made.run("fleet", "versions");
    assert.match(out, /^old +done +now +0\.9\.1 +from source +behind 0\.10\.0 /m);
    assert.match(out, /^fresh +done +now +0\.10\.0 +from source +newest /m);
    assert.match(out, /^never +unreachable +never +unknown +unknown +unknown /m);
    return made;
  })();
  const seen = rig.folder.at("home/seen.json");
  assert.equal((await Deno.stat(seen)).mode! & 0o777, 0o600);
  const text = await Deno.readTextFile(seen);
  const at = new Date(Date.now() - 3 * 86_400_000 - 60_000).toISOString();
  await Deno.writeTextFile(seen, text.replaceAll(/"at":"[^"]+"/g, `"at":"${at}"`));
  const { code, out } = await rig.run("fleet", "versions");
  assert.equal(code, 1);
  assert.match(out, /^old +unreachable +3 d ago +0\.9\.1 +from source +behind 0\.10\.0 /m);
  assert.match(out, /^never +unreachable +never +unknown /m);
  const told = await rig.run("fleet", "versions", "--json");
  const rows = JSON.parse(told.out).data.fleet as { host: string; behind: boolean | null }[];
  assert.deepEqual(rows.map(({ host, behind }) => [host, behind]), [
    ["fresh", false],
    ["never", null],
    ["old", true],
  ]);
  await Deno.writeTextFile(seen, "{");
  assert.match((await rig.run("fleet", "versions")).err, /seen_damaged/);
});

Deno.test("node health and facts: for one host in whole, for many in a row each", async () => {
  await using a = new SimulatedNode("a");
  await using b = new SimulatedNode("b");
  await using rig = await dispatchRig([["a", a.port], ["b", b.port]]);
  const one = await rig.run("node", "health", "--target", "host:a");
  assert.deepEqual([one.code, one.err], [0, ""]);
  assert.match(one.out, /^version +0\.1\.0$/m);
  assert.match(one.out, /^free +unknown$/m);
  assert.equal(b.connections, 0);
  const both = await rig.run("node", "facts", "--target", "all");
  assert.match(both.out, /^a +done .*facts known$/m);
  assert.match(both.out, /^b +done /m);
  const told = toldOf(await rig.run("node", "health", "--target", "all", "--json"));
  assert.deepEqual(told.outcomes.map(({ result }) => result?.["node"]), ["a", "b"]);
});

Deno.test("with a home: its topology, its tokens, its hosts to complete, and where tokens are not", async () => {
  await using folder = await tempDir();
  await using node = new SimulatedNode("gpu-a");
  const home = folder.at("home");
  const repo = folder.at("repo");
  await makeRepo(repo, { "topology.toml": fleetToml([["gpu-a", node.port]]) });
  const made = await operator(home, "home", "materialize", "--repo", repo, "--rev", "HEAD");
  assert.equal(made.code, 0, made.err);
  const none = await operator(home, "node", "health", "--target", "host:gpu-a");
  assert.match(none.err, /credential_missing: .*the token store: no file gpu-a/);
  await Deno.mkdir(`${home}/tokens`);
  await Deno.writeTextFile(`${home}/tokens/gpu-a`, "simulated-token", { mode: 0o600 });
  const health = await operator(home, "node", "health", "--target", "host:gpu-a");
  assert.equal(health.code, 0, health.err);
  assert.equal((await operator(home, "fleet", "status")).code, 0);
  // What the operator keeps in its home is no part of what was exported.
  assert.equal((await operator(home, "home", "verify")).code, 0);
  const proposed = await operator(home, "__complete", "op", "list", "--target", "host:");
  assert.deepEqual(proposed.out, "host:gpu-a\n");
});

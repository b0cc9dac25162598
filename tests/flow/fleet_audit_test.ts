import assert from "node:assert/strict";
import fc from "fast-check";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { type AuditRow, newestOf } from "../../roles/operator/audit_rows.ts";
import { json, type NodeScript, nodeWith, problem, SimulatedNode } from "../fixtures/node.ts";
import { lampOperation, startAgentRig, TOKENS } from "../support/agent.ts";
import { dispatchRig } from "../support/dispatch.ts";
import { freePort } from "../support/free_port.ts";

const done = (records: unknown) => ({
  ...{ operation: "audit.tail", dry_run: false, known: false, result: { records } },
});
const record = (seq: number, at: number, more: object = {}) => ({
  ...{ seq, at: new Date(at).toISOString(), phase: "end", call: `c-${seq}`, principal: "ann" },
  ...{ operation: "serves.up", action: "apply", key: "k", dry_run: false, outcome: "done" },
  ...{ code: null, duration_ms: 4, ...more },
});

Deno.test("audit tail: a real agent's records; a start with its end is one line", async () => {
  await using dir = await tempDir();
  const lamp = lampOperation(dir.at("lamp"), () => Promise.resolve());
  await using agent = await startAgentRig(dir.path, [lamp]);
  await using rig = await dispatchRig([["gpu-a", agent.agent.port]], { "gpu-a": TOKENS.all });
  await agent.call("lamp.light", { input: { lamp: "one" }, dry_run: true });
  await agent.call("lamp.light", { input: { lamp: "two" } }, { key: "key-of-the-test" });
  await agent.call("lamp.light", { input: { lamp: "two" } }, { token: TOKENS.reader, key: "k2" });
  const { out, code } = await rig.run("audit", "tail");
  assert.equal(code, 0);
  const lines = out.trimEnd().split("\n").slice(1).map((line) =>
    line.split(/ {2,}/).slice(2, 6).join(" ")
  );
  assert.deepEqual(lines, [
    "all lamp.light plan, dry done",
    "all lamp.light apply done",
    "reader lamp.light apply refused: scope_missing",
  ]);
  assert.match((await rig.run("audit", "tail", "--reads")).out, / audit\.tail +read +/);
  const ours = await rig.run("audit", "tail", "--principal", "reader", "--json");
  const { records } = JSON.parse(ours.out).data.fleet;
  assert.deepEqual(records.map(({ code }: { code: string }) => code), ["scope_missing"]);
});

Deno.test("audit tail: many hosts in one order, clocks put right, and who told nothing", async () => {
  const now = Date.now();
  const HOUR = 3_600_000;
  const telling = (records: unknown, skewMs = 0): NodeScript => {
    const good = nodeWith({ "audit.tail": () => json(done(records)) });
    return async (request) => {
      const reply = await good(request);
      return reply?.kind === "answer"
        ? { ...reply, headers: { date: new Date(Date.now() + skewMs).toUTCString() } }
        : reply;
    };
  };
  let asked = 0;
  await using stack = new AsyncDisposableStack();
  const nodes = Object.entries<NodeScript>({
    a: telling([record(1, now - 60_000), record(2, now - 20_000)]),
    // Its clock is five hours ahead, and was set back in between.
    b: telling([record(1, now + 5 * HOUR - 40_000), record(2, now + HOUR)], 5 * HOUR),
    // Older than the choice of actions: asked again for all of it.
    c: nodeWith({
      "audit.tail": ({ body }) => {
        asked++;
        return body.includes("actions") ? problem(422, "input_invalid") : json(
          done([record(1, now - 30_000), record(2, now, { action: "read" }), { nonsense: 1 }]),
        );
      },
    }),
    d: nodeWith({ "audit.tail": () => problem(403, "scope_missing") }),
  }).map(([name, script]) => stack.use(new SimulatedNode(name, script)));
  await using rig = await dispatchRig([
    ...nodes.map(({ name, port }) => [name, port] as const),
    ["gone", freePort()],
  ]);
  const { out, code } = await rig.run("audit", "tail");
  assert.equal(code, 0);
  assert.equal(asked, 2);
  const hosts = out.split("\n").slice(1).flatMap((line) => /^\S+Z +(\S+)/.exec(line)?.[1] ?? []);
  assert.deepEqual(hosts, ["a", "b", "b", "c", "a"]);
  assert.match(out, /^d: not told: scope_missing: /m);
  assert.match(out, /^gone: not told: connection_refused: /m);
  assert.match(out, /^1 records could not be read$/m);
  const two = await rig.run("audit", "tail", "--lines", "2");
  assert.equal(two.out.match(/^\S+Z /gm)?.length, 2);
});

Deno.test("audit tail: the newest of all, in whichever order hosts answer", () => {
  const row = fc.record({
    host: fc.constantFrom("a", "b", "c"),
    ours: fc.integer({ min: 0, max: 20 }),
    seq: fc.integer({ min: 0, max: 9 }),
  }).map((one) => one as unknown as AuditRow);
  fc.assert(fc.property(fc.array(row), fc.array(row), fc.array(row), (a, b, c) => {
    const one = newestOf(newestOf(a, b, 5), c, 5);
    const other = newestOf(a, newestOf(c, b, 5), 5);
    assert.deepEqual(
      one.map(({ ours }) => ours),
      other.map(({ ours }) => ours),
    );
    assert.ok(one.every((each, at) => each.ours >= (one[at - 1]?.ours ?? 0)));
  }));
});

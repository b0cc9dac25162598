import assert from "node:assert/strict";
import { z } from "zod";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { DOCKER } from "../fixtures/serves.ts";
import { json, problem, SimulatedNode } from "../fixtures/node.ts";
import { CANARY } from "../support/dispatch.ts";
import { freePort } from "../support/free_port.ts";
import { ServesOperator } from "../support/serves_operator.ts";
import { type ServesRig, startServesRig } from "../support/serves_rig.ts";
import { pause, until } from "../support/wait.ts";

/** Two serves that fit beside each other; the second needs the first. */
const TWO = DOCKER + DOCKER.replace("schema = 1\n", "")
  .replace('name = "primary"', 'name = "second"').replace("anvil-primary", "anvil-second")
  .replace("port = 8001", "port = 8002")
  .replace("mib = 18432", "mib = 40000")
  .replace('residency = "resident"', 'residency = "on-demand"\ndepends = ["primary"]');

const HERE = "--target host:gpu-a";

async function withOperator(
  act: (operator: ServesOperator, rig: ServesRig) => Promise<void>,
): Promise<void> {
  await using dir = await tempDir();
  await using rig = await startServesRig(dir.path, TWO);
  await using operator = await ServesOperator.over([["gpu-a", rig.agent.url]]);
  await act(operator, rig);
}

/** What the agent's ledger has, newest first. */
async function runs(rig: ServesRig): Promise<readonly Record<string, unknown>[]> {
  const { body } = await rig.agent.call("operations.list", { input: {} });
  return (body["result"] as { runs: Record<string, unknown>[] }).runs;
}

/** Ends the run that is worked on. */
async function cancel(rig: ServesRig): Promise<void> {
  const [run] = await runs(rig);
  const ask = { input: { run: run?.["id"] } };
  await rig.agent.call("operations.cancel", ask, { key: "cancel-of-a-test" });
  await until(
    "it is over",
    async () => (await runs(rig)).every(({ state }) => state !== "running"),
  );
}

Deno.test("serves up: the sum first, then the steps, then how it ended", async () => {
  await withOperator(async (operator, { host }) => {
    host.courses.set("primary", { healthyAfterMs: 1500 });
    const dry = await operator.run(`serves up primary --dry-run ${HERE}`);
    assert.deepEqual([dry.code, dry.err, host.happened.length], [0, "", 0]);
    assert.match(dry.out, /^MEMORY +ROOM MIB +RUNS +OTHERS +STARTS +LEFT$/m);
    assert.match(dry.out, /^gpu-0 +95839 +- +0 +primary 18432 +77407$/m);
    const { code, out, err } = await operator.run(`serves up primary ${HERE}`);
    assert.equal(code, 0, err);
    assert.match(
      err,
      /primary 18432 [^]*key: op-[0-9a-f]+\n[^]*gpu-a: [\d.]+ s: primary: loading\n/,
    );
    assert.doesNotMatch(err, /\r/, "a pipe gets lines");
    assert.match(out, /^primary on gpu-a: up after \d[\d.]* s, pid 1000, its health and its/);
    assert.match(out, /^run run-[0-9a-f]{24}$/m);
    const list = await operator.run("serves list");
    assert.match(list.out, /^gpu-a +primary +running +docker +8001 +primary/m);
    const sheet = await operator.run(`serves status primary ${HERE}`);
    assert.match(sheet.out, /^port +8001, owned by this process: proven$/m);
    assert.match(sheet.out, /^engine +ready$/m);
    const adopted = await operator.run(`serves adopt primary ${HERE}`);
    assert.match(adopted.out, /^primary on gpu-a: up already, pid 1000/);
  });
});

Deno.test("serves up on a terminal: the step that runs changes in place, the key stands before it", async () => {
  await withOperator(async (operator, { host }) => {
    host.courses.set("primary", { healthyAfterMs: 2500 });
    const { err } = await operator.run(`serves up primary ${HERE}`, { terminal: true });
    const [, live = ""] = err.split(/key: op-[0-9a-f]+\n/);
    const draws = live.split("\r").slice(1);
    assert.ok(draws.length > 1, `it changed: ${JSON.stringify(live)}`);
    for (const one of draws) {
      assert.match(one, /^ +[\d.]+ s {2}(begun|primary: loading) *\n?$/);
      assert.ok(one.trimEnd().length <= 79);
    }
    const settled = live.split("\n").map((line) => line.split("\r").at(-1) ?? "");
    assert.equal(settled.filter((one) => one.includes("loading")).length, 1, "and left one line");
  });
});

Deno.test("serves down and restart: no confirm, no effect, and no success either", async () => {
  await withOperator(async (operator, { host }) => {
    await operator.run(`serves up primary ${HERE}`);
    host.happened.length = 0;
    for (const verb of ["down", "restart"]) {
      const { code, out, err } = await operator.run(`serves ${verb} primary ${HERE}`);
      assert.equal(code, 1);
      assert.match(out, /^primary on gpu-a: ask it to end \(pid 1000, .* wait 30 s at most/);
      assert.match(err, /confirm_required: this is the plan[^]*next: .*--confirm/);
      assert.doesNotMatch(err, /key:/);
      const planned = await operator.run(`serves ${verb} primary --dry-run ${HERE}`);
      assert.deepEqual([planned.code, planned.out, planned.err], [0, out, ""]);
    }
    const force = await operator.run(`serves down primary --force ${HERE}`);
    assert.match(force.out, /kill it at once/);
    assert.deepEqual(host.happened, []);
    const down = await operator.run(`serves down primary --confirm ${HERE}`);
    assert.equal(down.code, 0, down.err);
    assert.match(
      down.out,
      /^primary on gpu-a: down after .*: 0 processes are left, its port is free/,
    );
    assert.deepEqual(host.happened, ["stop primary"]);
  });
});

Deno.test("serves up: over budget, and a plan that is refused, end before anything is sent", async () => {
  await withOperator(async (operator, rig) => {
    const early = await operator.run(`serves up second ${HERE}`);
    assert.equal(early.code, 1);
    assert.match(
      early.err,
      /dependency_down: second needs primary.*\n {2}next: start primary first/,
    );
    rig.host.strangers.push({
      ...{ serve: null, label: "nobody-declared-me", devices: ["gpu-0"], pids: [], mib: 80_000 },
    });
    const over = await operator.run(`serves up primary ${HERE}`);
    assert.equal(over.code, 1);
    assert.match(over.err, /over_budget: .*gpu-0: 98432 MiB of 95839 would be taken/);
    assert.doesNotMatch(over.err, /key:/, "no mutation left");
    assert.deepEqual([rig.host.happened, await runs(rig)], [[], []]);
  });
});

Deno.test("an engine that died: its code, its last lines, and what to look at", async () => {
  await withOperator(async (operator, { host }) => {
    const lines = ["loading", "no such \x1b[31mmodel"];
    host.courses.set("primary", { diesAfterMs: 50, exitCode: 3, healthyAfterMs: null, lines });
    const { code, err } = await operator.run(`serves up primary ${HERE}`);
    assert.equal(code, 1);
    assert.match(err, /serve_died: primary ended with code 3/);
    assert.match(err, /next: anvil-operator serves status primary --target host:gpu-a\n/);
    assert.match(
      err,
      /may_have_executed\nthe last lines of primary:\n {2}loading\n {2}no such \ufffd/,
    );
    const list = await operator.run("serves list");
    assert.match(list.out, /stopped .* ended with code 3$/m);
  });
});

Deno.test("Ctrl-C: the run goes on, the command says so, and its key joins it", async () => {
  await withOperator(async (operator, rig) => {
    rig.host.courses.set("primary", { healthyAfterMs: 4000 });
    for (const flag of ["", "--json "]) {
      let live = false;
      const { code, out, err } = await operator.run(`serves up primary ${flag}${HERE}`, {
        onSaid: (said, stop) => {
          if (flag !== "" && said.startsWith("key: ")) setTimeout(stop, 1000);
          if (said.includes("primary: loading")) {
            live = true;
            stop();
          }
        },
      });
      assert.equal(code, 1);
      const [run] = await runs(rig);
      assert.equal(run?.["state"], "running", "nobody ended the run");
      if (flag === "") {
        assert.ok(live);
        assert.match(err, /interrupted: .*; the run goes on at the node without it, its last step/);
        assert.ok(err.includes(`op status --target host:gpu-a ${run["id"]};`), err);
      } else {
        assert.doesNotMatch(err, /loading/, "quiet for a program");
        const { outcomes, key } = JSON.parse(out).data;
        assert.deepEqual([outcomes[0].outcome, outcomes[0].run.id, outcomes[0].run.state, key], [
          ...["may_have_executed", run["id"], "running", run["key"]],
        ]);
      }
      if (flag !== "") break;
      await cancel(rig);
      await operator.run(`serves down primary --confirm ${HERE}`);
    }
    const [run] = await runs(rig);
    const joined = await operator.run(`serves up primary --key ${run?.["key"]} ${HERE}`);
    assert.equal(joined.code, 0, joined.err);
    assert.doesNotMatch(joined.err, /ROOM MIB/, "a join plans nothing");
    assert.ok(joined.out.includes(`run ${run?.["id"]}`), joined.out);
    assert.equal(rig.host.happened.filter((one) => one === "start primary").length, 2);
  });
});

Deno.test("Ctrl-C before anything left: nothing is said to go on", async () => {
  const proving = Promise.withResolvers<void>();
  await using node = new SimulatedNode("gpu-a", ({ path }) => {
    if (path !== "/livez") return null;
    proving.resolve();
    return { kind: "hang" };
  });
  await using operator = await ServesOperator.over([["gpu-a", `http://127.0.0.1:${node.port}`]]);
  const { code, err } = await operator.run(
    `serves down primary --confirm --key a-key-of-ours ${HERE}`,
    { stopped: proving.promise },
  );
  assert.equal(code, 1);
  assert.match(err, /^gpu-a: interrupted: .*nothing was changed there\n$/);
  assert.equal(node.posts.length, 0);
});

Deno.test("the answer is lost and the run is not found: nothing is claimed", async () => {
  await using node = new SimulatedNode(
    "gpu-a",
    ({ method, path }) =>
      method === "POST" && path.endsWith("serves.up") ? { kind: "bytes", text: "" } : null,
  );
  await using operator = await ServesOperator.over([["gpu-a", `http://127.0.0.1:${node.port}`]]);
  const { code, err } = await operator.run(`serves up primary --key a-key-of-ours ${HERE}`);
  assert.equal(code, 1);
  assert.match(err, /connection_closed: .*\n {2}next: send the same again with the same key/);
  assert.match(err, /gpu-a: may_have_executed\n$/);
  assert.doesNotMatch(err, /goes on|run is/);
});

Deno.test("the node is gone after its run was seen: what was seen is told as the past", async () => {
  let gone = false;
  const seen = { id: `run-${"a".repeat(24)}`, operation: "serves.up", key: "a-key-of-ours" };
  const run = { ...seen, state: "running", step: "primary: loading" };
  await using node = new SimulatedNode("gpu-a", async ({ path }) => {
    if (gone) return { kind: "bytes", text: "" };
    if (path.endsWith("operations.list")) {
      const result = { runs: [{ ...run, operation: "serves.down" }, run] };
      return json({ operation: "operations.list", dry_run: false, known: false, result });
    }
    if (!path.endsWith("serves.up")) return null;
    await pause(1000);
    gone = true;
    return { kind: "bytes", text: "" };
  });
  await using operator = await ServesOperator.over([["gpu-a", `http://127.0.0.1:${node.port}`]]);
  const { code, err } = await operator.run(`serves up primary --key a-key-of-ours ${HERE}`);
  assert.equal(code, 1);
  assert.match(
    err,
    /connection_closed: .*; the node does not tell how the run is now; when it was/,
  );
  assert.match(err, /last seen it was running, its last step is `primary: loading`\n/);
  assert.ok(err.includes(`op status --target host:gpu-a ${run.id};`), err);
  assert.doesNotMatch(err, /goes on/);
});

Deno.test("a token that may not see runs still starts one, and is told why no steps are shown", async () => {
  await using node = new SimulatedNode("gpu-a", async ({ path }) => {
    if (path.endsWith("operations.list")) return problem(403, "scope_missing");
    if (!path.endsWith("serves.up")) return null;
    await pause(1500);
    const result = { serve: "primary", outcome: "up", observed: { pid: 7, already: false } };
    return json({ operation: "serves.up", dry_run: false, known: false, result });
  });
  await using operator = await ServesOperator.over([["gpu-a", `http://127.0.0.1:${node.port}`]]);
  const { code, err, out } = await operator.run(`serves up primary --key a-key-of-ours ${HERE}`);
  assert.equal(code, 0, err);
  assert.match(err, /gpu-a: its steps are not shown: /);
  assert.equal(node.posts.filter(({ path }) => path.endsWith("list")).length, 1, "asked once");
  assert.match(out, /^primary on gpu-a: up, pid 7/);
});

Deno.test("serves list: hosts without serves, down, and with a strange tongue have their rows", async () => {
  await using dir = await tempDir();
  await using rig = await startServesRig(dir.path, TWO);
  await using plain = new SimulatedNode("plain");
  await using operator = await ServesOperator.over([
    ["gpu-a", rig.agent.url],
    ["plain", `http://127.0.0.1:${plain.port}`],
    ["down", `http://127.0.0.1:${freePort()}`],
  ], { plain: CANARY, down: CANARY });
  const { code, out } = await operator.run("serves list");
  assert.equal(code, 0);
  assert.match(out, /^down +- +unreachable .*connection_refused/m);
  assert.match(out, /^plain +- +refused .*it serves no models$/m);
  assert.match(out, /^gpu-a +second +stopped/m);
  const all = await operator.run("serves list --require-all");
  assert.equal(all.code, 1);
  const many = await operator.run("serves down primary --confirm --target all");
  assert.equal(many.code, 1);
  assert.match(many.err, /one_host_only/);
});

Deno.test("the envelope of every command here has its schema's shape, and nothing but it is on stdout", async () => {
  const path = new URL("../../fleet/schemas/envelope.schema.json", import.meta.url);
  const schema = z.fromJSONSchema(JSON.parse(await Deno.readTextFile(path)));
  await withOperator(async (operator, { host }) => {
    host.courses.set("second", { diesAfterMs: 20, exitCode: 1, healthyAfterMs: null });
    for (
      const [words, ok] of [
        [`serves list`, true],
        [`serves up primary --dry-run ${HERE}`, true],
        [`serves up second ${HERE}`, false],
        [`serves up primary ${HERE}`, true],
        [`serves up second ${HERE}`, false],
        [`serves status primary ${HERE}`, true],
        [`serves logs primary --lines 3 ${HERE}`, true],
        [`serves status nobody ${HERE}`, false],
        [`serves restart primary ${HERE}`, false],
        [`serves adopt primary ${HERE}`, true],
        [`serves down primary --confirm ${HERE}`, true],
        [`mode status ${HERE}`, true],
        [`mode enter studio ${HERE}`, false],
        [`promote status ${HERE}`, true],
        [`config restore --confirm ${HERE}`, false],
        [`config install /nonexistent --confirm ${HERE}`, false],
      ] as const
    ) {
      const { code, out } = await operator.run(`${words} --json`);
      const envelope = JSON.parse(out);
      const checked = schema.safeParse(envelope);
      assert.ok(checked.success, `${words}: ${JSON.stringify(checked.error)}`);
      assert.deepEqual([envelope.ok, code === 0], [ok, ok], `${words}: ${out}`);
      assert.equal(out.trimEnd().split("\n").length, 1, words);
    }
  });
});

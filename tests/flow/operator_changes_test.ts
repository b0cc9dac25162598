import assert from "node:assert/strict";
import { writeEvidence } from "../../lib/evidence/evidence.ts";
import { sampleEvidence } from "../../lib/testing/evidence_samples.ts";
import type { ServeHands } from "../../lib/serves/machines/ports.ts";
import { FakeDisk } from "../../lib/testing/fake_disk.ts";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { json, problem, SimulatedNode } from "../fixtures/node.ts";
import { type AgentRig, startAgentRig } from "../support/agent.ts";
import { ChangeWorld } from "../support/change_world.ts";
import { ServesOperator } from "../support/serves_operator.ts";
import { pause } from "../support/wait.ts";

const HERE = "--target host:gpu-a";

/** An agent over `world`, each start of a serve held for `holdMs`, and its operator. */
async function withOperator(
  act: (operator: ServesOperator, world: ChangeWorld, agent: AgentRig) => Promise<void>,
  holdMs = 0,
): Promise<void> {
  await using dir = await tempDir();
  const world = new ChangeWorld(new FakeDisk());
  const handsFor = () => {
    const { hands } = world.life();
    const held: ServeHands = {
      ...hands,
      up: async (name, signal) => {
        if (holdMs > 0) await pause(holdMs);
        return await hands.up(name, signal);
      },
    };
    return Promise.resolve(held);
  };
  const serves = { facts: () => Promise.resolve(world.facts), handsFor };
  await using agent = await startAgentRig(dir.path, [], { roles: ["serving"], serves });
  await using operator = await ServesOperator.over([["gpu-a", agent.url]]);
  await act(operator, world, agent);
}

Deno.test("mode: looked at, refused without a word of consent, entered step by step, left", async () => {
  await withOperator(async (operator, { host }) => {
    const outside = await operator.run(`mode status ${HERE}`);
    assert.match(outside.out, /^studio +outside +studio +-$/m);
    const preview = await operator.run(`mode preview studio ${HERE}`);
    assert.match(
      preview.out,
      /^enter studio on gpu-a: 4 steps\n\n# +STEP +WHAT\n1 +stop +serve chat$/m,
    );
    assert.match(preview.out, /^stopped +chat\nstarted +studio$/m);
    assert.match(preview.out, /^digest +[0-9a-f]{64}$/m);
    const asked = await operator.run(`mode enter studio ${HERE}`);
    assert.deepEqual([asked.code, asked.out], [1, preview.out], "the same plan, and no success");
    assert.match(asked.err, /confirm_required/);
    assert.deepEqual(host.happened, []);

    const entered = await operator.run(`mode enter studio --confirm ${HERE}`);
    assert.equal(entered.code, 0, entered.err);
    assert.match(entered.err, /gpu-a: [\d.]+ s: \[3\/4\] 000001-enter: start serve studio\n/);
    assert.match(entered.out, /^studio on gpu-a: reached by 000001-enter, 4 steps\nrun run-/);
    assert.deepEqual(host.running, ["embed", "studio"]);
    const again = await operator.run(`mode enter studio --confirm ${HERE}`);
    assert.match(again.out, /it is so already; nothing was done/);
    const inside = await operator.run(`mode status ${HERE}`);
    assert.match(inside.out, /^studio +in_force +studio +studio$/m);
    assert.match(inside.out, /^done +start serve studio +started: /m);

    const leaving = await operator.run(`mode preview studio --leave --start embed ${HERE}`);
    assert.match(leaving.out, /^leave studio on gpu-a/);
    assert.doesNotMatch(leaving.out, /chat/, "--start names what comes back");
    const left = await operator.run(`mode leave studio --confirm ${HERE}`);
    assert.equal(left.code, 0, left.err);
    assert.deepEqual(host.running, ["chat", "embed"]);
    const changes = await operator.run(`promote status ${HERE}`);
    assert.match(
      changes.out,
      /^000002-leave: leave studio, reached\n[^]*before that\n[^]*000001-enter/m,
    );
  }, 1500);
});

Deno.test("mode enter: a plan that has no room is refused, and no key was used", async () => {
  await withOperator(async (operator, world) => {
    world.tooLarge.add("studio");
    const { code, out, err } = await operator.run(`mode enter studio --confirm ${HERE}`);
    assert.deepEqual([code, out], [1, ""]);
    assert.match(err, /over_budget/);
    assert.doesNotMatch(err, /key:/);
    assert.deepEqual(world.host.happened, []);
    const none = await operator.run(`mode preview nothing ${HERE}`);
    assert.equal(none.code, 1);
    assert.match(none.err, /mode_unknown/);
  });
});

Deno.test("mode enter: a change that is taken back is no success, and says why", async () => {
  await withOperator(async (operator, { host }) => {
    host.courses.set("studio", { serves: "org/impostor" });
    const { code, err } = await operator.run(`mode enter studio --confirm ${HERE}`);
    assert.equal(code, 1);
    assert.match(
      err,
      /change_returned: 000001-enter was taken back, everything is as it was: ident/,
    );
    assert.match(err, /gpu-a: refused\n$/);
    assert.deepEqual(host.running, ["chat", "embed"]);
    const status = await operator.run(`promote status ${HERE}`);
    assert.match(status.out, /^000001-enter: enter studio, returned\nwhy +identity_mismatch/);
    const resume = await operator.run(`promote resume 000001-enter ${HERE}`);
    assert.match(resume.out, /is at returned: it is over; there is nothing to go on with/);
    const unknown = await operator.run(`promote resume 000009-enter ${HERE}`);
    assert.match(unknown.out, /there is no such change/);
  });
});

Deno.test("mode enter: Ctrl-C in the middle of a change; it is reached all the same", async () => {
  await withOperator(async (operator, { host }, agent) => {
    const said = await operator.run(`mode enter studio --confirm ${HERE}`, {
      onSaid: (text, stop) => {
        if (text.includes("start serve studio")) stop();
      },
    });
    assert.equal(said.code, 1);
    assert.match(said.err, /the run goes on at the node .*`000001-enter: start serve studio`/);
    const [, run] = /op status --target host:gpu-a (run-[0-9a-f]+)/.exec(said.err) ?? [];
    const [, key] = /with --key (\S+), which/.exec(said.err) ?? [];
    const joined = await operator.run(`mode enter studio --confirm --key ${key} ${HERE}`);
    assert.equal(joined.code, 0, joined.err);
    assert.deepEqual(host.running, ["embed", "studio"]);
    const { body } = await agent.get(`/v1/operations/runs/${run}`);
    assert.deepEqual([body["state"], body["key"]], ["done", key]);
  }, 2500);
});

Deno.test("promote and config: without a router, refused in the plan and nothing is sent", async () => {
  await withOperator(async (operator, { host }) => {
    const file = operator.rig.folder.at("router.toml");
    await Deno.writeTextFile(file, "schema = 1\n");
    const { words: named } = await kept(operator);
    for (
      const words of [
        `promote plan llm.primary --config ${file} ${named}`,
        `promote apply llm.primary --config ${file} ${named} --plan ${"0".repeat(64)} --confirm`,
        `config install ${file} --confirm`,
        `config restore --confirm`,
      ]
    ) {
      const { code, out, err } = await operator.run(`${words} ${HERE}`);
      assert.deepEqual([code, out], [1, ""], words);
      assert.match(err, /^gpu-a: router_[a-z_]+: [^]*gpu-a: refused\n$/, words);
    }
    const absent = await operator.run(
      `promote plan llm.primary --config /none.toml ${named} ${HERE}`,
    );
    assert.deepEqual([absent.code, absent.err.split(":")[0]], [2, "file_absent"]);
    await Deno.writeFile(file, new Uint8Array([0xff, 0xfe]));
    const binary = await operator.run(`config install ${file} ${HERE}`);
    assert.deepEqual([binary.code, binary.err.split(":")[0]], [2, "file_unreadable"]);
    const short = await operator.run(`promote apply a --config ${file} ${named} --plan 0f ${HERE}`);
    assert.equal(short.code, 2);
    assert.deepEqual(host.happened, []);
  });
});

Deno.test("promote: what is sent is what was asked for, and a stale plan is told as one", async () => {
  const digest = "d".repeat(64);
  const steps = [{ do: "quiesce", tier: "primary" }, { do: "write", from: digest, to: digest }];
  const plan = { kind: "promote", subject: "llm.primary", steps, notes: ["the router restarts"] };
  const shown = {
    ...{ digest, plan, steps: ["quiesce tier primary", "write config dddd over dddd"] },
    ...{ ends_benchmark: "bench-000004", evidence_age_days: 41 },
  };
  await using node = new SimulatedNode("gpu-a", ({ path, body }) => {
    const operation = path.slice("/v1/operations/".length);
    if (!operation.startsWith("promotion.")) return null;
    const { dry_run } = JSON.parse(body);
    return operation === "promotion.apply" && !dry_run
      ? problem(409, "plan_stale")
      : json({ operation, dry_run, known: false, result: shown });
  });
  await using operator = await ServesOperator.over([["gpu-a", `http://127.0.0.1:${node.port}`]]);
  const file = operator.rig.folder.at("router.next.toml");
  await Deno.writeTextFile(file, "schema = 1 # next\n");
  const { words: named, evidence } = await kept(operator);
  const words = `llm.primary --config ${file} ${named} --drain 300`;
  const planned = await operator.run(`promote plan ${words} ${HERE}`);
  assert.equal(planned.code, 0, planned.err);
  assert.match(planned.out, /^measured +41 days ago$/m);
  assert.match(planned.out, /^ends +bench-000004, which is being measured/m);
  assert.match(planned.out, /^closed +primary\nwritten +router.toml, and the router restarts\n/m);
  const apply = `promote apply ${words} --plan ${digest} --confirm ${HERE}`;
  const applied = await operator.run(apply);
  assert.equal(applied.code, 1);
  assert.match(applied.err, /plan_stale/);
  const asked = node.posts.filter(({ path }) => path.includes("promotion."))
    .map(({ path, body }) => ({ name: path.split("/").at(-1), ...JSON.parse(body) }));
  const config = "schema = 1 # next\n";
  const input = { alias: "llm.primary", config, evidence, drain_seconds: 300 };
  assert.deepEqual(asked, [
    { name: "promotion.plan", input, dry_run: false, confirm: false },
    {
      ...{ name: "promotion.apply", dry_run: true, confirm: false },
      input: { ...input, plan: digest },
    },
    {
      ...{ name: "promotion.apply", dry_run: false, confirm: true },
      input: { ...input, plan: digest },
    },
  ]);
});

Deno.test("promote: without evidence that is kept and whole, nothing is sent", async () => {
  await using node = new SimulatedNode("gpu-a");
  await using operator = await ServesOperator.over([["gpu-a", `http://127.0.0.1:${node.port}`]]);
  const file = operator.rig.folder.at("router.next.toml");
  await Deno.writeTextFile(file, "schema = 1\n");
  const plan = `promote plan llm.primary --config ${file} ${HERE}`;
  const unnamed = await operator.run(plan);
  assert.deepEqual([unnamed.code, /--evidence/.test(unnamed.err)], [2, true]);
  const absent = await operator.run(`${plan} --evidence ev-0f1e`);
  assert.deepEqual([absent.code, absent.err.split(":")[0]], [1, "evidence_absent"]);
  const { words, path } = await kept(operator);
  await Deno.writeTextFile(path, (await Deno.readTextFile(path)).replace("gpu-a", "gpu-b"));
  const tampered = await operator.run(`${plan} ${words}`);
  assert.equal(tampered.code, 2);
  assert.match(tampered.err, /evidence_tampered/);
  assert.deepEqual(node.posts, []);
});

/** Evidence in the operator's home, as words of a command and as it is sent. */
async function kept({ rig }: ServesOperator) {
  const { id, bytes, digest } = await writeEvidence(sampleEvidence());
  await Deno.mkdir(rig.folder.at("home/evidence"), { recursive: true });
  const path = rig.folder.at(`home/evidence/${digest}.json`);
  await Deno.writeFile(path, bytes);
  const document = new TextDecoder().decode(bytes);
  return { words: `--evidence ${id.slice(0, 12)}`, evidence: { id, document }, path };
}

import assert from "node:assert/strict";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { type AgentRig, startAgentRig } from "../support/agent.ts";
import {
  ADOPTER_STATUS as STATUS,
  adopterSays as envelope,
  fakeAdopter,
} from "../support/fake_adopter.ts";
import { until } from "../support/wait.ts";

let keys = 0;
const live = (rig: AgentRig, name: string, input: unknown = {}) =>
  rig.call(name, { input, confirm: true }, { key: `candidates-${++keys}` });
const result = (told: Awaited<ReturnType<typeof live>>) => {
  assert.equal(told.status, 200, JSON.stringify(told.body));
  return told.body["result"] as Record<string, unknown>;
};
const END = ["--config=/etc/anvil/adopter.toml", "--json"].join("|");

Deno.test("candidates: only on a host with an adopter", async () => {
  await using dir = await tempDir();
  await using rig = await startAgentRig(dir.path);
  assert.equal((await rig.call("candidates.status", {})).code, "operation_unknown");
});

Deno.test("candidates: status passes on what it knows, and who may not read all gets what there is", async () => {
  await using dir = await tempDir();
  const fake = await fakeAdopter(dir);
  await using rig = await startAgentRig(dir.path, [], { toml: fake.toml() });
  const told = result(await rig.call("candidates.status", {}));
  assert.deepEqual([told["freshness"], told["current_rev"]], ["fresh", "one"]);
  assert.deepEqual((told["ages_seconds"] as Record<string, unknown>)["contact"], null);
  assert.ok(!("something_newer" in told));
  assert.deepEqual(await fake.asked(), [`agent:all|status|${END}`]);
  await fake.says("status", 1, envelope({ ...STATUS, unreadable: ["state"] }, "x", false));
  const less = result(await rig.call("candidates.status", {}));
  assert.deepEqual(less["unreadable"], ["state"]);
  await fake.says("status", 1, envelope(null, "summary_unreadable", false));
  assert.equal((await rig.call("candidates.status", {})).code, "candidates_unknown");
  await fake.says("status", 0, envelope({ freshness: "fresh" }));
  assert.equal((await rig.call("candidates.status", {})).code, "adopter_unusable");
  await fake.says("status", 0, "{");
  assert.equal((await rig.call("candidates.status", {})).code, "adopter_unusable");
});

Deno.test("candidates: every exit code of the adopter is an outcome of its own", async () => {
  await using dir = await tempDir();
  const fake = await fakeAdopter(dir);
  await using rig = await startAgentRig(dir.path, [], { toml: fake.toml() });
  const table: readonly [number, string, string | null, string][] = [
    [0, envelope({ code: "proven", detail: "d", ending: "known-good", rev: "two" }), null, ""],
    [0, envelope({ code: "gate_busy", ending: "deferred", reasons: [{ gate: "g" }] }), null, ""],
    [0, envelope({ code: "busy", detail: "another" }), "adopter_busy", "none"],
    [
      1,
      envelope({ code: "probe_failed", ending: "rolled-back" }, "probe_failed", false),
      "candidate_rolled_back",
      "applied",
    ],
    [1, envelope(null, "expired", false), "candidate_refused", "none"],
    [1, envelope(null, "facts_unknown", false), "candidate_refused", "unknown"],
    [1, envelope({ code: "x", ending: "superseded" }, "x", false), "candidate_failed", "unknown"],
    [2, "", "adopter_misconfigured", "none"],
    [3, envelope(null, "manual_recovery", false), "candidate_manual_recovery", "unknown"],
    [1, "systemd-run: access denied", "adopter_unclear", "unknown"],
    [77, envelope({ code: "proven" }), "adopter_unclear", "unknown"],
  ];
  for (const [exit, out, code, effect] of table) {
    await fake.says("adopt", exit, out);
    const told = await live(rig, "candidates.adopt");
    const what = `${exit} ${out}: ${JSON.stringify(told.body)}`;
    assert.equal(told.code, code, what);
    if (code === null) continue;
    const run = told.body["run"] as { effect: string } | undefined;
    assert.equal(run?.effect, effect, what);
    assert.ok(!JSON.stringify(told.body).includes("/secret"), "a text of the adopter got out");
    assert.equal(told.body["may_have_executed"], effect !== "none", what);
  }
  await Deno.remove(dir.at("adopter"));
  assert.equal((await live(rig, "candidates.resume")).code, "adopter_unusable");
});

Deno.test("candidates: a dry run asks and changes nothing; texts of people stay one argument", async () => {
  await using dir = await tempDir();
  const fake = await fakeAdopter(dir);
  await using rig = await startAgentRig(dir.path, [], { toml: fake.toml() });
  for (const verb of ["adopt", "rollback", "pause", "resume", "unreject", "offer", "stage"]) {
    await fake.says(verb, 0, envelope({ code: "fine", detail: "" }));
  }
  const id = `sha256:${"a".repeat(64)}`;
  const table: readonly [string, object, readonly string[], readonly string[]][] = [
    ["stage", {}, ["plan"], ["offer", "stage"]],
    ["adopt", {}, ["plan"], ["adopt"]],
    [
      "adopt",
      { despite: ["gates", "restart-sensitive"], why: "--timer; $(x)" },
      ["plan"],
      ["adopt|--despite-gates|--despite-restart-sensitive|--why=--timer; $(x)"],
    ],
    ["rollback", { to: id }, ["status"], [`rollback|--to=${id}`]],
    ["pause", { reason: "a bench", hours: 8 }, ["status"], ["pause|--reason=a bench|--hours=8"]],
    ["resume", {}, ["status"], ["resume"]],
    ["unreject", { id, why: "new disk" }, ["status"], [`unreject|${id}|--why=new disk`]],
  ];
  for (const [verb, input, plans, acts] of table) {
    const line = (words: string) => `agent:all|${words}|${END}`;
    const dry = await rig.call(`candidates.${verb}`, { input, dry_run: true });
    assert.equal(dry.status, 200, JSON.stringify(dry.body));
    assert.deepEqual(await fake.asked(), plans.map(line), `${verb}, dry`);
    result(await live(rig, `candidates.${verb}`, input));
    assert.deepEqual(await fake.asked(), [...plans, ...acts].map(line), verb);
  }
  for (const verb of ["adopt", "rollback"]) {
    const unsure = await rig.call(`candidates.${verb}`, { input: {} }, { key: "unsure-001" });
    assert.equal(unsure.code, "confirm_required");
  }
  const unsaid = await live(rig, "candidates.adopt", { despite: ["gates"] });
  assert.equal(unsaid.code, "why_missing");
  for (
    const [verb, input] of [
      ["pause", { reason: "two\nlines" }],
      ["pause", { reason: " " }],
      ["unreject", { id: "--why=x", why: "y" }],
      ["rollback", { to: "/etc/passwd" }],
    ] as const
  ) {
    assert.equal((await live(rig, `candidates.${verb}`, input)).code, "input_invalid");
  }
  assert.deepEqual(await fake.asked(), [""], "something was asked all the same");
});

Deno.test("candidates: a publisher that is silent is not told as one that offers nothing", async () => {
  await using dir = await tempDir();
  const fake = await fakeAdopter(dir);
  await using rig = await startAgentRig(dir.path, [], { toml: fake.toml() });
  await fake.says("offer", 0, envelope({ code: "fetch-failed", detail: "it broke off" }));
  await fake.says("stage", 0, envelope({ code: "no_candidate", detail: "nothing is offered" }));
  assert.equal(result(await live(rig, "candidates.stage"))["code"], "fetch-failed");
  await fake.says("stage", 0, envelope({ code: "staged", detail: "an earlier offer" }));
  assert.equal(result(await live(rig, "candidates.stage"))["code"], "staged");
});

Deno.test("candidates: an agent that its own adoption ends answers truthfully, and status tells the end", async () => {
  await using dir = await tempDir();
  const fake = await fakeAdopter(dir);
  // As a unit of its own: what started it dies with the agent, it goes on.
  const outside = ["/bin/sh", "-c", '"$@" >/dev/null 2>&1 & wait', "outside"];
  const toml = fake.toml(outside);
  await fake.says("adopt", 0, envelope({ code: "proven", ending: "known-good" }));
  await Deno.writeTextFile(dir.at("adopt.hold"), "");
  const proven = { ...STATUS, current_rev: "two" };
  const last = {
    ...{ attempt: "a", path: "sha256:bb", rev: "two", ended_at: "2026-01-02T00:00:00.000Z" },
    ...{ ending: "known-good", code: "proven", detail: "" },
  };
  await Deno.writeTextFile(dir.at("next"), envelope({ ...proven, last }));
  await Deno.writeTextFile(dir.at("adopt.then"), "mv next status.out");
  {
    const rig = await startAgentRig(dir.path, [], { toml });
    const asked = live(rig, "candidates.adopt");
    await until("the adopter is at work", async () => {
      const text = await Deno.readTextFile(dir.at("asked")).catch(() => "");
      return text.includes("|adopt|");
    });
    await rig[Symbol.asyncDispose]();
    const told = await asked.catch(() => null);
    if (told !== null) assert.equal(told.code, "operation_interrupted", JSON.stringify(told.body));
  }
  await using rig = await startAgentRig(dir.path, [], { toml });
  const again = await rig.call(
    "candidates.adopt",
    { input: {}, confirm: true },
    { key: `candidates-${keys}` },
  );
  assert.equal(again.code, "operation_interrupted", JSON.stringify(again.body));
  const run = again.body["run"] as { step: string; effect: string };
  assert.deepEqual([run.step, run.effect], ["adopt", "unknown"]);
  assert.equal(again.body["may_have_executed"], true);
  assert.equal(result(await rig.call("candidates.status", {}))["last"], null);
  await Deno.remove(dir.at("adopt.hold"));
  await until("the adopter went on without the agent", async () => {
    const { last } = result(await rig.call("candidates.status", {})) as { last: unknown };
    return last !== null;
  });
  assert.equal(result(await rig.call("candidates.status", {}))["current_rev"], "two");
});

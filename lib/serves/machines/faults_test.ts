import assert from "node:assert/strict";
import { measured } from "../../../tests/support/change_evidence.ts";
import { ChangeWorld, ROUTER, ROUTER_NEXT } from "../../../tests/support/change_world.ts";
import { FakeDisk } from "../../testing/fake_disk.ts";
import type { Refusal } from "../../core/refusal.ts";
import { type ChangeEnd, planDigest } from "./conductor.ts";
import { digestOf } from "../../testing/fake_router.ts";
import { planInstall } from "./config_install.ts";
import { modesOf, planEnter, planLeave } from "./mode.ts";
import { planPromotion } from "./promotion.ts";
import { type Survey, takeSurvey } from "./survey.ts";
import type { Plan } from "./transaction.ts";

const signal = new AbortController().signal;

function world(): ChangeWorld {
  const disk = new FakeDisk();
  disk.contents.set("/disk/state", { kind: "directory" });
  return new ChangeWorld(disk);
}

async function look(one: ChangeWorld): Promise<Survey> {
  const survey = await takeSurvey(one.life().survey, signal);
  assert.ok(survey.kind === "survey", JSON.stringify(survey));
  return survey;
}

async function enter(one: ChangeWorld, mode = "studio"): Promise<Plan | Refusal> {
  const { survey } = one.life();
  const seen = await takeSurvey(survey, signal);
  if (seen.kind === "refused") return seen;
  return await planEnter(seen, { mode, drainSeconds: 5 }, survey, signal);
}

async function promote(one: ChangeWorld, config = ROUTER_NEXT): Promise<Plan | Refusal> {
  const { survey } = one.life();
  const seen = await takeSurvey(survey, signal);
  if (seen.kind === "refused") return seen;
  const evidence = await measured("gpu-a", one.serve("chat-next"));
  const wish = { alias: "llm.primary", config, evidence, drainSeconds: 5 };
  return await planPromotion(seen, wish, survey, signal);
}

async function install(one: ChangeWorld, text: string): Promise<Plan | Refusal> {
  const { router } = one.life();
  const wish = { kind: "install" as const, node: "gpu-a", text, topology: null };
  return await planInstall(router, wish, signal);
}

interface BeginOptions {
  readonly expected?: string;
  readonly until?: AbortSignal;
  readonly onStep?: (id: string) => void;
}

async function begin(
  one: ChangeWorld,
  plan: () => Promise<Plan | Refusal>,
  { expected, until = signal, onStep = () => {} }: BeginOptions = {},
): Promise<ChangeEnd> {
  return await one.life().conductor.begin(
    {
      plan,
      expected: expected ?? null,
      serves: one.serves,
      config: ROUTER_NEXT,
      run: "run-1",
    },
    onStep,
    until,
  );
}

function code(of: Plan | Refusal | ChangeEnd): string {
  if (of.kind === "refused") return of.code;
  if (of.kind !== "ended") return of.kind;
  const { state } = of.record;
  if (state.at === "stuck") return `stuck ${state.trouble?.code}`;
  return state.at === "returned" ? `returned ${state.why?.code}` : state.at;
}

Deno.test("plan: what a mode does, as data, and what is so afterwards", async () => {
  const one = world();
  const plan = await enter(one);
  assert.ok(plan.kind === "enter");
  assert.deepEqual(plan.steps.map((step) => step.do), [
    ...["quiesce", "quiesce", "drain", "drain", "stop", "grant", "start", "verify", "readmit"],
  ]);
  assert.equal(code(await begin(one, () => enter(one))), "reached");
  assert.deepEqual(modesOf(await look(one)).map(({ mode, state }) => [mode, state]), [
    ["studio", "in_force"],
  ]);
  assert.equal(code(await begin(one, () => enter(one))), "already");
  assert.equal(code(await enter(one, "nothing")), "mode_unknown");
});

Deno.test("plan: a rollback that could not be is refused in the plan", async () => {
  const gone = world();
  gone.host.courses.set("chat", { missing: "image_absent" });
  assert.equal(code(await enter(gone)), "rollback_impossible");
  const absent = world();
  absent.host.courses.set("studio", { missing: "image_absent" });
  assert.equal(code(await enter(absent)), "image_absent");
  const tight = world();
  tight.tooLarge.add("chat");
  assert.equal(code(await enter(tight)), "rollback_impossible");
  const large = world();
  large.tooLarge.add("studio");
  assert.equal(code(await enter(large)), "over_budget");
});

Deno.test("plan: what is not known is no reason to guess", async () => {
  const silent = world();
  silent.host.silent = true;
  assert.equal(code(await enter(silent)), "runtime_silent");
  const deaf = world();
  deaf.router.trouble.unreachable = true;
  assert.equal(code(await enter(deaf)), "router_unreachable");
  const forgetful = world();
  forgetful.router.trouble.forgets = true;
  assert.equal(code(await enter(forgetful)), "router_forgets_intent");
  const drifted = world();
  drifted.edit(ROUTER_NEXT);
  assert.equal(code(await enter(drifted)), "config_drifted");
});

Deno.test("promotion: refused on a host that may not promise, in the plan and in the apply", async () => {
  for (
    const axes of [
      { runtime: "native", availability: "opportunistic" },
      { availability: "continuous" },
      { runtime: "native", availability: "continuous", reserved: "voice" },
    ] as const
  ) {
    const one = world();
    const planned = await promote(one);
    assert.ok(planned.kind === "promote");
    one.axes = axes;
    assert.equal(code(await promote(one)), "promotion_ineligible");
    // The plan was made while the host was eligible: the apply looks again.
    const expected = planDigest(planned);
    const before = one.now;
    assert.equal(code(await begin(one, () => promote(one), { expected })), "promotion_ineligible");
    assert.deepEqual(one.now, before);
  }
  const lost = world();
  lost.axes = null;
  assert.equal(code(await promote(lost)), "topology_unknown");
});

Deno.test("promotion: a plan is bound to configuration, manifest, topology and what runs", async () => {
  const changes: ((one: ChangeWorld) => void)[] = [
    (one) => one.topology = "d".repeat(64),
    (one) => one.manifest = "e".repeat(64),
    (one) => one.host.crash("chat"),
    (one) => one.router.quiesced.add("primary"),
  ];
  for (const change of changes) {
    const one = world();
    const planned = await promote(one);
    assert.ok(planned.kind === "promote");
    const expected = planDigest(planned);
    change(one);
    const before = one.now;
    assert.equal(code(await begin(one, () => promote(one), { expected })), "plan_stale");
    assert.deepEqual(one.now, before);
  }
  const same = world();
  const planned = await promote(same);
  assert.ok(planned.kind === "promote");
  const expected = planDigest(planned);
  assert.equal(code(await begin(same, () => promote(same), { expected })), "reached");
});

Deno.test("promotion: more than the one alias is refused, and so is a tier nobody serves", async () => {
  const one = world();
  const embed = ROUTER_NEXT.replace('"org/embed"', '"org/other"');
  assert.equal(code(await promote(one, embed)), "promotion_touches_more");
  const limits = ROUTER_NEXT.replace("drain_seconds = 20", "drain_seconds = 21");
  assert.equal(code(await promote(one, limits)), "promotion_touches_more");
  const nobody = ROUTER_NEXT.replace('"org/model-next"', '"org/unknown"');
  assert.equal(code(await promote(one, nobody)), "tier_without_serve");
  const elsewhere = ROUTER_NEXT.replace("8002", "8009");
  assert.equal(code(await promote(one, elsewhere)), "tier_without_serve");
  assert.equal(code(await promote(one, "schema = 2")), "config_invalid");
  const gone = ROUTER_NEXT.replace(/^"llm.primary".*$/m, "");
  assert.equal(code(await promote(one, gone)), "alias_unknown");
});

Deno.test("quiesce: a router that does not answer, and one whose answers are lost", async () => {
  const deaf = world();
  const planned = await enter(deaf);
  const before = deaf.now;
  deaf.router.trouble.unreachable = true;
  assert.equal(
    code(await begin(deaf, () => Promise.resolve(planned))),
    "returned router_unreachable",
  );
  deaf.router.trouble.unreachable = false;
  assert.deepEqual(deaf.now, before);

  const lossy = world();
  const other = await enter(lossy);
  lossy.router.trouble.answersLost = true;
  // It was quiesced and nobody said so: that is taken back, or a person is asked.
  assert.equal(
    code(await begin(lossy, () => Promise.resolve(other))),
    "stuck router_unreachable",
  );
  assert.deepEqual(lossy.host.running, ["chat", "embed"]);
  lossy.router.trouble.answersLost = false;
  const { conductor } = lossy.life();
  assert.equal(
    code(await begin(lossy, () => enter(lossy))),
    "manual_recovery_pending",
  );
  assert.equal(code(await conductor.resume() ?? NOTHING), "stuck router_unreachable");
  assert.equal(
    code(await conductor.resumeByPerson("000001-enter", () => {}, signal)),
    "returned router_unreachable",
  );
  assert.deepEqual(lossy.router.admitting, ["embed", "primary"]);
});

const NOTHING: Refusal = { kind: "refused", code: "nothing", detail: "" };

Deno.test("drain: one that times out says the count, and the tier is admitted again", async () => {
  const one = world();
  one.router.trouble.inFlight.set("primary", 3);
  const end = await begin(one, () => enter(one));
  assert.equal(code(end), "returned drain_timeout");
  assert.ok(end.kind === "ended" && end.record.state.at === "returned");
  assert.match(end.record.state.why?.detail ?? "", /3 requests/);
  assert.deepEqual(one.router.admitting, ["embed", "primary"]);
});

Deno.test("config: a hand that writes meanwhile is not overwritten", async () => {
  const one = world();
  const planned = await promote(one);
  const byHand = ROUTER.replace("drain_seconds = 20", "drain_seconds = 7");
  // Written while the machine is at work, before it writes itself.
  let edited = false;
  const end = await begin(one, () => Promise.resolve(planned), {
    onStep: () => {
      if (!edited) one.edit(byHand);
      edited = true;
    },
  });
  assert.equal(code(end), "returned config_changed");
  assert.equal(one.installed(), byHand);
  assert.deepEqual(one.host.running, ["chat", "embed"]);
  assert.deepEqual(one.router.admitting, ["embed", "primary"]);
});

Deno.test("config: a router that does not come back is given its old one", async () => {
  const one = world();
  const before = one.now;
  one.router.trouble.restartRefused = true;
  assert.equal(
    code(await begin(one, () => install(one, ROUTER_NEXT))),
    "returned router_not_restarted",
  );
  assert.deepEqual(one.now, before);
  one.router.trouble.restartRefused = false;
  one.router.trouble.deadly.add(digestOf(ROUTER_NEXT));
  assert.equal(code(await begin(one, () => install(one, ROUTER_NEXT))), "returned router_not_back");
  assert.deepEqual(one.now, before);
});

Deno.test("config: one that comes back with neither is loud, and goes on when it is mended", async () => {
  const one = world();
  const { deadly } = one.router.trouble;
  deadly.add(digestOf(ROUTER_NEXT)).add(digestOf(ROUTER));
  assert.equal(code(await begin(one, () => install(one, ROUTER_NEXT))), "stuck router_not_back");
  assert.ok(one.said.some((line) => line.includes("manual_recovery")), one.said.join("\n"));
  deadly.clear();
  const { conductor } = one.life();
  assert.equal(
    code(await conductor.resumeByPerson("000001-install", () => {}, signal)),
    "returned router_not_back",
  );
  assert.deepEqual([one.now.installed, one.now.runs], ["old", "old"]);
});

Deno.test("identity: the wrong model never gets a request", async () => {
  const one = world();
  one.host.courses.set("chat-next", { serves: "org/impostor" });
  assert.equal(code(await begin(one, () => promote(one))), "returned identity_mismatch");
  assert.deepEqual(one.router.happened.filter((what) => what.startsWith("readmit")), [
    "readmit primary",
  ]);
  assert.equal(one.now.installed, "old");
});

Deno.test("lock: two at once, one is told so; the other goes on", async () => {
  const one = world();
  const first = one.life();
  const second = one.life();
  const ask = {
    plan: () => enter(one),
    expected: null,
    serves: one.serves,
    config: null,
    run: null,
  };
  const [left, right] = await Promise.all([
    first.conductor.begin(ask, () => {}, signal),
    second.conductor.begin(ask, () => {}, signal),
  ]);
  assert.deepEqual([code(left), code(right)].toSorted(), ["host_busy", "reached"]);
});

Deno.test("disk full: before the first entry nothing is done, after it the change goes on later", async () => {
  const early = world();
  early.disk.full = true;
  const before = early.now;
  assert.equal(code(await begin(early, () => enter(early))), "directory_no_space");
  assert.deepEqual(early.now, before);

  const late = world();
  let steps = 0;
  const end = await begin(late, () => enter(late), {
    onStep: () => {
      if (++steps === 5) late.disk.full = true;
    },
  });
  assert.equal(code(end), "interrupted");
  assert.equal(code(await begin(late, () => enter(late))), "change_unfinished");
  assert.deepEqual(late.router.admitting, ["embed"], "the held tier stays closed");
  late.disk.full = false;
  assert.equal(code(await late.life().conductor.resume() ?? NOTHING), "reached");
});

Deno.test("cancel: a change that is asked to turn back does; one that stops goes on later", async () => {
  const one = world();
  const before = one.now;
  const asked = new AbortController();
  const end = await begin(one, () => enter(one), {
    until: asked.signal,
    onStep: () => asked.abort("operation_cancelled"),
  });
  assert.equal(code(end), "returned change_cancelled");
  assert.deepEqual(one.now.running, before.running);
  assert.deepEqual(one.now.admitting, before.admitting);

  const other = world();
  const stopped = new AbortController();
  let steps = 0;
  const left = await begin(other, () => enter(other), {
    until: stopped.signal,
    onStep: () => {
      if (++steps === 5) stopped.abort("agent_stopping");
    },
  });
  assert.equal(code(left), "interrupted");
  assert.equal(code(await other.life().conductor.resume() ?? NOTHING), "reached");
});

Deno.test("abandon: only what is stuck, and the next change may begin", async () => {
  const one = world();
  one.host.courses.set("studio", { diesAfterMs: 0 });
  one.host.courses.set("chat", { diesAfterMs: 0 });
  assert.match(code(await begin(one, () => enter(one))), /^stuck serve_/);
  const { conductor } = one.life();
  assert.equal(code(await conductor.abandon("000009-enter", "ops")), "change_unknown");
  assert.equal(code(await conductor.abandon("000001-enter", "ops")), "abandoned");
  one.host.courses.clear();
  assert.equal(code(await begin(one, () => enter(one))), "reached");
});

Deno.test("leave: what the mode displaced comes back, or what is named", async () => {
  const one = world();
  assert.equal(code(await begin(one, () => enter(one))), "reached");
  const { survey } = one.life();
  const leave = async (displaced: readonly string[] | null) =>
    await planLeave(
      await look(one),
      { mode: "studio", drainSeconds: 5, displaced },
      survey,
      signal,
    );
  const named = await leave(["chat-next"]);
  assert.ok(named.kind === "leave");
  assert.ok(named.steps.some((step) => step.do === "start" && step.serve === "chat-next"));
  assert.equal(code(await begin(one, () => leave(["chat"]))), "reached");
  assert.deepEqual(one.host.running, ["chat", "embed"]);
  assert.deepEqual(one.router.admitting, ["embed", "primary"]);
});

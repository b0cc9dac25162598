import assert from "node:assert/strict";
import type { Refusal } from "../../lib/core/refusal.ts";
import { everyMoment } from "../../lib/testing/every_moment.ts";
import { Died, type FakeDisk } from "../../lib/testing/fake_disk.ts";
import { digestOf } from "../../lib/testing/fake_router.ts";
import type { ChangeEnd } from "../../lib/serves/machines/conductor.ts";
import { planInstall } from "../../lib/serves/machines/config_install.ts";
import { planEnter, planLeave } from "../../lib/serves/machines/mode.ts";
import { planPromotion } from "../../lib/serves/machines/promotion.ts";
import { type SurveyPorts, takeSurvey } from "../../lib/serves/machines/survey.ts";
import { type Plan } from "../../lib/serves/machines/transaction.ts";
import { measured } from "../support/change_evidence.ts";
import { ChangeWorld, ROUTER_NEXT } from "../support/change_world.ts";

type Ending = "new" | "old" | "manual_recovery";

/** One change in one world: what goes wrong, and what may come of it. */
interface Scenario {
  readonly what: string;
  readonly prepare?: (world: ChangeWorld) => void;
  readonly plan: (ports: SurveyPorts, signal: AbortSignal) => Promise<Plan | Refusal>;
  readonly config?: string;
  /** What is so at the end, where the change was made. */
  readonly reached: Partial<ChangeWorld["now"]>;
  readonly endings: readonly Ending[];
  readonly moments: number;
  /** Also dies a second time, at every moment of the life after the first death. */
  readonly twice?: true;
}

const planned = (
  make: (
    survey: Parameters<typeof planEnter>[0],
    ports: SurveyPorts,
    signal: AbortSignal,
  ) => Promise<Plan | Refusal>,
): Scenario["plan"] =>
async (ports, signal) => {
  const survey = await takeSurvey(ports, signal);
  return survey.kind === "refused" ? survey : await make(survey, ports, signal);
};

const enter = planned((survey, ports, signal) =>
  planEnter(survey, { mode: "studio", drainSeconds: 5 }, ports, signal)
);
const leave = planned((survey, ports, signal) =>
  planLeave(survey, { mode: "studio", drainSeconds: 5, displaced: null }, ports, signal)
);
const promote = planned(async (survey, ports, signal) => {
  const serve = survey.facts.serves.find(({ name }) => name === "chat-next");
  assert.ok(serve !== undefined);
  const evidence = await measured(survey.facts.node, serve);
  const wish = { alias: "llm.primary", config: ROUTER_NEXT, evidence, drainSeconds: 5 };
  return await planPromotion(survey, wish, ports, signal);
});
const install: Scenario["plan"] = async ({ router, facts }, signal) => {
  assert.ok(router !== null);
  const { node, topology } = facts;
  return await planInstall(router, { kind: "install", node, text: ROUTER_NEXT, topology }, signal);
};

const IN_MODE = (world: ChangeWorld) => {
  world.host.crash("chat");
  world.host.run(world.serve("studio"));
  world.router.quiesced.add("primary");
};

const SCENARIOS: readonly Scenario[] = [
  {
    what: "enter",
    plan: enter,
    reached: {
      running: ["embed", "studio"],
      admitting: ["embed", "video"],
      quiesced: ["primary"],
    },
    endings: ["new"],
    moments: 76,
  },
  {
    what: "leave",
    prepare: IN_MODE,
    plan: leave,
    reached: { running: ["chat", "embed"], admitting: ["embed", "primary"], quiesced: ["video"] },
    endings: ["new"],
    moments: 60,
  },
  {
    what: "promote",
    plan: promote,
    config: ROUTER_NEXT,
    reached: {
      running: ["chat-next", "embed"],
      admitting: ["embed", "primary"],
      installed: "new",
      runs: "new",
    },
    endings: ["new"],
    moments: 101,
  },
  {
    what: "install",
    plan: install,
    config: ROUTER_NEXT,
    reached: { installed: "new", runs: "new" },
    endings: ["new"],
    moments: 49,
    twice: true,
  },
  {
    what: "enter, the engine serves another model",
    prepare: ({ host }) => void host.courses.set("studio", { serves: "org/impostor" }),
    plan: enter,
    reached: {},
    endings: ["old"],
    moments: 92,
  },
  {
    what: "leave, the engine ends at once",
    prepare: (world) => {
      IN_MODE(world);
      world.host.courses.set("chat", { diesAfterMs: 0 });
    },
    plan: leave,
    reached: {},
    endings: ["old"],
    moments: 74,
  },
  {
    what: "promote, the engine serves another model",
    prepare: ({ host }) => void host.courses.set("chat-next", { serves: "org/impostor" }),
    plan: promote,
    config: ROUTER_NEXT,
    reached: {},
    endings: ["old"],
    moments: 79,
  },
  {
    what: "promote, the router does not come back with it",
    prepare: ({ router }) => void router.trouble.deadly.add(digestOf(ROUTER_NEXT)),
    plan: promote,
    config: ROUTER_NEXT,
    reached: {},
    endings: ["old"],
    moments: 146,
  },
  {
    what: "install, the router does not come back with it",
    prepare: ({ router }) => void router.trouble.deadly.add(digestOf(ROUTER_NEXT)),
    plan: install,
    config: ROUTER_NEXT,
    reached: {},
    endings: ["old"],
    moments: 72,
    twice: true,
  },
  {
    what: "promote, a request never ends",
    prepare: ({ router }) => void router.trouble.inFlight.set("primary", 1),
    plan: promote,
    config: ROUTER_NEXT,
    reached: {},
    endings: ["old"],
    moments: 35,
  },
  {
    what: "enter, and no engine starts any more",
    prepare: ({ host }) => {
      host.courses.set("studio", { diesAfterMs: 0 });
      host.courses.set("chat", { diesAfterMs: 0 });
    },
    plan: enter,
    reached: {},
    endings: ["manual_recovery"],
    moments: 92,
  },
];

/** What may not happen at any moment, whatever the machine is doing. */
function assertSafe(world: ChangeWorld): void {
  const { happened } = world.host;
  assert.ok(!happened.some((one) => one.endsWith(" embed")), `the other serve: ${happened}`);
  const moved = world.router.happened.filter((one) => one.endsWith(" embed"));
  assert.deepEqual(moved, [], "the other tier was touched");
}

interface Life {
  readonly world: ChangeWorld;
  readonly before: ChangeWorld["now"];
}

/** Runs a scenario with a death at every moment; how often each ending came. */
async function matrix(scenario: Scenario): Promise<{ moments: number; came: Map<string, number> }> {
  const worlds = new WeakMap<FakeDisk, Life>();
  const came = new Map<string, number>();
  const moments = await everyMoment(async (disk, { deaths }) => {
    let life = worlds.get(disk);
    if (life === undefined) {
      const world = new ChangeWorld(disk);
      scenario.prepare?.(world);
      life = { world, before: world.now };
      worlds.set(disk, life);
    }
    const { world, before } = life;
    const { conductor, survey, store } = world.life();
    const signal = new AbortController().signal;
    let end: ChangeEnd | null = await conductor.resume();
    // A person asks once. After a death it is the start of the agent that goes on, or nothing.
    if (end === null && deaths.length === 0) {
      end = await conductor.begin(
        {
          plan: (until) => scenario.plan(survey, until),
          expected: null,
          serves: world.serves,
          config: scenario.config ?? null,
          run: "run-1",
        },
        () => {},
        signal,
      );
    }
    assertSafe(world);
    if (disk.dead) throw new Died("it died in a step");
    const newest = await store.newest();
    assert.ok(newest === null || !("kind" in newest));
    const at = newest?.state.at ?? "idle";
    const ending = at === "stuck" ? "manual_recovery" : at === "reached" ? "new" : "old";
    if (deaths.length === 0) {
      assert.ok(end?.kind === "ended", `${scenario.what}: ${JSON.stringify(end)}`);
      assert.ok(scenario.endings.includes(ending), `${ending}\n${world.said.join("\n")}`);
    }
    if (at === "reached") {
      for (const [key, value] of Object.entries(scenario.reached)) {
        assert.deepEqual(world.now[key as keyof ChangeWorld["now"]], value, key);
      }
      assert.ok(scenario.endings.includes("new"), "it was not to be reached");
    } else if (at === "stuck") {
      assert.ok(scenario.endings.includes("manual_recovery"), world.said.join("\n"));
      assert.ok(!world.router.admitting.includes("primary"), "a tier nobody proved is admitted");
    } else {
      // Quiesced tiers without a serve stay so: nobody could ask them before either.
      const { quiesced: _now, ...now } = world.now;
      const { quiesced: _then, ...then } = before;
      assert.deepEqual(now, then, `it is not as it was: ${world.said.join("\n")}`);
      if (at !== "idle") assert.ok(scenario.endings.includes("old"), world.said.join("\n"));
    }
    came.set(ending, (came.get(ending) ?? 0) + 1);
  }, scenario.twice === true ? 2 : 1);
  return { moments, came };
}

Deno.test("changes: dying at every moment ends in the new state, the old one, or loud", async () => {
  const rows: string[] = [];
  const wrong: string[] = [];
  for (const scenario of SCENARIOS) {
    const { moments, came } = await matrix(scenario);
    const of = (ending: Ending) => String(came.get(ending) ?? 0).padStart(5);
    const deaths = scenario.twice === true ? 2 : 1;
    rows.push(
      `${scenario.what.padEnd(48)} ${String(moments).padStart(7)} ${deaths}  ${of("new")} ` +
        `${of("old")} ${of("manual_recovery")}`,
    );
    if (moments !== scenario.moments) wrong.push(`${scenario.what}: ${moments} moments`);
  }
  console.log(
    `  ${"change".padEnd(48)} moments deaths new   old manual_recovery\n  ${rows.join("\n  ")}`,
  );
  assert.deepEqual(wrong, [], "an effect came or went: see that its moments are tried");
});

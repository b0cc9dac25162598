/**
 * What every driver promises, as a table of checks over a world that a test brings: a real runtime,
 * one in memory, or recorded facts.
 *
 * A check that a world cannot make (a recorded one cannot ignore a signal) is listed as not made,
 * with the reason: {@link conformanceTable} prints drivers x checks and on what each was run.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Driver, DriverKind, Exit } from "../serves/driver.ts";
import type { Serve } from "../serves/manifest_shape.ts";

/** How an engine behaves, as `tests/fixtures/serve_main.ts` does. */
export type EngineCourse = "fine" | "exits" | "deaf" | "forks" | "never-healthy";

/** A runtime with engines in it. */
export interface DriverWorld {
  readonly kind: DriverKind;
  readonly source: "real" | "recorded" | "simulated";
  readonly driver: Driver;
  /** Its system can only kill, and keeps no log of what it ran. */
  readonly onlyKills?: true;
  /** A serve of its own whose engine behaves so; null: this world cannot make one. */
  serve(course: EngineCourse): Promise<Serve | null>;
  /** A serve that lacks what its start needs: an image, a unit, a program. */
  lacking(): Promise<Serve>;
  /** Something else runs under the name of the serve it gives; null: cannot be made here. */
  foreign(): Promise<Serve | null>;
  /** Resolves once the engine of `serve` listens. */
  listening(serve: Serve): Promise<void>;
  /** Takes the port of `serve` from outside until what it gives is called. */
  takePort(serve: Serve): Promise<() => Promise<void>>;
  /** The runtime answers nothing until what it gives is called; null: cannot be made here. */
  silence(): Promise<(() => Promise<void>) | null>;
  wait(ms: number): Promise<void>;
}

/** One promise. Throws {@link NotMade} when the world cannot show it. */
interface Check {
  readonly name: string;
  readonly run: (world: DriverWorld) => Promise<void>;
}

class NotMade extends Error {}

const signal = new AbortController().signal;
const BOUNDS = { lines: 5, bytes: 4096 };
const ASK = { force: false };
const FORCE = { force: true };
const CANNOT = "this world cannot make such an engine";

/** Every promise, in the order in which they are shown. */
export const CHECKS: readonly Check[] = [
  {
    name: "what never ran is stopped, and resolves",
    run: async ({ driver, serve }) => {
      const one = await serve("fine");
      assert.ok(one !== null);
      assert.equal((await driver.status(one, signal)).kind, "stopped");
      assert.deepEqual(await driver.resolve(one, signal), { kind: "ready" });
      assert.equal((await driver.identity(one, signal)).kind, "absent");
    },
  },
  {
    name: "a start is seen, and a second one changes nothing",
    run: async (world) =>
      await running(world, async (serve) => {
        const state = await world.driver.status(serve, signal);
        assert.ok(state.kind === "running", JSON.stringify(state));
        const again = await world.driver.start(serve, signal);
        assert.ok(again.kind === "already", JSON.stringify(again));
        assert.equal(again.instance.id, state.instance.id);
        assert.ok((state.instance.startedAt ?? 1) > 0);
      }),
  },
  {
    name: "the process that owns the port is proven",
    run: async (world) =>
      await running(world, async (serve) => {
        const proof = await world.driver.identity(serve, signal);
        assert.ok(proof.kind === "proven", JSON.stringify(proof));
        assert.equal(proof.port, serve.port);
        if (serve.runtime === "native") {
          assert.ok(proof.instance.commandLine?.replaceAll('"', "").endsWith(serve.argv.join(" ")));
        } else assert.match(proof.instance.imageDigest ?? "", /^sha256:/);
      }),
  },
  {
    name: "its memory is counted as ours",
    run: async (world) =>
      await running(world, async (serve) => {
        const seen = await world.driver.occupants([serve], signal);
        assert.ok(seen.kind === "seen", JSON.stringify(seen));
        const own = seen.occupants.find((one) => one.serve === serve.name);
        assert.ok(own !== undefined && own.pids.length > 0, JSON.stringify(seen));
      }),
  },
  {
    name: "a log is there, and bounded",
    run: async (world) => {
      if (world.onlyKills === true) throw new NotMade("its system keeps no log of what it ran");
      await running(world, async (serve) => {
        const logs = await world.driver.logs(serve, BOUNDS, signal);
        assert.ok(logs.kind === "logs", JSON.stringify(logs));
        assert.ok(logs.lines.length > 0 && logs.lines.length <= BOUNDS.lines);
      });
    },
  },
  {
    name: "a stop is proven, and a second one says it was stopped",
    run: async (world) => {
      const serve = await started(world, "fine");
      if (world.onlyKills === true) {
        assert.equal((await world.driver.stop(serve, ASK, signal)).kind, "refused");
        assert.equal((await world.driver.status(serve, signal)).kind, "running");
      }
      const first = await world.driver.stop(serve, orderOf(world), signal);
      assert.ok(first.kind === "stopped", JSON.stringify(first));
      assert.deepEqual([first.was, first.proof.processes, first.proof.portFree], [
        "running",
        0,
        true,
      ]);
      assert.equal((await world.driver.status(serve, signal)).kind, "stopped");
      const second = await world.driver.stop(serve, orderOf(world), signal);
      assert.ok(second.kind === "stopped" && second.was === "stopped", JSON.stringify(second));
    },
  },
  {
    name: "a later life is told apart from an earlier one",
    run: async (world) => {
      const serve = await started(world, "fine");
      if (world.onlyKills === true) {
        assert.equal((await world.driver.stop(serve, ASK, signal)).kind, "refused");
        assert.equal((await world.driver.status(serve, signal)).kind, "running");
      }
      const first = await lifeOf(world, serve);
      assert.equal((await world.driver.stop(serve, orderOf(world), signal)).kind, "stopped");
      await world.wait(1100); // some systems tell a start to the second
      assert.equal((await world.driver.start(serve, signal)).kind, "started");
      await world.listening(serve);
      assert.notEqual(await lifeOf(world, serve), first);
      assert.equal((await world.driver.stop(serve, orderOf(world), signal)).kind, "stopped");
    },
  },
  {
    name: "an engine that exits at once is seen dead, with its code and its last lines",
    run: async (world) => {
      const serve = await world.serve("exits");
      if (serve === null) throw new NotMade(CANNOT);
      const start = await world.driver.start(serve, signal);
      assert.ok(start.kind === "started" || start.kind === "died", JSON.stringify(start));
      let exit: Exit | null = null;
      for (let n = 0; n < 100 && exit === null; n++) {
        const state = await world.driver.status(serve, signal);
        if (state.kind === "stopped") exit = state.exit;
        else await world.wait(50);
      }
      assert.equal(exit?.code, 3);
      const logs = await world.driver.logs(serve, BOUNDS, signal);
      assert.ok(logs.kind === "logs");
      assert.ok(logs.lines.some((line) => line.includes("giving up")), JSON.stringify(logs));
    },
  },
  {
    name: "an engine that ignores the signal is still there; only force ends it",
    run: async (world) => {
      const serve = await world.serve("deaf");
      if (serve === null) throw new NotMade(CANNOT);
      assert.equal((await world.driver.start(serve, signal)).kind, "started");
      await world.listening(serve);
      const asked = await world.driver.stop(serve, orderOf(world), signal);
      assert.ok(asked.kind === "still_there", JSON.stringify(asked));
      assert.ok(asked.left.pids.length > 0 && !asked.left.portFree, JSON.stringify(asked));
      const state = await world.driver.status(serve, signal);
      assert.ok(state.kind === "running" || state.kind === "stopping", JSON.stringify(state));
      const forced = await world.driver.stop(serve, FORCE, signal);
      assert.ok(forced.kind === "stopped", JSON.stringify(forced));
    },
  },
  {
    name: "a child that stays is not overlooked",
    run: async (world) => {
      const serve = await world.serve("forks");
      if (serve === null) throw new NotMade(CANNOT);
      assert.equal((await world.driver.start(serve, signal)).kind, "started");
      await world.listening(serve);
      const asked = await world.driver.stop(serve, orderOf(world), signal);
      // A container takes its children along; a unit's are found by its control group.
      if (asked.kind === "stopped") assert.equal(world.kind, "docker");
      else {
        assert.ok(
          asked.kind === "still_there" && asked.left.pids.length > 0,
          JSON.stringify(asked),
        );
        const forced = await world.driver.stop(serve, FORCE, signal);
        assert.ok(forced.kind === "stopped", JSON.stringify(forced));
      }
    },
  },
  {
    name: "a port that stays taken is no proof",
    run: async (world) => {
      const serve = await started(world, "fine");
      const free = await world.takePort(serve);
      const asked = await world.driver.stop(serve, orderOf(world), signal);
      await free();
      assert.ok(asked.kind === "still_there" && !asked.left.portFree, JSON.stringify(asked));
      const again = await world.driver.stop(serve, orderOf(world), signal);
      assert.ok(again.kind === "stopped", JSON.stringify(again));
    },
  },
  {
    name: "what a start lacks is said before anything is changed",
    run: async ({ driver, lacking }) => {
      const serve = await lacking();
      const resolved = await driver.resolve(serve, signal);
      assert.ok(resolved.kind === "refused", JSON.stringify(resolved));
      const start = await driver.start(serve, signal);
      assert.ok(start.kind === "refused" && start.code === resolved.code, JSON.stringify(start));
      assert.equal((await driver.status(serve, signal)).kind, "stopped");
    },
  },
  {
    name: "what others run under the name is neither started nor stopped",
    run: async (world) => {
      const serve = await world.foreign();
      if (serve === null) throw new NotMade("nothing else can have the name of a unit");
      assert.equal((await world.driver.status(serve, signal)).kind, "foreign");
      assert.equal((await world.driver.start(serve, signal)).kind, "refused");
      assert.equal((await world.driver.stop(serve, FORCE, signal)).kind, "refused");
      assert.equal((await world.driver.status(serve, signal)).kind, "foreign");
    },
  },
  {
    name: "a runtime that is silent is unknown, never stopped",
    run: async (world) => {
      const serve = await started(world, "fine");
      const speak = await world.silence();
      if (speak === null) {
        await world.driver.stop(serve, orderOf(world), signal);
        throw new NotMade("its runtime cannot be silenced here");
      }
      try {
        assert.equal((await world.driver.status(serve, signal)).kind, "unknown");
        assert.equal((await world.driver.identity(serve, signal)).kind, "unknown");
        assert.equal((await world.driver.occupants([serve], signal)).kind, "unknown");
        assert.equal((await world.driver.stop(serve, orderOf(world), signal)).kind, "unknown");
      } finally {
        await speak();
      }
      assert.equal((await world.driver.stop(serve, orderOf(world), signal)).kind, "stopped");
    },
  },
];

/** How one check ended in one world. */
export interface CheckEnd {
  readonly kind: DriverKind;
  readonly source: DriverWorld["source"];
  readonly check: string;
  /** Null: it held. */
  readonly notMade: string | null;
}

/** Runs every check as a step of `t`; gives what was run on what. */
export async function driverConformance(
  t: Deno.TestContext,
  world: DriverWorld,
): Promise<readonly CheckEnd[]> {
  const ends: CheckEnd[] = [];
  for (const check of CHECKS) {
    await t.step(`${world.kind} (${world.source}): ${check.name}`, async () => {
      let notMade: string | null = null;
      try {
        await check.run(world);
      } catch (error) {
        if (!(error instanceof NotMade)) throw error;
        notMade = error.message;
      }
      ends.push({ kind: world.kind, source: world.source, check: check.name, notMade });
    });
  }
  return ends;
}

/** Drivers x checks: `real`, `recorded`, `simulated`, or why a check was not made. */
export function conformanceTable(ends: readonly CheckEnd[]): string {
  const kinds = [...new Set(ends.map(({ kind }) => kind))];
  const notes: string[] = [];
  const cell = (check: string, kind: DriverKind) => {
    const end = ends.find((one) => one.check === check && one.kind === kind);
    if (end === undefined) return "failed";
    if (end.notMade === null) return end.source;
    if (!notes.includes(end.notMade)) notes.push(end.notMade);
    return `not made (${notes.indexOf(end.notMade) + 1})`;
  };
  const rows = [
    ["check", ...kinds],
    ...CHECKS.map(({ name }) => [name, ...kinds.map((kind) => cell(name, kind))]),
  ];
  const widths =
    rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return [
    ...rows.map((row) => row.map((text, column) => text.padEnd(widths[column] ?? 0)).join("  ")),
    ...notes.map((note, index) => `(${index + 1}) ${note}`),
  ].join("\n");
}

/** How an engine that behaves is ended here. */
function orderOf({ onlyKills }: DriverWorld) {
  return onlyKills === true ? FORCE : ASK;
}

async function started(world: DriverWorld, course: EngineCourse): Promise<Serve> {
  const serve = await world.serve(course);
  assert.ok(serve !== null);
  const start = await world.driver.start(serve, signal);
  assert.ok(start.kind === "started", JSON.stringify(start));
  await world.listening(serve);
  return serve;
}

async function running(world: DriverWorld, look: (serve: Serve) => Promise<void>): Promise<void> {
  const serve = await started(world, "fine");
  try {
    await look(serve);
  } finally {
    await world.driver.stop(serve, orderOf(world), signal);
  }
}

async function lifeOf({ driver }: DriverWorld, serve: Serve): Promise<string> {
  const state = await driver.status(serve, signal);
  assert.ok(state.kind === "running", JSON.stringify(state));
  return state.instance.id;
}

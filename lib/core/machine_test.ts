import assert from "node:assert/strict";
import { everyMoment } from "../testing/every_moment.ts";
import { FakeDisk } from "../testing/fake_disk.ts";
import { drive, type Entry, type Machine, recall } from "./machine.ts";

// A small installer: stage a version, switch to it, probe it, keep it or switch back.
//
//     idle ──offer──> offered ──stage──> staged ──switch──> switched ──probe──> kept | back
//                                                                     fail └──revert──> reverted
type Effect = "stage" | "switch" | "probe" | "revert";
type Event = { readonly kind: "offer" | "staged" | "switched" | "passed" | "failed" | "reverted" };
type State = "idle" | "offered" | "staged" | "switched" | "kept" | "back" | "reverted";

const NEXT = {
  offer: "offered",
  staged: "staged",
  switched: "switched",
  passed: "kept",
  failed: "back",
  reverted: "reverted",
} as const satisfies Record<Event["kind"], State>;

const OWED = {
  idle: null,
  offered: "stage",
  staged: "switch",
  switched: "probe",
  kept: null,
  back: "revert",
  reverted: null,
} as const satisfies Record<State, Effect | null>;

const installer: Machine<State, Event, Effect> = {
  initial: "idle",
  step: (_, event) => NEXT[event.kind],
  owed: (state) => OWED[state],
};

/** What outlives the process besides its disk. */
interface World {
  staged: boolean;
  current: "old" | "new";
  performed: Effect[];
  again: Effect[];
}

/** One life of the installing process. The world is kept per disk, as both outlive it. */
async function install(disk: FakeDisk, world: World, probe: "passed" | "failed"): Promise<State> {
  const journal = disk.journal<Entry<Event, Effect>>("/disk/journal");
  const nothingYet = (await journal.read()).length === 0;
  const perform = (effect: Effect, again: boolean): Promise<Event> =>
    disk.effect(() => {
      world.performed.push(effect);
      if (again) world.again.push(effect);
      switch (effect) {
        case "stage":
          world.staged = true;
          return { kind: "staged" };
        case "switch":
          assert.ok(world.staged, "switched to something that was not staged");
          world.current = "new";
          return { kind: "switched" };
        case "probe":
          return { kind: probe };
        case "revert":
          world.current = "old";
          return { kind: "reverted" };
      }
    });
  return nothingYet
    ? await drive(installer, journal, perform, { kind: "offer" })
    : await drive(installer, journal, perform);
}

for (
  const [probe, state, current, moments] of [
    // 3 moments an append (offer; intent and done of each effect), 2 an effect.
    ["passed", "kept", "new", 3 + 3 * (3 + 2 + 3)],
    ["failed", "reverted", "old", 3 + 4 * (3 + 2 + 3)],
  ] as const
) {
  Deno.test(`machine: dying at every moment, twice, still ends in ${state}`, async () => {
    const worlds = new WeakMap<FakeDisk, World>();
    const counted = await everyMoment(async (disk, { deaths }) => {
      const world = worlds.get(disk) ??
        { staged: false, current: "old", performed: [], again: [] };
      worlds.set(disk, world);
      assert.equal(await install(disk, world, probe), state);
      assert.equal(world.current, current);
      for (const effect of new Set(world.performed)) {
        const times = world.performed.filter((performed) => performed === effect).length;
        assert.ok(times <= deaths.length + 1, `${effect} ${times} times`);
        const told = world.again.filter((again) => again === effect).length;
        assert.ok(told >= times - 1, `${effect} was performed again without being told`);
      }
    }, 2);
    assert.equal(counted, moments);
  });
}

Deno.test("machine: nothing owed, nothing done; a restart after the end performs nothing", async () => {
  const disk = new FakeDisk();
  const world: World = { staged: false, current: "old", performed: [], again: [] };
  const journal = disk.journal<Entry<Event, Effect>>("/disk/journal");
  const never = () => Promise.reject(new Error("nothing is owed"));
  assert.equal(await drive(installer, journal, never), "idle");
  assert.equal(await install(disk, world, "passed"), "kept");
  const performed = world.performed.length;
  assert.equal(await install(disk, world, "passed"), "kept");
  assert.equal(world.performed.length, performed);
});

Deno.test("machine: recall says what was begun and never finished", () => {
  const entries: Entry<Event, Effect>[] = [
    { kind: "offer", event: { kind: "offer" } },
    { kind: "intent", effect: "stage" },
  ];
  assert.deepEqual(recall(installer, entries), { state: "offered", unfinished: "stage" });
  entries.push({ kind: "offer", event: { kind: "offer" } });
  assert.deepEqual(recall(installer, entries), { state: "offered", unfinished: "stage" });
  entries.push({ kind: "done", event: { kind: "staged" } });
  assert.deepEqual(recall(installer, entries), { state: "staged", unfinished: null });
});

Deno.test("machine: what perform rejects with comes out, and the intent stays written", async () => {
  const journal = new FakeDisk().journal<Entry<Event, Effect>>("/j");
  const no = () => Promise.reject(new Error("no"));
  await assert.rejects(() => drive(installer, journal, no, { kind: "offer" }), /no/);
  assert.equal(recall(installer, await journal.read()).unfinished, "stage");
});

Deno.test("machine: an offer while an effect is unfinished does not mark another as begun", async () => {
  const journal = new FakeDisk().journal<Entry<Event, Effect>>("/j");
  await journal.append({ kind: "offer", event: { kind: "offer" } });
  await journal.append({ kind: "intent", effect: "stage" });
  const asked: [Effect, boolean][] = [];
  const perform = (effect: Effect, again: boolean): Promise<Event> => {
    asked.push([effect, again]);
    return Promise.resolve({ kind: "passed" });
  };
  // The offer moves the state on: now the switch is owed, and it was never begun.
  await drive(installer, journal, perform, { kind: "staged" });
  assert.deepEqual(asked, [["switch", false]]);
});

Deno.test("machine: one that owes for ever is a bug and is stopped", async () => {
  const endless: Machine<number, { n: number }, "again"> = {
    initial: 0,
    step: (state) => state + 1,
    owed: () => "again",
  };
  const journal = { read: () => Promise.resolve([]), append: () => Promise.resolve() };
  await assert.rejects(
    () => drive(endless, journal, () => Promise.resolve({ n: 1 })),
    /does not progress/,
  );
});

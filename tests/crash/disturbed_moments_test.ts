import assert from "node:assert/strict";
import { planEnter } from "../../lib/serves/machines/mode.ts";
import { takeSurvey } from "../../lib/serves/machines/survey.ts";
import { everyMoment } from "../../lib/testing/every_moment.ts";
import { FakeClock } from "../../lib/testing/fake_clock.ts";
import { Died, type FakeDisk } from "../../lib/testing/fake_disk.ts";
import { Stillness } from "../../roles/agent/stillness.ts";
import { FOLDER, sent, sessionOn, standingOn } from "../support/bench_moments.ts";
import { ChangeWorld } from "../support/change_world.ts";

/** Hosts outlive the agents on them. */
const worlds = new WeakMap<FakeDisk, ChangeWorld>();

/** What one life of the agent came to. */
interface Life {
  /** A request was sent after the first line of the change. */
  readonly together: boolean;
}

/** It goes on with a change, measures, and enters a mode once three requests were sent. */
async function life(disk: FakeDisk): Promise<Life> {
  const world = worlds.get(disk) ?? new ChangeWorld(disk);
  worlds.set(disk, world);
  const stillness = new Stillness(new FakeClock());
  const { conductor, store, survey } = world.life((what) => stillness.disturb(what));
  const newest = await store.newest();
  if (newest !== null) {
    const before = await standingOn(disk);
    assert.equal(before?.ending, "conditions_changed", "the change began beside a benchmark");
  }
  await conductor.resume();
  const enough = Promise.withResolvers<void>();
  const gaveWay = Promise.withResolvers<void>();
  let begun = false;
  let together = false;
  const over = (await standingOn(disk))?.ending === "conditions_changed";
  const session = over ? null : await sessionOn(disk, 1, async (many) => {
    if (begun) together = true;
    if (many < 3) return;
    enough.resolve();
    await gaveWay.promise;
  });
  const measuring = (async () => {
    if (session === null) return;
    const claim = stillness.measure(session.state.benchmark.through);
    assert.ok(claim.kind === "measured");
    using _claim = claim;
    claim.signal.addEventListener("abort", async () => {
      session.giveWay(String(claim.signal.reason));
      // What is under way takes its time to be cut off: longer than a change takes to begin.
      for (let turn = 0; turn < 500; turn++) await Promise.resolve();
      gaveWay.resolve();
    });
    const end = await session.work();
    if (end.kind === "not_kept") throw new Died("told as a disk that says no");
  })();
  if (session === null) enough.resolve();
  const entering = Promise.race([enough.promise, measuring]).then(() =>
    conductor.begin(
      {
        plan: async (signal) => {
          const seen = await takeSurvey(survey, signal);
          return seen.kind === "refused" ? seen : await planEnter(
            seen,
            { mode: "studio", drainSeconds: 5 },
            survey,
            signal,
          );
        },
        ...{ expected: null, serves: world.serves, config: null, run: null },
      },
      () => begun = true,
      new AbortController().signal,
    )
  );
  const ends = await Promise.allSettled([measuring, entering]);
  if (disk.dead) throw new Died("died in the middle");
  for (const one of ends) if (one.status === "rejected") throw one.reason;
  return { together };
}

Deno.test("a change and the benchmark it ends, dying at any moment: never both, and no half evidence", async () => {
  const moments = await everyMoment(async (disk) => {
    const { together } = await life(disk);
    assert.equal(together, false, "a request was sent in the middle of the change");
    const world = worlds.get(disk);
    assert.deepEqual(world?.now.running, ["embed", "studio"], "the change came about");
    const told = await standingOn(disk);
    assert.deepEqual(
      [told?.ending, told?.endedBy, told?.evidence],
      ["conditions_changed", "enter studio", null],
    );
    assert.equal(disk.contents.has(`${FOLDER}/evidence.json`), false);
    assert.ok((sent.get(disk) ?? 0) <= 6, "an engine is never sent one twice");
  });
  assert.equal(moments, 109);
});

// needs: nothing
/**
 * Mode and promotion, killed at every moment, with a real router, real engines and real requests.
 * Each kill is `kill -9` of the process that works on the change; a later life goes on with it.
 *
 * @module
 */

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { beginChange, type What } from "../support/change_asks.ts";
import {
  IN_MODE,
  openStream,
  OUTSIDE,
  PROMOTED,
  type Rig,
  type Seen,
  seen,
  withRig,
} from "../support/change_host.ts";
import { changeLife, type ChangePlace } from "../support/change_rig.ts";

const CHILD = fileURLToPath(new URL("../crash/change_child.ts", import.meta.url));

interface Ended {
  readonly killed: boolean;
  readonly out: string;
}

async function child(place: ChangePlace, what: What, at: number): Promise<Ended> {
  const output = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", CHILD, JSON.stringify(place), what, String(at)],
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).output();
  return {
    killed: output.signal === "SIGKILL",
    out: new TextDecoder().decode(output.stdout).trim(),
  };
}

/** A change, what is seen before it and after it. */
type Turn = readonly [what: What, before: Seen, after: Seen];

/** Hosts that are worked on side by side: most of the time is spent waiting. */
const RIGS = 3;

/** A stream lasts about as long as a change, its kill and its second life. */
const TOKENS = 36;

/** Counts the moments of both turns, and sees that they do what they should. */
async function momentsOf({ place }: Rig, turns: readonly Turn[]): Promise<readonly number[]> {
  const counts: number[] = [];
  // The first round leaves a tier quiesced that was not: its steps are others than all later ones.
  for (const [what, , after] of [...turns, ...turns]) {
    const { killed, out } = await child(place, what, -1);
    assert.ok(!killed, out);
    const { moments, end } = JSON.parse(out) as { moments: string[]; end: unknown };
    assert.deepEqual(await seen(place.ports), after, JSON.stringify(end));
    counts.push(moments.length);
  }
  return counts.slice(turns.length);
}

/** One kill at one moment, one resume; true when the new state came of it. */
async function killedAt({ place }: Rig, [what, before, after]: Turn, at: number): Promise<boolean> {
  const stream = await openStream(place.ports, TOKENS);
  const died = await child(place, what, at);
  assert.ok(died.killed, `moment ${at} of ${what}: ${died.out}`);
  const life = await changeLife(place);
  const end = await life.conductor.resume();
  const now = await seen(place.ports);
  const why = `${what} ${died.out}: ${JSON.stringify(end)}\n${life.said.join("\n")}`;
  assert.ok(await stream(), `a stream of another tier was cut: ${why}`);
  const isNew = JSON.stringify(now) === JSON.stringify(after);
  if (!isNew) {
    assert.deepEqual(now, before, why);
    // It is asked for again: the next turn starts where this one was to end.
    const again = await beginChange(life, what, place.ports);
    assert.ok(again.kind === "ended" && again.record.state.at === "reached", why);
  }
  life.close();
  return isNew;
}

/**
 * There and back in turn, killed at every moment that either has. `shared`: both are one kind of
 * change, so a moment is tried in one of the two directions.
 */
async function killedAtEveryMoment(
  turns: readonly [Turn, Turn],
  shared: boolean,
): Promise<void> {
  const tried = new Map<What, Set<number>>();
  let fresh = 0;
  let moments: readonly number[] = [];
  await Promise.all(Array.from({ length: RIGS }, (_, first) =>
    withRig(async (rig) => {
      const counts = await momentsOf(rig, turns);
      moments = counts;
      let turn = 0;
      for (let at = first; at < Math.max(...counts); at += RIGS) {
        for (let once = 0; once < (shared ? 1 : 2); once++, turn = 1 - turn) {
          const asked = turns[turn] as Turn;
          const moment = Math.min(at, (counts[turn] ?? 0) - 1);
          // Not `fresh += await`: the rigs would overwrite each other's count.
          if (await killedAt(rig, asked, moment)) fresh++;
          const [what] = asked;
          tried.set(what, (tried.get(what) ?? new Set()).add(moment));
        }
      }
      assert.ok(!rig.supervisor.happened.includes("stop embed"));
    })));
  const kills = [...tried].map(([what, at]) => `${what} ${at.size}`).join(", ");
  console.log(`  moments ${moments.join(" and ")}; killed at: ${kills}; ${fresh} ended new`);
  const all = [...tried.values()];
  if (shared) assert.equal(new Set(all.flatMap((one) => [...one])).size, Math.max(...moments));
  else assert.deepEqual(all.map((one) => one.size).toSorted(), [...moments].toSorted());
}

Deno.test("mode enter and leave, killed at every moment, through a real router", async () => {
  await killedAtEveryMoment([["enter", OUTSIDE, IN_MODE], ["leave", IN_MODE, OUTSIDE]], false);
});

Deno.test("promotion, killed at every moment, through a real router", async () => {
  await killedAtEveryMoment([
    ["promote", OUTSIDE, PROMOTED],
    ["demote", PROMOTED, OUTSIDE],
  ], true);
});

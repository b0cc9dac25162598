/**
 * Crash at every moment: run a flow, let it die at each moment in turn, start it again on the same
 * disk, and let it assert that it came out right.
 *
 * @module
 */

import { Died, FakeDisk } from "./fake_disk.ts";

/** Where a run stands. */
export interface Run {
  /** Moments at which earlier runs on this disk died, oldest first; empty in the first run. */
  readonly deaths: readonly number[];
}

/**
 * One life: everything a process does from its start, ending in assertions on what it left behind.
 * It must let `Died` pass, as a killed process runs no handler.
 */
export type Flow = (disk: FakeDisk, run: Run) => Promise<void>;

/** A flow with more moments than this is not going to end. */
const MOST_MOMENTS = 2000;

/**
 * Runs `flow` whole, then once per moment with a death there and a restart; with `mostDeaths` 2
 * the restart dies at each of its moments as well. Returns how many moments the whole run has.
 */
export async function everyMoment(flow: Flow, mostDeaths: 1 | 2 = 1): Promise<number> {
  const moments = await count(flow, []);
  for (let first = 0; first < moments; first++) {
    const left = await count(flow, [first]);
    if (mostDeaths === 1) continue;
    for (let second = 0; second < left; second++) await count(flow, [first, second]);
  }
  return moments;
}

/** Dies at each of `deaths`, then runs whole; returns the moments of that last run. */
async function count(flow: Flow, deaths: readonly number[]): Promise<number> {
  const disk = new FakeDisk();
  disk.contents.set("/disk", { kind: "directory" });
  for (const [index, moment] of deaths.entries()) {
    disk.dieAt(moment);
    await die(flow, disk, { deaths: deaths.slice(0, index) });
    disk.restart();
  }
  try {
    await flow(disk, { deaths });
  } catch (cause) {
    throw new Error(`the run after deaths at [${deaths}] did not come out right`, { cause });
  }
  if (disk.moments > MOST_MOMENTS) throw new Error(`over ${MOST_MOMENTS} moments`);
  return disk.moments;
}

async function die(flow: Flow, disk: FakeDisk, run: Run): Promise<void> {
  try {
    await flow(disk, run);
  } catch (error) {
    if (error instanceof Died) return;
    throw new Error("the flow turned its death into another error", { cause: error });
  }
  throw new Error("the flow survived its death: it swallowed Died, or is not the same each time");
}

/**
 * What every implementation of the clock port does.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Clock } from "../core/clock.ts";

/** The port under test, and how time passes for it. */
export interface ClockSubject {
  readonly clock: Clock;
  /** Returns when at least `ms` have passed. */
  pass(ms: number): Promise<void>;
}

/** Registers the suite under `name`. */
export function clockConformance(name: string, make: () => ClockSubject): void {
  Deno.test(`clock, ${name}: sleepers wake in the order of their time, not before it`, async () => {
    const { clock, pass } = make();
    const woke: string[] = [];
    const start = clock.monotonic();
    const sleep = async (ms: number) => {
      await clock.sleep(ms);
      // Timers count whole milliseconds, the monotonic clock counts parts of them.
      assert.ok(clock.monotonic() - start >= ms - 1);
      woke.push(`${ms}`);
    };
    const all = Promise.all([sleep(40), sleep(5), sleep(0)]);
    await pass(60);
    await all;
    assert.deepEqual(woke, ["0", "5", "40"]);
    assert.ok(clock.now() > Date.UTC(2025, 0, 1));
  });

  Deno.test(`clock, ${name}: an abort ends a sleep with its reason`, async () => {
    const { clock } = make();
    const reason = new Error("enough");
    const controller = new AbortController();
    const asleep = assert.rejects(() => clock.sleep(60_000, controller.signal), reason);
    controller.abort(reason);
    await asleep;
    await assert.rejects(() => clock.sleep(0, controller.signal), reason);
    await assert.rejects(() => clock.sleep(2 ** 40, AbortSignal.abort(reason)), reason);
  });

  Deno.test(`clock, ${name}: a sleep longer than a timer can hold does not end at once`, async () => {
    const { clock, pass } = make();
    const controller = new AbortController();
    let ended = false;
    const asleep = clock.sleep(2 ** 31 + 5, controller.signal).finally(() => ended = true);
    await pass(20);
    assert.equal(ended, false);
    controller.abort();
    await assert.rejects(() => asleep);
  });
}

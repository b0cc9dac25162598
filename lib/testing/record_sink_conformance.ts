/**
 * What every implementation of the record sink port does.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Json } from "../core/canonical_json.ts";
import type { RecordSink } from "../core/record_sink.ts";

/** The port under test, and hands on the disk under it. */
export interface RecordSinkSubject extends AsyncDisposable {
  readonly sink: RecordSink;
  records(): Promise<readonly Json[]>;
  /** Makes the disk say no, or yes again. */
  fail(failing: boolean): Promise<void>;
}

/** A token of our own form that must not be in any sink. */
export const CANARY = `anvil_${"cAnArY-_".repeat(5)}xyz`;

/** Registers the suite under `name`. */
export function recordSinkConformance(name: string, make: () => Promise<RecordSinkSubject>): void {
  const test = (what: string, run: (subject: RecordSinkSubject) => Promise<void>) =>
    Deno.test(`record sink, ${name}: ${what}`, async () => {
      await using subject = await make();
      await run(subject);
    });

  test("what was flushed is there, in order", async ({ sink, records }) => {
    const numbers = Array.from({ length: 1500 }, (_, n) => ({ n }));
    for (const record of numbers) sink.write(record);
    await sink.flush();
    assert.deepEqual(await records(), numbers);
    assert.equal(sink.lost, 0);
  });

  test("a record is what it was when it was written", async ({ sink, records }) => {
    const record = { n: 1 };
    sink.write(record);
    record.n = 2;
    await sink.flush();
    assert.deepEqual(await records(), [{ n: 1 }]);
  });

  test("a failing disk loses, counts, and recovers", async ({ sink, records, fail }) => {
    sink.write("before");
    await sink.flush();
    await fail(true);
    sink.write("lost 1");
    sink.write("lost 2");
    await sink.flush();
    assert.equal(sink.lost, 2);
    await fail(false);
    sink.write("after");
    await sink.flush();
    assert.equal(sink.lost, 2);
    assert.deepEqual((await records()).slice(-1), ["after"]);
    assert.ok(!JSON.stringify(await records()).includes("lost"));
  });

  test("what JSON cannot hold is lost, not thrown", async ({ sink }) => {
    const round: Record<string, Json> = {};
    round["self"] = round;
    sink.write(round);
    await sink.flush();
    assert.equal(sink.lost, 1);
  });

  test("a token does not get in", async ({ sink, records }) => {
    sink.write({ alias: CANARY, nested: [{ [CANARY]: `Bearer ${CANARY}` }] });
    await sink.flush();
    const text = JSON.stringify(await records());
    assert.ok(text.includes("[secret]"));
    assert.ok(!text.includes(CANARY.slice(6, 20)));
  });
}

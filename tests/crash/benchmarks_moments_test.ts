import assert from "node:assert/strict";
import { conclude } from "../../lib/benchmark/conclude.ts";
import { readEvidence } from "../../lib/evidence/evidence.ts";
import { everyMoment } from "../../lib/testing/every_moment.ts";
import { Died, type FakeDisk } from "../../lib/testing/fake_disk.ts";
import {
  DOCUMENT,
  FOLDER,
  REPEATS,
  sent,
  sessionOn,
  standingOn,
} from "../support/bench_moments.ts";

/** One life of an agent: it begins the benchmark, or goes on with it, as far as it comes. */
async function life(disk: FakeDisk, concurrency: number): Promise<void> {
  const session = await sessionOn(disk, concurrency);
  if (session === null) return;
  let end;
  try {
    end = await session.work();
  } catch (error) {
    if (disk.dead) throw new Died("died in the middle");
    throw error;
  }
  if (disk.dead) throw new Died("died, and told as a disk that says no");
  assert.equal(end.kind, "ended");
}

for (const [concurrency, expected] of [[1, 69], [3, 69]] as const) {
  Deno.test(`a benchmark that dies at any moment asks nothing twice and loses nothing, ${concurrency} at a time`, async () => {
    const moments = await everyMoment(async (disk, { deaths }) => {
      await life(disk, concurrency);
      const told = await standingOn(disk);
      assert.ok(told !== null);
      const evidence = disk.contents.get(`${FOLDER}/evidence.json`);
      assert.ok(evidence?.kind === "file");
      const read = await readEvidence(Uint8Array.from(evidence.bytes), told.evidence ?? "");
      assert.ok(read.kind === "ok", JSON.stringify(read));
      const { requests } = read.model.body.measures;
      const all = DOCUMENT.prompts.length * REPEATS;
      assert.equal(requests.sent, all, "each is accounted for");
      assert.equal(requests.completed + requests.cancelled, all);
      assert.ok(requests.cancelled <= concurrency * deaths.length, "only what was under way");
      assert.ok((sent.get(disk) ?? 0) <= all, "an engine is never sent one twice");
      assert.ok((sent.get(disk) ?? 0) >= requests.completed);
      assert.equal(read.model.body.run.complete, true);
      const again = await conclude({ ...told, evidence: null });
      assert.equal(again.evidence.digest, told.evidence, "the same journal gives the same bytes");
    });
    assert.equal(moments, expected);
  });
}

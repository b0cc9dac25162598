/**
 * A bootstrap whose receiver dies, at every moment of its disk: then the host is away until the attempt
 * has ended as it can, is back, and the operator goes on with the same operation; and dies once more
 * while that goes on. Real kills are in tests/real/receiver_killed_test.ts.
 *
 * @module
 */

import assert from "node:assert/strict";
import { planSha256 } from "../../lib/bootstrap/plan.ts";
import { refuse } from "../../lib/core/refusal.ts";
import { sha256 } from "../../lib/host/digest.ts";
import { archiveOf } from "../../lib/testing/bundle_rig.ts";
import { Died, type FakeDisk, type FakeFile } from "../../lib/testing/fake_disk.ts";
import {
  type ApplyAsk,
  applyPlan,
  type BootstrapPorts,
  settleAnswering,
} from "../../roles/operator/bootstrap/apply.ts";
import { bootstrapRig, told } from "../support/bootstrap_rig.ts";
import { ID, newDisk, ONE, TWO } from "../support/receiver_rig.ts";

/** How it is meant to end. */
type Course = "first" | "good" | "bad";

/** A host before an operation, and the operation. */
async function begin(course: Course, before: ReadonlyMap<string, FakeFile>) {
  const disk = newDisk();
  for (const [path, file] of before) disk.contents.set(path, file);
  const rig = await bootstrapRig(disk);
  const { host, world, ports, receipts } = rig;
  world.patience = 1;
  const bundle = course === "first" ? ONE : TWO;
  if (course === "bad") world.silent = [TWO];
  // Before the operation no agent is up: only what is started since runs.
  const started = host.running.length;
  let away = false;
  const alive: BootstrapPorts = {
    ...ports,
    ask: async (request, archive) => {
      const lost = request.verb === "status" || request.verb === "identity"
        ? "transport_failed"
        : "may_have_executed";
      if (away) return refuse(lost, "away");
      try {
        return await ports.ask(request, archive);
      } catch (error) {
        if (!(error instanceof Died)) throw error;
        disk.restart();
        away = true;
        return refuse(lost, "died");
      }
    },
    agent: () => {
      world.instead = host.running.length > started ? null : "absent";
      return ports.agent();
    },
  };
  const plan = await rig.planFor(bundle);
  const ask: ApplyAsk = {
    plan,
    planDigest: planSha256(sha256, plan),
    operationId: ID(7),
    bundle: await archiveOf(bundle) as Uint8Array<ArrayBuffer>,
    by: "t",
    kept: null,
  };
  return {
    ...rig,
    disk,
    /** One attempt, with the receiver's death at a moment of it, or none. */
    attempt: async (death: number | null) => {
      away = false;
      disk.restart();
      if (death !== null) disk.dieAt(death);
      const kept = receipts.findLast(({ operation_id }) => operation_id === ask.operationId) ??
        null;
      const seen = await alive.agent();
      const applied = seen.kind === "answers"
        ? await settleAnswering(alive, { ...ask, kept }, seen.health)
        : await applyPlan(alive, { ...ask, kept });
      return { ...told(applied), died: away, moments: disk.moments };
    },
  };
}

const GOOD = { end: "accepted", runs: ONE };
const ENDS = {
  first: GOOD,
  good: { ...GOOD, runs: TWO },
  bad: { end: "rolled_back", runs: ONE },
} as const;

/** The disk of a host that has the first agent already. */
async function installed(): Promise<FakeDisk> {
  const disk = newDisk();
  const { apply } = await bootstrapRig(disk);
  assert.equal((await apply(ONE, 1)).end, "accepted");
  return disk;
}

/**
 * Dies at each of `deaths`, one attempt each, then goes on undisturbed. Gives how many moments that
 * had, and where the receipt stood after the last death.
 */
async function run(
  course: Course,
  before: ReadonlyMap<string, FakeFile>,
  deaths: readonly number[],
): Promise<{ readonly left: number; readonly died: string | undefined }> {
  const at = await begin(course, before);
  const where = `${course} after deaths at [${deaths}]`;
  let last: Awaited<ReturnType<typeof at.attempt>> | null = null;
  for (const death of deaths) {
    last = await at.attempt(death);
    // Whoever got no answer promises nothing: an agent that answers, or an open receipt.
    if (last.died) {
      assert.ok(last.code === 3 || last.end === ENDS[course].end, `${where}: ${last.end}`);
    }
    await at.host.assertSound();
  }
  const end = await at.attempt(null);
  assert.equal(end.end, ENDS[course].end, `${where}: ${JSON.stringify({ last, end })}`);
  assert.equal(at.host.running.at(-1), at.host.digest(ENDS[course].runs), where);
  assert.equal(at.host.pointer("current")?.trim(), at.host.digest(ENDS[course].runs), where);
  await at.host.assertSound();
  return { left: end.moments, died: last?.end };
}

/** Where a receipt stood when the host had gone away. */
const OPEN = {
  first: ["planned", "installed", "accepted"],
  good: ["planned", "installed", "accepted"],
  bad: ["planned", "installed", "rollback_started", "rolled_back"],
} as const;

for (const course of ["first", "good", "bad"] as const) {
  Deno.test(`bootstrap moments: the receiver dies at any moment of ${course}`, async () => {
    const before = course === "first" ? new Map() : (await installed()).contents;
    const { left: moments } = await run(course, before, []);
    assert.ok(moments > 25, `${moments}`);
    const endings = new Set<unknown>();
    for (let first = 0; first < moments; first++) {
      const { left, died } = await run(course, before, [first]);
      endings.add(died);
      // Staging is the same in each course: its second deaths are those of the first.
      if (course !== "first" && died === "planned") continue;
      // Of the pairs within it every fifth, each time another.
      const stride = died === "planned" ? 5 : 1;
      for (let second = first % stride; second < left; second += stride) {
        await run(course, before, [first, second]);
      }
    }
    // It did die where it matters, and an open receipt was what was left.
    for (const one of OPEN[course]) assert.ok(endings.has(one), `${one} of ${[...endings]}`);
  });
}

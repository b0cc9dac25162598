import assert from "node:assert/strict";
import { OperationRig, put } from "../testing/operation_rig.ts";
import { tempDir } from "../testing/temp_dir.ts";
import type { Answer } from "./answer.ts";

function told(answer: Answer): unknown[] {
  return answer.kind === "done"
    ? ["done", answer.known ? "known" : "new", answer.result]
    : [answer.code, answer.mayHaveExecuted ? "perhaps" : "not"];
}

async function withRig(run: (rig: OperationRig, folder: string) => Promise<void>): Promise<void> {
  await using dir = await tempDir();
  using rig = await OperationRig.open({ folder: dir.path });
  await run(rig, dir.path);
}

/** Waits until the newest run is past its plan. */
async function underWay(rig: OperationRig): Promise<void> {
  while (rig.runner.running === 0 || rig.ledger.list(1, null)[0]?.step !== "run") {
    await Promise.resolve();
  }
}

Deno.test("runner: one key runs once, whoever asks how often", async () => {
  await withRig(async (rig) => {
    const twice = await Promise.all([rig.runner.call(put("a")), rig.runner.call(put("a"))]);
    assert.deepEqual(twice.map(told).sort(), [
      ["done", "known", { put: "a" }],
      ["done", "new", { put: "a" }],
    ]);
    assert.deepEqual(told(await rig.runner.call(put("a"))), ["done", "known", { put: "a" }]);
    assert.deepEqual(rig.world, ["a"]);
  });
});

Deno.test("runner: one key for another input or principal is a conflict and changes nothing", async () => {
  await withRig(async (rig) => {
    await rig.runner.call(put("a"));
    assert.deepEqual(told(await rig.runner.call(put("b"))), ["key_conflict", "not"]);
    const other = put("a", { principal: "mallory" });
    assert.deepEqual(told(await rig.runner.call(other)), ["key_conflict", "not"]);
    assert.deepEqual(rig.world, ["a"]);
  });
});

Deno.test("runner: a second caller joins the live run and hears its end", async () => {
  await withRig(async (rig) => {
    rig.course = "hang";
    const first = rig.runner.call(put("a"));
    while (rig.runner.running === 0) await Promise.resolve();
    const second = rig.runner.call(put("a"));
    await new Promise((resolve) => setTimeout(resolve, 5));
    rig.release();
    assert.deepEqual([told(await first)[1], told(await second)[1]], ["new", "known"]);
    assert.deepEqual(rig.world, ["a"]);
  });
});

Deno.test("runner: what is refused before anything happens, and by which code", async () => {
  await withRig(async (rig) => {
    const cases: [Parameters<typeof put>[1], string][] = [
      [{ scopes: [] }, "scope_missing"],
      [{ scopes: ["box.put:plan"] }, "scope_missing"],
      [{ scopes: ["box.look", "boxes.*", "node.*:apply"] }, "scope_missing"],
      [{ operation: "box.nothing", scopes: ["box.put"] }, "scope_missing"],
      [{ operation: "box.nothing" }, "operation_unknown"],
      [{ operation: "box.look" }, "operation_unknown"], // a role this host has not
      [{ operation: "__proto__" }, "operation_unknown"],
      [{ input: { text: 1 } }, "input_invalid"],
      [{ input: { text: "a", more: 1 } }, "input_invalid"],
      [{ input: null }, "input_invalid"],
      [{ key: null }, "key_required"],
      [{ key: "short" }, "key_malformed"],
      [{ key: "x".repeat(129) }, "key_malformed"],
      [{ key: "white space" }, "key_malformed"],
      [{ operation: "box.burn", input: {} }, "confirm_required"],
      [{ operation: "box.size", input: {}, dryRun: true }, "dry_run_of_read"],
    ];
    for (const [more, code] of cases) {
      assert.deepEqual(told(await rig.runner.call(put("a", more))), [code, "not"], code);
    }
    assert.deepEqual(rig.world, []);
    assert.equal(rig.ledger.count().runs, 0);
  });
});

Deno.test("runner: a dry run shows the live run's plan, needs no key and leaves no row", async () => {
  await withRig(async (rig) => {
    const dry = await rig.runner.call(
      put("a", { dryRun: true, key: null, scopes: ["box.put:plan"] }),
    );
    assert.deepEqual(told(dry), ["done", "new", { put: "a" }]);
    const never = put("never", { dryRun: true });
    assert.deepEqual(told(await rig.runner.call(never)), ["text_refused", "not"]);
    assert.deepEqual([rig.world, rig.ledger.count().runs], [[], 0]);
    const live = await rig.runner.call(put("never"));
    assert.deepEqual(told(live), ["text_refused", "not"]);
    assert.deepEqual(told(await rig.runner.call(put("never"))), ["text_refused", "not"]);
  });
});

Deno.test("runner: handlers that refuse, throw, hang or do not listen", async () => {
  await withRig(async (rig) => {
    const ended = async (course: typeof rig.course, key: string) => {
      rig.course = course;
      return told(await rig.runner.call(put("a", { key })));
    };
    assert.deepEqual(await ended("refuse", "key-refuse"), ["box_full", "not"]);
    assert.deepEqual(await ended("throw", "key-throw"), ["operation_failed", "perhaps"]);
    assert.deepEqual(await ended("hang", "key-hang"), ["operation_timed_out", "perhaps"]);
    assert.deepEqual(await ended("deaf", "key-deaf"), ["operation_timed_out", "perhaps"]);
    const release = rig.release;
    assert.deepEqual(await ended("deaf", "key-deaf-2"), ["operation_timed_out", "perhaps"]);
    assert.deepEqual(await ended("fine", "key-busy"), ["agent_busy", "not"]); // both slots hang
    release(); // its next step is refused: it was settled, so it must not touch the world
    rig.release();
    await new Promise((resolve) => setTimeout(resolve, 5));
    assert.deepEqual(rig.world, []);
    assert.deepEqual(await ended("fine", "key-busy"), ["done", "new", { put: "a" }]);
  });
});

Deno.test("runner: a large result is told whole, kept as an ending", async () => {
  await withRig(async (rig) => {
    rig.course = "large";
    const first = await rig.runner.call(put("a"));
    assert.ok(first.kind === "done" && typeof first.result === "string");
    assert.equal(first.result.length, 10 * 1024 * 1024);
    const again = await rig.runner.call(put("a"));
    assert.ok(again.kind === "done" && again.run !== null);
    assert.deepEqual([again.result, again.run.truncated, again.run.effect], [
      null,
      true,
      "applied",
    ]);
  });
});

Deno.test("runner: cancelled, and stopped with the agent", async () => {
  await withRig(async (rig) => {
    rig.course = "hang";
    const cancelled = rig.runner.call(put("a"));
    await underWay(rig);
    const [run] = rig.ledger.list(1, null);
    assert.ok(run !== undefined && rig.runner.cancel(run.id));
    assert.deepEqual(told(await cancelled), ["operation_cancelled", "perhaps"]);
    assert.equal(rig.runner.cancel(run.id), false);
    const stopped = rig.runner.call(put("b", { key: "key-stopped" }));
    await underWay(rig);
    await rig.runner.stop(1);
    assert.deepEqual(told(await stopped), ["operation_interrupted", "perhaps"]);
    assert.deepEqual(told(await rig.runner.call(put("c"))), ["agent_stopping", "not"]);
  });
});

Deno.test("runner: a read ends at its deadline, or when its caller leaves", async () => {
  await withRig(async (rig) => {
    const read = put("", { operation: "box.size", input: { wait: true }, key: null });
    assert.deepEqual(told(await rig.runner.call(read)), ["operation_timed_out", "not"]);
    const gone = AbortSignal.abort();
    const controller = new AbortController();
    const waiting = rig.runner.call({ ...read, signal: controller.signal });
    controller.abort();
    assert.deepEqual(told(await waiting), ["caller_left", "not"]);
    assert.ok(gone.aborted);
    assert.deepEqual(rig.audit.tail(10).map((one) => (one as { code: string }).code), [
      null,
      "operation_timed_out",
      null,
      "caller_left",
    ]);
  });
});

Deno.test("runner: without an audit record nothing is done", async () => {
  await withRig(async (rig) => {
    rig.audit.close();
    assert.deepEqual(told(await rig.runner.call(put("a"))), ["audit_unavailable", "not"]);
    assert.deepEqual([rig.world, rig.ledger.count().runs], [[], 0]);
  });
});

Deno.test("runner: what an earlier process left running is settled, on record, never run", async () => {
  await using dir = await tempDir();
  {
    using rig = await OperationRig.open({ folder: dir.path });
    const subject = { principal: "ops", operation: "box.put", node: "gpu-a", topology: null };
    rig.ledger.claim("run-1", "key-00000001", { ...subject, input: { text: "a" } });
    rig.ledger.claim("run-2", "key-00000002", { ...subject, input: { text: "b" } });
    rig.ledger.step("run-2", "put", "applied");
  }
  using rig = await OperationRig.open({ folder: dir.path, epoch: "epoch-2" });
  assert.deepEqual(told(await rig.runner.call(put("a"))), ["operation_interrupted", "not"]);
  assert.deepEqual(rig.runner.recover().map((run) => [run.id, run.code, run.step, run.effect]), [
    ["run-2", "operation_interrupted", "put", "applied"],
  ]);
  const second = put("b", { key: "key-00000002" });
  assert.deepEqual(told(await rig.runner.call(second)), ["operation_interrupted", "perhaps"]);
  assert.deepEqual(rig.world, []);
  assert.deepEqual(rig.runner.recover(), []);
});

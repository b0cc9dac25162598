import assert from "node:assert/strict";
import type { Plan, State } from "../../../lib/serves/machines/transaction.ts";
import { changeView, ended, shown, whileFree } from "./change.ts";

const plan: Plan = {
  kind: "enter",
  node: "gpu-a",
  subject: "studio",
  evidence: null,
  bound: { config: null, manifest: null, topology: null },
  steps: [{ do: "stop", serve: "chat" }, { do: "start", serve: "studio" }],
  before: {},
  drain_seconds: 5,
  notes: [],
};
const why = { code: "serve_died", detail: "studio ended by itself" };
const trouble = { code: "image_absent", detail: "the image is gone" };
const id = "000001-enter";

const stuck: State = {
  ...{ at: "stuck", plan, run: "run-1", why, trouble, tries: 3, assure: [], deferred: false },
  todo: [{ do: "start", serve: "chat" }],
};

Deno.test("change: each ending of a change is told as it is", () => {
  const end = (state: State) => {
    const ran = ended({ kind: "ended", record: { id, state, course: [] } });
    return ran.kind === "ok"
      ? ran.value.change
      : ran.kind === "failed"
      ? `${ran.code} ${ran.effect}`
      : ran.code;
  };
  const over = { plan, run: null, why, trouble };
  assert.equal(end({ at: "reached", ...over, why: null, trouble: null }), id);
  assert.equal(end({ at: "returned", ...over }), "change_returned none");
  assert.equal(end({ at: "abandoned", ...over }), "change_abandoned unknown");
  assert.equal(end(stuck), "manual_recovery unknown");
  assert.deepEqual(ended({ kind: "already", plan }), {
    kind: "ok",
    value: { change: null, subject: "studio", steps: [] },
  });
  const left = ended({ kind: "interrupted", id, detail: "it goes on" });
  assert.ok(left.kind === "failed" && left.code === "change_interrupted");
});

Deno.test("change: what is stuck shows why, what stands against it, and what is left", () => {
  const view = changeView({
    id,
    state: stuck,
    course: [
      { step: null, event: { kind: "begin", plan, run: "run-1" } },
      { step: { do: "stop", serve: "chat" }, event: { kind: "done", observed: "gone" } },
      {
        step: { do: "start", serve: "studio" },
        event: { kind: "failed", failure: why, changed: true },
      },
    ],
  });
  assert.deepEqual(view, {
    change: id,
    kind: "enter",
    subject: "studio",
    state: "manual_recovery",
    run: "run-1",
    why: "serve_died: studio ended by itself",
    trouble: "image_absent: the image is gone",
    done: [
      { step: "stop serve chat", observed: "gone" },
      { step: "start serve studio", observed: "failed: serve_died, studio ended by itself" },
    ],
    left: ["start serve chat"],
  });
  assert.equal(changeView({ id, state: { at: "idle" }, course: [] }), null);
});

Deno.test("change: a plan is named by all that is in it", () => {
  const { digest, steps, ends_benchmark } = shown(plan, "bench-000001");
  assert.deepEqual(steps, ["stop serve chat", "start serve studio"]);
  assert.equal(ends_benchmark, "bench-000001");
  assert.equal(shown(structuredClone(plan), null).digest, digest, "measured or not");
  assert.equal(shown({ ...plan, steps: [] }, "bench-000001").ends_benchmark, null);
  assert.notEqual(shown({ ...plan, notes: ["other"] }, null).digest, digest);
});

Deno.test("change: serves are not touched beside one that is worked on", async () => {
  let change: string | null = id;
  let opened = 0;
  const open = whileFree(() => change, () => Promise.resolve({ opened: ++opened }));
  const no = await open();
  assert.ok("code" in no && no.code === "host_busy");
  assert.equal(opened, 0);
  change = null;
  assert.deepEqual(await open(), { opened: 1 });
});

import assert from "node:assert/strict";
import { FakeProcesses, type FakeProgram } from "../../testing/fake_process.ts";
import { commandProbe, failedUnitsProbe, mountProbe, tcpProbe, unitProbe } from "./probes.ts";

const signal = new AbortController().signal;
const says = (program: FakeProgram | null) => new FakeProcesses(() => program).run;

Deno.test("probe unit: active passes and restarts are counted", async () => {
  const show = (state: string, restarts: number) =>
    `Id=a\nActiveState=${state}\nNRestarts=${restarts}\n`;
  const read = async (stdout: string, end = 0) => {
    const { state, count } = await unitProbe(says({ stdout, end }), ["a"])(signal);
    return [state, count];
  };
  assert.deepEqual(await read(show("active", 0)), ["pass", 0]);
  assert.deepEqual(await read(show("active", 7)), ["pass", 7]);
  assert.deepEqual(await read(show("activating", 8)), ["fail", 8]);
  assert.deepEqual(await read("", 1), ["unknown", null]);
  assert.deepEqual(await read(show("active", 0) + "\n" + show("active", 0)), ["unknown", null]);
});

Deno.test("probe failed units: those that may fail are left out", async () => {
  const stdout = "a.service loaded failed failed A\nb.service loaded failed failed B\n";
  const read = async (ignored: string[], text = stdout) =>
    (await failedUnitsProbe(says({ stdout: text }), ignored)(signal)).state;
  assert.equal(await read([]), "fail");
  assert.equal(await read(["a.service"]), "fail");
  assert.equal(await read(["a.service", "b.service"]), "pass");
  assert.equal(await read([], ""), "pass");
});

Deno.test("probe tcp, mount, command: fail and unknown are two things", async () => {
  const at = { hostname: "127.0.0.1", port: 1 };
  assert.equal((await tcpProbe(() => Promise.resolve(true), at)(signal)).state, "pass");
  assert.equal((await tcpProbe(() => Promise.resolve(false), at)(signal)).state, "fail");
  assert.equal((await mountProbe(says({ end: 0 }), "/x")(signal)).state, "pass");
  assert.equal((await mountProbe(says({ end: 32 }), "/x")(signal)).state, "fail");
  assert.equal((await mountProbe(says(null), "/x")(signal)).state, "unknown");
  for (const [end, state] of [[0, "pass"], [1, "fail"], [127, "unknown"]] as const) {
    assert.equal((await commandProbe(says({ end }), ["/p"])(signal)).state, state);
  }
});

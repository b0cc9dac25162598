import assert from "node:assert/strict";
import type { ProcessAsk, RunProcess } from "../../core/process.ts";
import { byUserManager, systemdSupervisor } from "./supervisor.ts";

Deno.test("supervisor: units of an account are those of its own manager, other programs stay", async () => {
  const asks: ProcessAsk[] = [];
  const run: RunProcess = (ask) => {
    asks.push(ask);
    return Promise.resolve({
      kind: "exited",
      code: 0,
      stdout: new Uint8Array(0),
      stderr: new Uint8Array(0),
    });
  };
  const theirs = byUserManager(run, 1234);
  assert.deepEqual(await systemdSupervisor(theirs).restart(["a.service"], 1000), { kind: "ok" });
  await theirs({ argv: ["df", "-P"], env: { LC_ALL: "C" }, deadlineMs: 1, maxOutputBytes: 1 });
  assert.deepEqual(asks.map(({ argv }) => argv.join(" ")), [
    "systemctl --user daemon-reload",
    "systemctl --user restart -- a.service",
    "df -P",
  ]);
  assert.equal(asks[1]?.env?.["XDG_RUNTIME_DIR"], "/run/user/1234");
  assert.equal(asks[1]?.env?.["LC_ALL"], "C");
  assert.deepEqual(asks[2]?.env, { LC_ALL: "C" });
});

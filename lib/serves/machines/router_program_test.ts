import assert from "node:assert/strict";
import { FakeDisk } from "../../testing/fake_disk.ts";
import { FakeProcesses, type FakeProgram } from "../../testing/fake_process.ts";
import type { RouterProgram } from "./ports.ts";
import { routerProgram } from "./router_program.ts";

const signal = new AbortController().signal;
const CONFIG = "/disk/anvil/router.toml";
const CANDIDATE = "/disk/anvil/.router.toml.candidate";

function rig(ends: FakeProgram | null, supervisor: "systemd" | "systemd-user" | "launchd") {
  const disk = new FakeDisk();
  disk.contents.set("/disk/anvil", { kind: "directory" });
  const processes = new FakeProcesses(() => ends);
  const program = routerProgram({
    run: processes.run,
    files: disk.files,
    config: CONFIG,
    program: ["anvil-router"],
    supervisor,
    unit: "anvil-router.service",
    env: { XDG_RUNTIME_DIR: "/run/user/1000" },
  });
  return { disk, processes, program };
}

Deno.test("router program: a text is judged beside the real one, which is not touched", async () => {
  const answer = { ok: true, data: { config_digest: "a".repeat(64), node: "gpu-a" }, problems: [] };
  const { disk, processes, program } = rig({ stdout: `${JSON.stringify(answer)}\n` }, "systemd");
  assert.deepEqual(await program.check("schema = 1\n", signal), {
    kind: "valid",
    digest: "a".repeat(64),
  });
  assert.deepEqual(processes.asks[0]?.argv, ["anvil-router", "check", "--json", CANDIDATE]);
  assert.deepEqual([...disk.contents.keys()].includes(CONFIG), false);
  const kept = disk.contents.get(CANDIDATE);
  assert.ok(kept?.kind === "file");
  assert.equal(new TextDecoder().decode(kept.bytes), "schema = 1\n");
});

Deno.test("router program: what it has against a text, and what is no judgement", async () => {
  const problems = [{ path: "tiers", code: "missing", message: "one at least", file: "x" }];
  const refused = JSON.stringify({ ok: false, data: null, problems });
  const judged = async (program: FakeProgram | null) => {
    const { code, kind, ...rest } = {
      code: null,
      ...await rig(program, "systemd").program.check("", signal),
    };
    return [kind, code, "problems" in rest ? rest.problems.length : 0];
  };
  assert.deepEqual(await judged({ stdout: refused, end: 2 }), ["refused", "config_invalid", 1]);
  const unusable = ["refused", "router_program_unusable", 0];
  assert.deepEqual(await judged(null), unusable);
  assert.deepEqual(await judged({ stdout: "usage", end: 2 }), unusable);
  assert.deepEqual(await judged({ stdout: "[]" }), unusable);
  assert.deepEqual(await judged({ end: { signal: "SIGKILL" } }), unusable);
  // It says ok and ends badly: that is no yes.
  const odd = JSON.stringify({ ok: true, data: { config_digest: "a".repeat(64) } });
  assert.deepEqual(await judged({ stdout: odd, end: 1 }), ["refused", "config_invalid", 0]);
  const full = rig({}, "systemd");
  full.disk.full = true;
  const no = await full.program.check("", signal);
  assert.ok(no.kind === "refused" && no.code === "router_candidate_unwritable");
  assert.match(no.nextStep ?? "", /folder of `router\.config`/, "it is not the program's fault");
  assert.equal(full.processes.asks.length, 0);
});

Deno.test("router program: the supervisor is asked by name, and its no is a no", async () => {
  const told = async (supervisor: Parameters<typeof rig>[1], ends: FakeProgram | null) => {
    const { processes, program } = rig(ends, supervisor);
    const end: Awaited<ReturnType<RouterProgram["restart"]>> = await program.restart(signal);
    return [end.kind, processes.asks[0]?.argv.join(" ") ?? ""];
  };
  assert.deepEqual(await told("systemd", {}), [
    "restarted",
    "systemctl restart -- anvil-router.service",
  ]);
  assert.deepEqual(await told("systemd-user", {}), [
    "restarted",
    "systemctl --user restart -- anvil-router.service",
  ]);
  assert.deepEqual(await told("launchd", {}), [
    "restarted",
    "launchctl kickstart -k anvil-router.service",
  ]);
  const denied = { end: 1, stderr: "Access denied" };
  assert.equal((await told("systemd", denied))[0], "refused");
  assert.equal((await told("systemd", null))[0], "refused");
});

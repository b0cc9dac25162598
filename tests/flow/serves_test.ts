import assert from "node:assert/strict";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { DOCKER } from "../fixtures/serves.ts";
import type { Told } from "../support/agent.ts";
import { type ServesRig, startServesRig } from "../support/serves_rig.ts";
import { until } from "../support/wait.ts";

/** Two serves that fit beside each other; the second needs the first. */
const TWO = DOCKER + DOCKER.replace("schema = 1\n", "")
  .replace('name = "primary"', 'name = "second"').replace("anvil-primary", "anvil-second")
  .replace("port = 8001", "port = 8002")
  .replace("mib = 18432", "mib = 40000")
  .replace('residency = "resident"', 'residency = "on-demand"\ndepends = ["primary"]');

let keys = 0;

function ask(rig: ServesRig, name: string, input: object, more: object = {}): Promise<Told> {
  const dry = "dry_run" in more ? {} : { key: `key-of-test-${keys++}` };
  return rig.agent.call(name, { input, ...more }, dry);
}

async function withRig(act: (rig: ServesRig) => Promise<void>, manifest = TWO): Promise<void> {
  await using dir = await tempDir();
  await using rig = await startServesRig(dir.path, manifest);
  await act(rig);
}

const sure = { confirm: true };

function resultOf(told: Told): { readonly [key: string]: unknown } {
  assert.equal(told.status, 200, JSON.stringify(told.body));
  return told.body["result"] as { readonly [key: string]: unknown };
}

async function states(rig: ServesRig): Promise<unknown[]> {
  const list = resultOf(await rig.agent.call("serves.list", { input: {} }));
  return (list["serves"] as { name: string; state: string }[])
    .map(({ name, state }) => `${name} ${state}`);
}

Deno.test("serves: up, seen, down proven; a dry run shows the plan and changes nothing", async () => {
  await withRig(async (rig) => {
    assert.deepEqual(await states(rig), ["primary stopped", "second stopped"]);
    const dry = resultOf(await ask(rig, "serves.up", { serve: "primary" }, { dry_run: true }));
    const budget = dry["budget"] as { kind: string; rows: { place: string; left_mib: number }[] };
    assert.deepEqual([dry["action"], budget.kind, budget.rows[0]?.left_mib], [
      "start",
      "fits",
      97887 - 2048 - 18432,
    ]);
    assert.deepEqual(rig.host.happened, []);
    const up = resultOf(await ask(rig, "serves.up", { serve: "primary" }));
    assert.equal(up["outcome"], "up");
    assert.deepEqual(await states(rig), ["primary running", "second stopped"]);
    const status = resultOf(await rig.agent.call("serves.status", { input: { serve: "primary" } }));
    assert.equal((status["proof"] as { kind: string }).kind, "proven");
    assert.equal((status["engine"] as { kind: string }).kind, "ready");
    const refused = await ask(rig, "serves.down", { serve: "primary" });
    assert.equal(refused.body["code"], "confirm_required");
    const down = resultOf(await ask(rig, "serves.down", { serve: "primary" }, sure));
    assert.equal(down["outcome"], "down");
    assert.deepEqual(rig.host.happened, ["start primary", "stop primary"]);
  });
});

Deno.test("serves: a serve waits for what it needs, and that is not taken from under it", async () => {
  await withRig(async (rig) => {
    const early = await ask(rig, "serves.up", { serve: "second" });
    assert.equal(early.body["code"], "dependency_down");
    resultOf(await ask(rig, "serves.up", { serve: "primary" }));
    resultOf(await ask(rig, "serves.up", { serve: "second" }));
    const under = await ask(rig, "serves.down", { serve: "primary" }, sure);
    assert.equal(under.body["code"], "dependents_up");
    assert.deepEqual(rig.host.running, ["primary", "second"]);
  });
});

Deno.test("serves: what does not fit is refused with the sum, in plan and live", async () => {
  await withRig(async (rig) => {
    rig.host.strangers.push({
      serve: null,
      label: "nobody-declared-me",
      devices: ["gpu-0"],
      pids: [],
      mib: 80_000,
    });
    for (const more of [{ dry_run: true }, {}]) {
      const told = await ask(rig, "serves.up", { serve: "primary" }, more);
      assert.equal(told.body["code"], "over_budget");
      assert.match(String(told.body["detail"]), /gpu-0: 98432 MiB of 95839 would be taken, 80000/);
    }
    assert.deepEqual(rig.host.happened, []);
  });
});

Deno.test("serves: an engine that dies is told at once, with its last lines and its code", async () => {
  await withRig(async (rig) => {
    const lines = ["loading", "no such model: giving up"];
    rig.host.courses.set("primary", { diesAfterMs: 50, exitCode: 3, healthyAfterMs: null, lines });
    const began = performance.now();
    const told = await ask(rig, "serves.up", { serve: "primary" });
    assert.ok(performance.now() - began < 5000, "it waited for start_seconds");
    assert.equal(told.body["code"], "serve_died");
    assert.match(String(told.body["detail"]), /with code 3.*no such model: giving up/);
    assert.equal(told.body["may_have_executed"], true);
  });
});

Deno.test("serves: never healthy, and another model, are told; what runs is left for a person", async () => {
  const slow = DOCKER.replace("stop_grace", "start_seconds = 1\nstop_grace");
  await withRig(async (rig) => {
    rig.host.courses.set("primary", { healthyAfterMs: null });
    const never = await ask(rig, "serves.up", { serve: "primary" });
    assert.equal(never.body["code"], "serve_never_healthy");
    assert.deepEqual(rig.host.running, ["primary"]);
    resultOf(await ask(rig, "serves.down", { serve: "primary", force: true }, sure));
    rig.host.courses.set("primary", { serves: "example-org/other" });
    const other = await ask(rig, "serves.up", { serve: "primary" });
    assert.equal(other.body["code"], "identity_mismatch");
    assert.match(
      String(other.body["detail"]),
      /expected example-org\/example-8b, observed example-org\/other/,
    );
  }, slow);
});

Deno.test("serves: two starts at once take their turns, and one start happens", async () => {
  await withRig(async (rig) => {
    rig.host.courses.set("primary", { healthyAfterMs: 300 });
    const both = await Promise.all([
      ask(rig, "serves.up", { serve: "primary" }),
      ask(rig, "serves.up", { serve: "primary" }),
    ]);
    const observed = both.map((told) =>
      (resultOf(told)["observed"] as { already: boolean }).already
    );
    assert.deepEqual(observed.toSorted(), [false, true]);
    assert.deepEqual(rig.host.happened, ["start primary"]);
  });
});

Deno.test("serves: a deaf engine is still there, and only force ends it", async () => {
  const short = DOCKER.replace("stop_grace_seconds = 30", "stop_grace_seconds = 1");
  await withRig(async (rig) => {
    rig.host.courses.set("primary", { ignoresTerm: true });
    resultOf(await ask(rig, "serves.up", { serve: "primary" }));
    const asked = await ask(rig, "serves.down", { serve: "primary" }, sure);
    assert.equal(asked.body["code"], "serve_still_there");
    assert.match(String(asked.body["detail"]), /1 processes are left, the port is taken/);
    const again = await ask(rig, "serves.up", { serve: "primary" });
    assert.equal(again.body["code"], "serve_stopping");
    resultOf(await ask(rig, "serves.down", { serve: "primary", force: true }, sure));
    assert.deepEqual(rig.host.running, []);
  }, short);
});

Deno.test("serves: restart finds what is missing before it stops anything", async () => {
  await withRig(async (rig) => {
    resultOf(await ask(rig, "serves.up", { serve: "primary" }));
    rig.host.courses.set("primary", { missing: "image_absent" });
    const told = await ask(rig, "serves.restart", { serve: "primary" }, sure);
    assert.equal(told.body["code"], "image_absent");
    assert.deepEqual(rig.host.happened, ["start primary"]);
    rig.host.courses.delete("primary");
    resultOf(await ask(rig, "serves.restart", { serve: "primary" }, sure));
    assert.deepEqual(rig.host.happened, ["start primary", "stop primary", "start primary"]);
  });
});

Deno.test("serves: what runs already is adopted when it is proven; nothing is started for it", async () => {
  await withRig(async (rig) => {
    const none = await ask(rig, "serves.adopt", { serve: "primary" });
    assert.equal(none.body["code"], "serve_not_running");
    const opened = await rig.open();
    assert.ok(!("code" in opened));
    const [serve] = opened.serves;
    assert.ok(serve !== undefined);
    rig.host.run(serve);
    const adopted = resultOf(await ask(rig, "serves.adopt", { serve: "primary" }));
    assert.equal((adopted["observed"] as { already: boolean }).already, true);
    assert.deepEqual(rig.host.happened, []);
  });
});

Deno.test("serves: a silent runtime is unknown everywhere, and never an empty list", async () => {
  await withRig(async (rig) => {
    resultOf(await ask(rig, "serves.up", { serve: "primary" }));
    rig.host.silent = true;
    assert.deepEqual(await states(rig), ["primary unknown", "second unknown"]);
    const up = await ask(rig, "serves.up", { serve: "second" });
    assert.equal(up.body["code"], "runtime_silent");
    const down = await ask(rig, "serves.down", { serve: "primary" }, sure);
    assert.equal(down.body["code"], "runtime_silent");
  });
});

Deno.test("serves: a start that is cancelled lets the host go, and leaves what runs to be seen", async () => {
  await withRig(async (rig) => {
    rig.host.courses.set("primary", { healthyAfterMs: null });
    const starting = ask(rig, "serves.up", { serve: "primary" });
    const running = async () => {
      const { runs } = resultOf(await rig.agent.call("operations.list", { input: {} })) as {
        readonly runs: readonly { readonly id: string; readonly step: string | null }[];
      };
      return runs.find(({ step }) => step === "primary: loading") ?? null;
    };
    await until("it loads", async () => await running() !== null);
    const run = await running();
    resultOf(await ask(rig, "operations.cancel", { run: run?.id }));
    const told = await starting;
    assert.equal(told.body["code"], "operation_cancelled", JSON.stringify(told.body));
    assert.equal(told.body["may_have_executed"], true);
    assert.deepEqual(await states(rig), ["primary running", "second stopped"]);
    resultOf(await ask(rig, "serves.down", { serve: "primary" }, sure));
    rig.host.courses.delete("primary");
    resultOf(await ask(rig, "serves.up", { serve: "primary" }));
  });
});

Deno.test("serves: an unknown serve and a broken manifest are refused with what is wrong", async () => {
  await withRig(async (rig) => {
    const gone = await ask(rig, "serves.up", { serve: "gone" });
    assert.equal(gone.body["code"], "serve_unknown");
    assert.match(String(gone.body["detail"]), /it has primary, second/);
  });
  await withRig(async (rig) => {
    const told = await rig.agent.call("serves.list", { input: {} });
    assert.equal(told.body["code"], "manifest_invalid");
    assert.match(String(told.body["detail"]), /line 4, serve\[0\]\.capability: malformed/);
  }, DOCKER.replace('"llm.primary"', '"LLM"'));
});

Deno.test("serves: a host without the role has no such operation", async () => {
  await using dir = await tempDir();
  const { startAgentRig } = await import("../support/agent.ts");
  await using rig = await startAgentRig(dir.path);
  const told = await rig.call("serves.list", { input: {} });
  assert.equal(told.body["code"], "operation_unknown");
});

// needs: dockerd docker busybox debootstrap ss ps stat tar
import assert from "node:assert/strict";
import { missingFor } from "../../scripts/needs.ts";
import type { Serve } from "../../lib/serves/manifest_shape.ts";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { DockerRig } from "../support/docker_rig.ts";
import { dockerServeIn, nativeServeIn } from "../support/driver_worlds.ts";
import { roleWords } from "../support/role_process.ts";
import { furnish, RouterProcess } from "../support/router_process.ts";
import { ALIAS, TOKEN } from "../support/router_toml.ts";
import { ServesAgent } from "../support/serves_agent.ts";
import { NODE, servesFiles } from "../support/serves_files.ts";
import { SystemdRig } from "../support/systemd_rig.ts";

const missing = missingFor(import.meta.url);
const ignore = missing.length > 0 || Deno.build.os !== "linux" || Deno.uid() !== 0;
const MODEL = "example-org/example-8b";
const FLAGS = ["run", "agent.toml", "--allow-unauthenticated-loopback"];
const sure = { confirm: true };

/** An agent whose host is real: how it is started, and how its state is taken away. */
interface Real {
  start(): Promise<ServesAgent>;
  forget(): Promise<void>;
}

/** What every runtime shows, one serve at a time. */
async function story(t: Deno.TestContext, real: Real, serve: Serve, dies: Serve): Promise<void> {
  await using folder = await tempDir();
  await furnish(folder.path, { members: [serve.port], tier: { served_model: MODEL } });
  await using router = await RouterProcess.start(folder.path, { waitReady: false });
  const ask = async () => {
    const answer = await fetch(`${router.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify({ model: ALIAS, messages: [{ role: "user", content: "hi" }] }),
    });
    const text = await answer.text();
    return `${answer.status} ${answer.status === 200 ? JSON.parse(text).model : ""}`;
  };
  let agent = await real.start();
  try {
    await t.step(`${serve.name}: nothing runs, the plan says what would`, async () => {
      assert.equal(await agent.state(serve.name), "stopped");
      assert.match(await ask(), /^503/);
      const plan = await agent.result("serves.up", { serve: serve.name }, { dry_run: true });
      assert.equal(plan["action"], "start");
      assert.equal(await agent.state(serve.name), "stopped");
    });
    await t.step(`${serve.name}: up, identity, traffic through the router`, async () => {
      const up = await agent.result("serves.up", { serve: serve.name });
      assert.equal(up["outcome"], "up");
      const { proof } = await agent.result("serves.status", { serve: serve.name });
      assert.equal((proof as { kind: string }).kind, "proven", JSON.stringify(proof));
      for (let n = 0; n < 100 && await router.readyz() !== 200; n++) {
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      assert.match(await ask(), /^200/);
    });
    await t.step(
      `${serve.name}: the agent is killed, its state deleted: all is derived`,
      async () => {
        await agent.crash();
        assert.match(await ask(), /^200/); // what is off does not stop what answers
        await real.forget();
        agent = await real.start();
        assert.equal(await agent.state(serve.name), "running");
        const again = await agent.result("serves.up", { serve: serve.name });
        assert.equal((again["observed"] as { already: boolean }).already, true);
        const adopted = await agent.result("serves.adopt", { serve: serve.name });
        assert.equal(adopted["outcome"], "up");
      },
    );
    await t.step(`${serve.name}: down is proven`, async () => {
      const down = await agent.result("serves.down", { serve: serve.name }, sure);
      const { processes, portFree } = down["observed"] as { processes: number; portFree: boolean };
      assert.deepEqual([processes, portFree], [0, true]);
      Deno.listen({ hostname: "127.0.0.1", port: serve.port }).close();
      assert.equal(await agent.state(serve.name), "stopped");
    });
    await t.step(`${dies.name}: what exits at once is told with its last lines`, async () => {
      const { status, body } = await agent.call("serves.up", { serve: dies.name });
      assert.equal(body["code"], "serve_died", JSON.stringify(body));
      assert.equal(status, 422);
      assert.match(String(body["detail"]), /code 3.*no such model: giving up/);
      const logs = await agent.result("serves.logs", { serve: dies.name, lines: 10 });
      assert.match(JSON.stringify(logs["lines"]), /giving up/);
    });
    await t.step(`${serve.name}: a port that somebody has is told before a start`, async () => {
      const listener = Deno.listen({ hostname: "127.0.0.1", port: serve.port });
      const { body } = await agent.call("serves.up", { serve: serve.name });
      listener.close();
      assert.equal(body["code"], "port_taken", JSON.stringify(body));
    });
  } finally {
    await agent[Symbol.asyncDispose]();
  }
}

Deno.test({
  name: "real, agent: serves in containers, from up to a proven down and a forgotten state",
  ignore,
  async fn(t) {
    const rig = await DockerRig.start();
    if (typeof rig === "string") return console.warn(`skipped: ${rig}`);
    await using _rig = rig;
    await using dir = await tempDir();
    const fine = await dockerServeIn(rig, "fine");
    const dies = await dockerServeIn(rig, "exits");
    const files = servesFiles("docker", [fine, dies], rig.socket);
    for (const [name, text] of Object.entries(files)) {
      await Deno.writeTextFile(dir.at(name), text);
    }
    await Deno.mkdir(dir.at("state"));
    // As the task says, with the socket of this engine in the place of the usual one.
    const words = (await roleWords("agent", dir.path))
      .map((word) => word.replaceAll("/run/docker.sock", rig.socket));
    const command = new Deno.Command(Deno.execPath(), {
      args: [...words, ...FLAGS],
      cwd: dir.path,
      clearEnv: true,
      env: { PATH: Deno.env.get("PATH") ?? "", HOME: Deno.env.get("HOME") ?? "" },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    });
    await story(
      t,
      {
        start: () => ServesAgent.start(command, NODE),
        forget: async () => {
          await Deno.remove(dir.at("state"), { recursive: true });
          await Deno.mkdir(dir.at("state"));
        },
      },
      fine,
      dies,
    );
    await daemonFaults(t, rig, () => ServesAgent.start(command, NODE), fine.name);
  },
});

/** The engine is away, frozen, and restarted while it is asked. */
async function daemonFaults(
  t: Deno.TestContext,
  rig: DockerRig,
  start: () => Promise<ServesAgent>,
  serve: string,
): Promise<void> {
  await using agent = await start();
  await t.step("the engine goes while a serve runs: unknown, and then what is true", async () => {
    await agent.result("serves.up", { serve });
    await rig.down();
    assert.equal(await agent.state(serve), "unknown");
    const { body } = await agent.call("serves.down", { serve }, sure);
    assert.equal(body["code"], "runtime_unreachable", JSON.stringify(body));
    assert.equal(await rig.up(), null);
    assert.equal(await agent.state(serve), "stopped"); // it took its containers along
    await agent.result("serves.up", { serve });
  });
  await t.step("the engine restarts in the middle of a stop: the end is what is true", async () => {
    const stopping = agent.call("serves.down", { serve }, sure);
    await rig.down();
    assert.equal(await rig.up(), null);
    const { body } = await stopping;
    const state = await agent.state(serve);
    assert.equal(state, "stopped", JSON.stringify(body));
    const again = await agent.result("serves.down", { serve }, sure);
    assert.equal(again["outcome"], "down");
  });
}

Deno.test({
  name: "real, agent: serves under systemd, of a user and of the system",
  ignore,
  async fn(t) {
    const rig = await DockerRig.start();
    if (typeof rig === "string") return console.warn(`skipped: ${rig}`);
    await using _rig = rig;
    const cache = JSON.parse(
      new TextDecoder().decode(
        (await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output()).stdout,
      ),
    ) as { readonly denoDir: string };
    const system = await SystemdRig.start(rig, [`${cache.denoDir}:/root/.cache/deno`]);
    if (typeof system === "string") return console.warn(`skipped: ${system}`);
    await using _system = system;
    const user = await nativeServeIn(system, "user", "fine");
    const whole = await nativeServeIn(system, "system", "fine");
    const dies = await nativeServeIn(system, "user", "exits");
    const files = servesFiles("native", [user, whole, dies], "/run/docker.sock");
    for (const [name, text] of Object.entries(files)) {
      await system.write(`/srv/agent/${name}`, text);
    }
    await system.text("mkdir", "-p", "/srv/agent/state");
    const words = await roleWords("agent", "/srv/agent");
    const command = new Deno.Command("docker", {
      args: [
        ...["-H", `unix://${rig.socket}`, "exec", "-w", "/srv/agent", "-e", "HOME=/root"],
        ...[system.container, "deno", ...words, ...FLAGS],
      ],
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    });
    const kill = async () => {
      const table = await system.text("ps", "-e", "-o", "pid=,args=");
      const lines = table.split("\n").filter((line) => line.includes("roles/agent/main.ts"));
      for (const line of lines) await system.text("kill", "-9", line.trim().split(" ")[0] ?? "");
    };
    const real: Real = {
      start: () => ServesAgent.start(command, NODE, kill),
      forget: async () => {
        await system.text("rm", "-rf", "/srv/agent/state");
        await system.text("mkdir", "-p", "/srv/agent/state");
      },
    };
    await story(t, real, user, dies);
    await story(t, real, whole, dies);
    await t.step("a unit that was changed by hand is not started", async () => {
      await using agent = await real.start();
      const path = `/etc/systemd/system/${whole.unit}`;
      const text = (await system.text("cat", path)).replace("SendSIGKILL=no", "SendSIGKILL=yes");
      await system.write(path, text);
      const after = await agent.call("serves.up", { serve: whole.name });
      assert.equal(after.body["code"], "unit_differs");
      assert.match(String(after.body["detail"]), /SendSIGKILL/);
    });
  },
});

// needs: dockerd docker busybox debootstrap ss ps tar
import assert from "node:assert/strict";
import { forgetUnit, runUnit, unitEnd } from "../../lib/adoption/backends/switch_unit.ts";
import { readBootId } from "../../lib/adoption/backends/boot_id.ts";
import { systemClock } from "../../lib/host/clock.ts";
import { tcpDial } from "../../lib/host/dial.ts";
import { missingFor } from "../../scripts/needs.ts";
import { startEngine } from "../fixtures/engine.ts";
import { adopterConfig, adopterRig, adopterToml } from "../support/adopter_rig.ts";
import { DockerRig } from "../support/docker_rig.ts";
import { freePort } from "../support/free_port.ts";
import { clientsToml, OBSERVER, routerToml } from "../support/router_toml.ts";
import { ask, askBody, CHAT, StreamReader } from "../support/stream_reader.ts";
import { SystemdRig } from "../support/systemd_rig.ts";
import { until } from "../support/wait.ts";

const ignore = missingFor(import.meta.url).length > 0 || Deno.build.os !== "linux" ||
  Deno.uid() !== 0;
const ROOT = new URL("../../", import.meta.url).pathname.replace(/\/$/, "");
const DENO_DIR = Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno`;

/** A launcher of our own program, as a bundle holds it. */
function launcher(role: "router" | "agent", args: string, rev: string): string {
  return `#!/bin/sh
# ${rev}
export DENO_DIR=${DENO_DIR}
exec /usr/local/bin/deno run --config ${ROOT}/deno.json --no-check --cached-only --frozen -A \\
  ${ROOT}/roles/${role}/main.ts ${args}
`;
}

Deno.test({
  name: "real, adopter: transient units, and our own router and agent replaced under systemd",
  ignore,
  async fn(t) {
    const docker = await DockerRig.start();
    if (typeof docker === "string") return console.warn(`skipped: ${docker}`);
    await using _docker = docker;
    await using rig = await adopterRig();
    const system = await SystemdRig.start(docker, [
      `${rig.dir.path}:${rig.dir.path}`,
      `${DENO_DIR}:${DENO_DIR}`,
    ]);
    if (typeof system === "string") return console.warn(`skipped: ${system}`);
    await using _system = system;

    await t.step(
      "a switch in a transient unit: its end is asked for, and it runs once",
      async () => {
        const { run } = system;
        const boot = await readBootId(run, "linux");
        assert.equal(typeof boot, "string", JSON.stringify(boot));
        const go = (unit: string, script: string, deadlineMs = 20_000) =>
          runUnit(run, systemClock, unit, ["/bin/sh", "-c", script], deadlineMs);
        assert.deepEqual(await unitEnd(run, "t-none.service"), { kind: "absent" });
        for (const code of [0, 1, 2, 4, 11, 100]) {
          const unit = `t-exit${code}.service`;
          const script = `echo x >>/tmp/${unit}; exit ${code}`;
          assert.deepEqual(await go(unit, script), { kind: "exited", code }, unit);
          assert.deepEqual(await go(unit, script), { kind: "exited", code }, "asked again");
          assert.equal(await system.text("cat", `/tmp/${unit}`), "x", "it ran twice");
          await forgetUnit(run, unit);
          assert.deepEqual(await unitEnd(run, unit), { kind: "absent" }, `${unit} is remembered`);
        }
        // systemd makes one `$` of two.
        assert.equal((await go("t-killed.service", "kill -9 $$$$")).kind, "signalled");
        const slow = "sleep 3; exit 4";
        assert.equal((await go("t-slow.service", slow, 300)).kind, "running");
        assert.deepEqual(await go("t-slow.service", slow), { kind: "exited", code: 4 });
      },
    );

    const engine = await startEngine();
    const [data, admin, agentPort] = [freePort(), freePort(), freePort()];
    const host = await rig.host();
    const { folder } = host;
    try {
      await Deno.writeTextFile(
        `${folder}/router.toml`,
        routerToml({
          members: [engine.port],
          limits: { drain_seconds: 30 },
          timeouts: { idle_seconds: 60 },
          top: { listen: { data: `127.0.0.1:${data}`, admin: `127.0.0.1:${admin}` } },
        }),
      );
      await Deno.writeTextFile(`${folder}/clients.toml`, clientsToml(), { mode: 0o600 });
      await Deno.writeTextFile(`${folder}/observer`, OBSERVER, { mode: 0o600 });
      await Deno.mkdir(`${folder}/agent-state`);
      await Deno.writeTextFile(
        `${folder}/agent.toml`,
        `schema = 1\nnode = "gpu-a"\nroles = []\nlisten = "127.0.0.1:${agentPort}"\n` +
          `state = "agent-state"\n`,
      );
      const units = ["router", "agent"] as const;
      for (const role of units) {
        const unit = `anvil-${role}.service`;
        await system.write(
          `/etc/systemd/system/${unit}`,
          `[Service]\nKillMode=mixed\nTimeoutStopSec=40\nRestart=always\nRestartSec=1\n` +
            `StartLimitIntervalSec=0\nExecStart=/bin/sh -c 'exec ${folder}/store/generations/` +
            `$$(cat ${folder}/store/current)/bin/anvil-${role}'\n`,
        );
      }
      const text = adopterToml(folder, rig.url)
        .replace('"thing.service"', units.map((role) => `"anvil-${role}.service"`).join(", "))
        .replace("deadline_seconds = 3\n", "deadline_seconds = 60\n")
        .replace("every_seconds = 1", "every_seconds = 2")
        .replace(/\[\[gates\]\][\s\S]*/, "") +
        `[[probes]]\nname = "units"\nkind = "unit"\ndeadline_seconds = 100\nrequired = false\n` +
        `units = ["anvil-router.service", "anvil-agent.service"]\n` +
        `[[probes]]\nname = "router"\nkind = "http-json"\ndeadline_seconds = 100\n` +
        `required = false\naddress = "127.0.0.1:${admin}"\ntarget = "/v1/router/status"\n` +
        `token_file = "${folder}/observer"\npath = "draining"\nvalue = false\n` +
        `[[probes]]\nname = "agent"\nkind = "tcp"\ndeadline_seconds = 100\nrequired = false\n` +
        `address = "127.0.0.1:${agentPort}"\n`;
      host.config = adopterConfig(text);
      host.more = {
        run: system.run,
        clock: systemClock,
        canConnect: async (endpoint, signal) => {
          const dialed = await tcpDial(endpoint, { connectMs: 5000, signal });
          if (dialed.kind === "connected") dialed.conn.close();
          return dialed.kind === "connected";
        },
      };
      const publish = (rev: string, agent = true) =>
        rig.publish(rev, "gpu-a", {
          "bin/anvil-router": launcher("router", `run ${folder}/router.toml`, rev),
          "bin/anvil-agent": agent
            ? launcher("agent", `run ${folder}/agent.toml --allow-unauthenticated-loopback`, rev)
            : "#!/bin/sh\nexit 1\n",
        });
      const listens = (port: number) =>
        host.more.canConnect?.(
          { hostname: "127.0.0.1", port },
          AbortSignal.timeout(5000),
        ) ?? Promise.resolve(false);

      await t.step("the first bundle starts router and agent, and is proven", async () => {
        await publish("one");
        const first = await host.all();
        assert.equal(first.code, "proven", JSON.stringify(first));
        await until("the router listens", () => listens(data), 30_000);
        await until("the agent listens", () => listens(agentPort), 30_000);
      });

      await t.step("the second replaces both; a stream in flight is not cut", async () => {
        await publish("two");
        await host.offer();
        assert.equal((await host.stage()).code, "staged");
        // An event every 400 ms: some seconds of answer, well inside the drain budget.
        const stream = await StreamReader.open(
          data,
          ask(CHAT, askBody({ stream: true }), { "x-fixture-fault": "slow-body;ms=400" }),
        );
        const whole = stream.readUntil("data: [DONE]");
        await until("the engine is at work", () => engine.last !== null, 20_000);
        const second = await host.adopt();
        assert.equal(second.code, "proven", JSON.stringify(second));
        assert.equal(await whole, true, "the stream was cut");
        stream[Symbol.dispose]();
        const pids = await system.text("ps", "-C", "deno", "-o", "args=");
        assert.match(pids, /roles\/router\/main\.ts/);
      });

      await t.step("a bad agent goes back: the earlier bundle runs, whole", async () => {
        const before = await host.slots();
        await publish("bad", false);
        const bad = await host.all();
        assert.equal(bad.exit, 1, JSON.stringify(bad));
        const after = await host.slots();
        assert.equal(after.last?.ending.kind, "rolled-back", JSON.stringify(after.last));
        assert.equal(after.proven?.path, before.proven?.path);
        await until("the agent listens again", () => listens(agentPort), 30_000);
        await until("the router listens again", () => listens(data), 30_000);
        assert.match(await host.marker() ?? "", /^anvil-failure 1/);
      });
    } finally {
      await engine.close();
    }
  },
});

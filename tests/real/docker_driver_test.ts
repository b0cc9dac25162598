// needs: dockerd docker busybox ss ps stat tar
import assert from "node:assert/strict";
import { missingFor } from "../../scripts/needs.ts";
import { systemClock } from "../../lib/host/clock.ts";
import { tcpDial } from "../../lib/host/dial.ts";
import { http1Upstream } from "../../lib/relay/http1.ts";
import { httpProbe } from "../../lib/serves/http_probe.ts";
import type { DockerServe } from "../../lib/serves/manifest_shape.ts";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { DockerRig } from "../support/docker_rig.ts";
import { dockerServeIn, dockerWorld } from "../support/driver_worlds.ts";
import { until } from "../support/wait.ts";

const missing = missingFor(import.meta.url);
const signal = new AbortController().signal;
const ASK = { force: false };

function withRun(serve: DockerServe, run: Partial<NonNullable<DockerServe["run"]>>): DockerServe {
  assert.ok(serve.run !== undefined);
  return { ...serve, run: { ...serve.run, ...run } };
}

Deno.test({
  name: "real, docker: networks, variables, compose, hand-made ones, and who else is there",
  ignore: missing.length > 0 || Deno.build.os !== "linux" || Deno.uid() !== 0,
  async fn(t) {
    const rig = await DockerRig.start();
    if (typeof rig === "string") return console.warn(`skipped: ${rig}`);
    await using _rig = rig;
    await using dir = await tempDir();
    const { driver } = dockerWorld(rig);
    const upstream = http1Upstream(tcpDial, systemClock);
    const probe = httpProbe(upstream, systemClock);
    const ready = (serve: DockerServe) =>
      until(
        "the engine is ready",
        async () => (await probe(serve, signal)).kind === "ready",
        30_000,
      );
    const started = async (serve: DockerServe) => {
      const start = await driver.start(serve, signal);
      assert.equal(start.kind, "started", JSON.stringify(start));
      await ready(serve);
    };
    const stopped = async (serve: DockerServe) => {
      const stop = await driver.stop(serve, ASK, signal);
      assert.equal(stop.kind, "stopped", JSON.stringify(stop));
    };

    await t.step(
      "a network of its own: published on loopback, proven, and free again",
      async () => {
        const base = await dockerServeIn(rig, "fine");
        const args = [...base.run?.args ?? [], "--hostname", "0.0.0.0"]
          .map((word) => word === String(base.port) ? "8000" : word);
        const serve = withRun(base, { network: "models", container_port: 8000, args });
        const absent = await driver.resolve(serve, signal);
        assert.ok(absent.kind === "refused" && absent.code === "network_absent");
        await rig.docker("network", "create", "models");
        await started(serve);
        const proof = await driver.identity(serve, signal);
        assert.equal(proof.kind, "proven", JSON.stringify(proof));
        await stopped(serve);
        await rig.docker("rm", serve.container);
        await rig.docker("network", "rm", "models"); // its bridge would outlive the engine
      },
    );

    await t.step(
      "variables come from their file, into the container and nowhere else",
      async () => {
        const base = await dockerServeIn(rig, "fine");
        const serve = { ...base, env: ["SERVE_TEST_VALUE"], env_file: dir.at("serve.env") };
        const none = await driver.resolve(serve, signal);
        assert.ok(none.kind === "refused" && none.code === "env_file_unusable");
        await Deno.writeTextFile(dir.at("serve.env"), "SERVE_TEST_VALUE=canary-of-serves\n", {
          mode: 0o600,
        });
        await started(serve);
        const logs = await driver.logs(serve, { lines: 50, bytes: 10_000 }, signal);
        assert.match(JSON.stringify(logs), /a variable came along/);
        const told = JSON.stringify([
          logs,
          await driver.status(serve, signal),
          await driver.identity(serve, signal),
          await rig.docker("inspect", "-f", "{{json .Config.Labels}}", serve.container),
        ]);
        assert.doesNotMatch(told, /canary-of-serves/);
        await stopped(serve);
      },
    );

    await t.step("a mount that is not there is said before anything is made", async () => {
      const base = await dockerServeIn(rig, "fine");
      const mount = { source: "/nowhere/at/all", target: "/x", read_only: true };
      const serve = withRun(base, { mounts: [...base.run?.mounts ?? [], mount] });
      const start = await driver.start(serve, signal);
      assert.ok(start.kind === "refused" && start.code === "path_absent", JSON.stringify(start));
      assert.doesNotMatch(await rig.docker("ps", "-a"), new RegExp(serve.container));
    });

    await t.step("what compose made is started and stopped, and never made here", async () => {
      const base = await dockerServeIn(rig, "fine");
      await Deno.writeTextFile(dir.at("compose.yaml"), "services: {}\n");
      const { run, ...rest } = base;
      const serve = { ...rest, compose: { file: dir.at("compose.yaml"), service: "engine" } };
      const absent = await driver.resolve(serve, signal);
      assert.ok(absent.kind === "refused" && absent.code === "container_absent");
      const labels = {
        project: "p",
        service: "engine",
        "project.config_files": dir.at("compose.yaml"),
      };
      await rig.docker(
        ...["create", "--name", serve.container, "--network", "host", "--restart", "always"],
        ...Object.entries(labels).flatMap(([key, value]) => [
          "--label",
          `com.docker.compose.${key}=${value}`,
        ]),
        ...(run?.mounts ?? []).flatMap((one) => ["-v", `${one.source}:${one.target}:ro`]),
        ...[rig.image, ...run?.args ?? []],
      );
      await started(serve);
      assert.equal((await driver.identity(serve, signal)).kind, "proven");
      await stopped(serve);
      // Its restart policy did not bring it back.
      await systemClock.sleep(1500);
      assert.equal((await driver.status(serve, signal)).kind, "stopped");
    });

    await t.step("what was typed just as declared is the serve; another is foreign", async () => {
      const serve = await dockerServeIn(rig, "fine");
      const { run } = serve;
      await rig.docker(
        ...["run", "-d", "--name", serve.container, "--network", "host"],
        ...(run?.mounts ?? []).flatMap((one) => ["-v", `${one.source}:${one.target}:ro`]),
        ...[rig.image, ...run?.args ?? []],
      );
      await ready(serve);
      assert.equal((await driver.status(serve, signal)).kind, "running");
      assert.equal((await driver.identity(serve, signal)).kind, "proven");
      const other = withRun(serve, { args: ["something", "else"] });
      assert.equal((await driver.status(other, signal)).kind, "foreign");
      assert.equal((await driver.stop(other, { force: true }, signal)).kind, "refused");
      await stopped(serve);
    });

    await t.step(
      "a changed declaration is told while the old one runs, and made at the next start",
      async () => {
        const serve = await dockerServeIn(rig, "fine");
        await started(serve);
        const changed = withRun(serve, { shm_mib: 128 });
        const proof = await driver.identity(changed, signal);
        assert.equal(proof.kind, "differs", JSON.stringify(proof));
        await stopped(changed);
        await started(changed);
        assert.equal((await driver.identity(changed, signal)).kind, "proven");
        await stopped(changed);
      },
    );

    await t.step(
      "a container nobody declared that reaches devices is counted, others are not",
      async () => {
        await rig.docker(
          ...["run", "-d", "--name", "stranger", "--device", "/dev/null:/dev/kfd"],
          ...[rig.image, "/bin/sleep", "600"],
        );
        await rig.docker("run", "-d", "--name", "bystander", rig.image, "/bin/sleep", "600");
        const seen = await driver.occupants([], signal);
        assert.ok(seen.kind === "seen");
        assert.deepEqual(seen.occupants.map(({ label, serve }) => [label, serve]), [[
          "stranger",
          null,
        ]]);
        assert.ok((seen.occupants[0]?.mib ?? -1) >= 0 && seen.occupants[0]?.pids.length === 1);
      },
    );
    upstream.close();
  },
});

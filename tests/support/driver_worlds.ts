/**
 * Worlds of the drivers' conformance suite: Docker and systemd as they are, and a host in memory.
 *
 * @module
 */

import { systemClock } from "../../lib/host/clock.ts";
import { systemFiles } from "../../lib/host/files.ts";
import { runProcess } from "../../lib/host/process.ts";
import { DockerDriver } from "../../lib/serves/docker_driver.ts";
import { linuxFacts } from "../../lib/serves/linux_facts.ts";
import type { DockerServe, NativeServe, Serve } from "../../lib/serves/manifest_shape.ts";
import { NativeDriver } from "../../lib/serves/native_driver.ts";
import { systemd } from "../../lib/serves/systemd.ts";
import { unitFile } from "../../lib/serves/unit_file.ts";
import type { DriverWorld, EngineCourse } from "../../lib/testing/driver_conformance.ts";
import { SimulatedHost } from "../../lib/testing/simulated_driver.ts";
import { dockerServe, nativeServe } from "../fixtures/serves.ts";
import { denoMounts, type DockerRig } from "./docker_rig.ts";
import { freePort } from "./free_port.ts";
import type { SystemdRig } from "./systemd_rig.ts";
import { pause, until } from "./wait.ts";

const MAIN = new URL("../fixtures/serve_main.ts", import.meta.url).pathname;
const MODEL = "example-org/example-8b";

/** Words that run an engine of `course`. */
export function engineWords(deno: string, port: number, course: EngineCourse): string[] {
  const flags = ["run", "--no-config", "--no-lock", "--cached-only", "-A", MAIN];
  return [deno, ...flags, "--port", `${port}`, "--model", MODEL, "--course", course];
}

/** A docker serve of `rig` with a name and port of its own. */
export async function dockerServeIn(
  rig: DockerRig,
  course: EngineCourse,
  values: Partial<DockerServe> = {},
): Promise<DockerServe> {
  const port = await freePort();
  const { run } = dockerServe();
  if (run === undefined) throw new TypeError("the fixture has no run");
  return dockerServe({
    name: `s${port}`,
    container: `anvil-s${port}`,
    image: rig.image,
    port,
    memory: { unified_mib: 64 },
    stop_grace_seconds: 2,
    start_seconds: 30,
    run: {
      ...run,
      gpus: "none",
      args: engineWords("/bin/deno", port, course),
      mounts: denoMounts(),
    },
    ...values,
  });
}

/** Docker. */
export function dockerWorld(rig: DockerRig): DriverWorld {
  const driver = new DockerDriver({
    engine: rig.engine,
    facts: linuxFacts(runProcess),
    files: systemFiles,
    clock: systemClock,
    uuidOf: new Map(),
    unified: true,
  });
  return {
    kind: "docker",
    source: "real",
    driver,
    serve: (course) => dockerServeIn(rig, course),
    lacking: () => dockerServeIn(rig, "fine", { image: dockerServe().image }),
    foreign: async () => {
      const serve = await dockerServeIn(rig, "fine");
      await rig.docker("run", "-d", "--name", serve.container, rig.image, "/bin/sleep", "600");
      return serve;
    },
    listening,
    takePort,
    silence: () => {
      rig.freeze();
      return Promise.resolve(() => {
        rig.thaw();
        return Promise.resolve();
      });
    },
    wait: pause,
  };
}

/** A native serve, its unit installed. */
export async function nativeServeIn(
  rig: SystemdRig,
  manager: "user" | "system",
  course: EngineCourse,
  values: Partial<NativeServe> = {},
): Promise<NativeServe> {
  const port = await freePort();
  const serve = nativeServe({
    name: `s${port}`,
    supervisor: manager === "user" ? "systemd-user" : "systemd-system",
    unit: `anvil-s${port}.service`,
    argv: engineWords("/usr/local/bin/deno", port, course),
    cwd: "/tmp",
    port,
    model: { id: MODEL, revision: "0f1e2d3c" },
    identity: { kind: "openai-models" },
    stop_grace_seconds: 2,
    start_seconds: 30,
    memory: { unified_mib: 64 },
    ...values,
  });
  await installUnit(rig, serve);
  return serve;
}

/** Installs what `anvil-agent unit` prints. */
export async function installUnit(rig: SystemdRig, serve: NativeServe): Promise<void> {
  const isUser = serve.supervisor === "systemd-user";
  const folder = isUser ? "/etc/systemd/user" : "/etc/systemd/system";
  await rig.write(`${folder}/${serve.unit}`, unitFile(serve));
  await rig.text("systemctl", isUser ? "--user" : "--system", "daemon-reload");
}

/** systemd, of root's user manager or of the system. */
export function systemdWorld(rig: SystemdRig, manager: "user" | "system"): DriverWorld {
  let isSilent = false;
  const run = (ask: Parameters<typeof rig.run>[0]) =>
    isSilent
      ? Promise.resolve({
        kind: "timed_out" as const,
        stdout: new Uint8Array(0),
        stderr: new Uint8Array(0),
      })
      : rig.run(ask);
  const driver = new NativeDriver({
    supervisor: systemd({
      run,
      manager: manager === "system" ? { kind: "system" } : { kind: "user", uid: 0 },
    }),
    facts: linuxFacts(run),
    files: systemFiles,
    clock: systemClock,
    unified: true,
  });
  return {
    kind: manager === "user" ? "systemd-user" : "systemd-system",
    source: "real",
    driver,
    serve: (course) => nativeServeIn(rig, manager, course),
    lacking: async () => {
      const serve = await nativeServeIn(rig, manager, "fine");
      return { ...serve, unit: `gone-${serve.unit}` };
    },
    foreign: () => Promise.resolve(null),
    listening,
    takePort,
    silence: () => {
      isSilent = true;
      return Promise.resolve(() => {
        isSilent = false;
        return Promise.resolve();
      });
    },
    wait: pause,
  };
}

/** A host in memory, on the real clock. */
export function simulatedWorld(): DriverWorld {
  const host = new SimulatedHost(systemClock);
  let made = 0;
  const named = () => `s${made++}`;
  return {
    kind: "simulated",
    source: "simulated",
    driver: host.driver(),
    serve: (course) => {
      const serve = nativeServe({ name: named(), stop_grace_seconds: 1 });
      if (course === "exits") {
        host.courses.set(serve.name, { diesAfterMs: 0, exitCode: 3, lines: ["giving up"] });
      } else if (course === "deaf") host.courses.set(serve.name, { ignoresTerm: true });
      else if (course === "forks") host.courses.set(serve.name, { leavesChildren: true });
      else host.courses.set(serve.name, { lines: ["one", "two"] });
      return Promise.resolve(serve);
    },
    lacking: () => {
      const serve = nativeServe({ name: named() });
      host.courses.set(serve.name, { missing: "unit_absent" });
      return Promise.resolve(serve);
    },
    foreign: () => Promise.resolve(null),
    listening: () => Promise.resolve(),
    takePort: (serve) => {
      host.leak(serve);
      return Promise.resolve(() => {
        host.clearLeak(serve.name);
        return Promise.resolve();
      });
    },
    silence: () => {
      host.silent = true;
      return Promise.resolve(() => {
        host.silent = false;
        return Promise.resolve();
      });
    },
    wait: () => Promise.resolve(),
  };
}

async function listening({ port }: Serve): Promise<void> {
  await until(`somebody listens on ${port}`, async () => {
    const conn = await Deno.connect({ hostname: "127.0.0.1", port }).catch(() => null);
    conn?.close();
    return conn !== null;
  }, 30_000);
}

/** On another loopback address, so that both can have it. */
function takePort({ port }: Serve): Promise<() => Promise<void>> {
  const listener = Deno.listen({ hostname: "127.0.0.2", port });
  return Promise.resolve(() => {
    listener.close();
    return Promise.resolve();
  });
}

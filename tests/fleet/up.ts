/**
 * Makes a fleet: image, bundles, an engine of its own, five hosts, and all that `furnish.ts` does.
 *
 * @module
 */

import { buildAll, buildEngine } from "./builds.ts";
import { containers, type FleetState } from "./containers.ts";
import { docker, freeSubnet, startDaemon } from "./daemon.ts";
import { downFleet } from "./down.ts";
import { imageTar } from "./image.ts";
import { STATE_FILE } from "./open.ts";
import { furnish, type Tell } from "./furnish.ts";
import { exists, must, writePrivate } from "./program.ts";
import { type FleetRig, HOST_IDS, type HostId } from "./rig.ts";

/** A host may use no more than this. */
const HOST_MIB = 1024;
/** Size of the file system that is /var/lib/anvil. */
const DISK_MIB = 640;
/** Five at once, on a machine that may do other things. */
const BOOT_MS = 180_000;

/** Makes a fleet in `folder`; what was left half made there is taken away first. */
export async function upFleet(folder: string, tell: Tell): Promise<FleetRig> {
  if (await exists(folder)) {
    tell("what an earlier run left half made is taken away");
    await downFleet(folder);
  }
  await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
  await Deno.chmod(folder, 0o700);
  const tar = await imageTar(tell);
  tell("the image is there; bundles of this tree are built: two versions and a bad one");
  const bundles = await buildAll(folder);
  await buildEngine(`${folder}/engine`, bundles.first);
  tell(
    `built ${bundles.first.version} and ${bundles.second.version}; the engine of this fleet starts`,
  );
  const daemon = await startDaemon(`${folder}/docker`);
  const subnet = await freeSubnet();
  const state: FleetState = {
    ...{ schema: 1, folder, daemon, subnet, network: "fleet", bundles, upSince: null },
  };
  const save = (now: FleetState) =>
    writePrivate(`${folder}/${STATE_FILE}`, `${JSON.stringify(now, null, 2)}\n`);
  await save(state);
  const fleet = await raise(state, tar, tell);
  await save({ ...state, upSince: new Date().toISOString() });
  return fleet;
}

/** From an engine that runs to a fleet that serves. */
export async function raise(state: FleetState, tar: string, tell: Tell): Promise<FleetRig> {
  const { subnet, daemon } = state;
  await boot(state, tar);
  const fleet = containers(state);
  tell(`five hosts run systemd on ${subnet}.0/24 (${daemon.driver})`);
  await furnish(fleet, subnet, tell);
  return fleet;
}

/** Boots the hosts on a network of their own. */
async function boot({ daemon, subnet, network, folder, bundles }: FleetState, tar: string) {
  const client = docker(daemon);
  const image = await must([...client, "import", tar, "fleet:1"]);
  await must([
    ...[...client, "network", "create", "--driver", "bridge", "--subnet", `${subnet}.0/24`],
    ...["--gateway", `${subnet}.1`, "-o", "com.docker.network.bridge.enable_ip_masquerade=false"],
    network,
  ]);
  const groups = await exists("/sys/fs/cgroup/systemd")
    ? ["-v", "/sys/fs/cgroup/systemd:/sys/fs/cgroup/systemd"]
    : ["--cgroupns=private", "-v", "/sys/fs/cgroup:/sys/fs/cgroup:rw"];
  await Deno.mkdir(`${folder}/engine/said`, { recursive: true });
  const fleet = containers({ daemon, subnet, network, folder, bundles, schema: 1, upSince: null });
  await Promise.all(HOST_IDS.map(async (id) => {
    const { container, address, disk } = fleet.hosts[id];
    const said = `${folder}/said/${id}`;
    await Deno.mkdir(said, { recursive: true });
    await Deno.mkdir(disk, { recursive: true });
    await must(["mount", "-t", "tmpfs", "-o", `size=${DISK_MIB}m,mode=0755`, "fleet", disk]);
    const volumes = [
      `${disk}:/var/lib/anvil`,
      ...(id === "gateway" ? [`${folder}/dist:/opt/dist:ro`, `${folder}/dist:/root/dist:ro`] : [
        `${bundles.first.folder}:/opt/anvil-receiver:ro`,
        `${folder}/engine:/opt/engine:ro`,
        `${said}:/opt/engine/said`,
      ]),
    ];
    await must([
      ...[...client, "run", "-d", "--name", container, "--hostname", id],
      ...["--network", network, "--ip", address, "--memory", `${HOST_MIB}m`],
      ...["--cap-add", "SYS_ADMIN", "--security-opt", "seccomp=unconfined"],
      ...["--security-opt", "apparmor=unconfined", "--tmpfs", "/run", "--tmpfs", "/tmp"],
      ...[...groups, ...volumes.flatMap((one) => ["-v", one])],
      ...["-e", "container=docker", "--stop-signal", "SIGRTMIN+3", image, "/sbin/init"],
    ]);
    await fleet.unpause(id).catch(() => {});
    await bootedWithin(fleet, id);
  }));
}

async function bootedWithin(fleet: FleetRig, host: HostId): Promise<void> {
  let said = "";
  const until = performance.now() + BOOT_MS;
  while (performance.now() < until) {
    said = await fleet.exec(host, ["systemctl", "is-system-running"])
      .then(({ out }) => out.trim(), () => "");
    if (/^(running|degraded)$/.test(said)) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`${host} did not boot: ${said}`);
}

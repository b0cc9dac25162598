/**
 * The serves of this host, as its files and its runtimes say right now. Read anew for each operation:
 * nothing is kept between two of them, so nothing can be out of date.
 *
 * @module
 */

import type { Clock } from "../../lib/core/clock.ts";
import type { Files } from "../../lib/core/files.ts";
import type { TryLock } from "../../lib/core/lock.ts";
import type { Problem } from "../../lib/core/problem.ts";
import type { RunProcess } from "../../lib/core/process.ts";
import { type Refusal, refuse } from "../../lib/core/refusal.ts";
import { textOf } from "../../lib/credential/roster_file.ts";
import { hex } from "../../lib/core/ids.ts";
import { sha256 } from "../../lib/host/digest.ts";
import { fingerprintText } from "../../lib/topology/fingerprint.ts";
import { beside, within } from "../../lib/host/paths.ts";
import type { Upstream } from "../../lib/relay/upstream.ts";
import type { DeviceUse, MemoryFacts } from "../../lib/serves/budget.ts";
import { DockerDriver } from "../../lib/serves/docker_driver.ts";
import { DockerEngine } from "../../lib/serves/docker_engine.ts";
import { type Driver, driverOf, type Unknown } from "../../lib/serves/driver.ts";
import { httpProbe } from "../../lib/serves/http_probe.ts";
import { HostLifecycle } from "../../lib/serves/lifecycle.ts";
import { factsOf } from "../../lib/serves/facts_of_os.ts";
import { readManifest } from "../../lib/serves/manifest.ts";
import type { Serve } from "../../lib/serves/manifest_shape.ts";
import type { OsFacts } from "../../lib/serves/os_facts.ts";
import type { Probe } from "../../lib/serves/probe.ts";
import { supervisedDrivers } from "../../lib/serves/supervised_drivers.ts";
import { readTiers } from "../../lib/serves/tier_view.ts";
import { readTopology } from "../../lib/topology/read.ts";
import type { Fleet, Host } from "../../lib/topology/shape.ts";
import type { AgentConfig } from "./config.ts";

/** What serves are handled with. */
export interface ServesPorts {
  readonly run: RunProcess;
  readonly files: Files;
  readonly clock: Clock;
  readonly tryLock: TryLock;
  /** Asks engines on loopback. */
  readonly upstream: Upstream;
  /** Asks the container engine at a socket of this host. */
  readonly dockerAt: (socket: string) => Upstream;
  /** Of the operating system, as `linux`. */
  readonly os: string;
  /** Of the agent's user; null where there is none. */
  readonly uid: number | null;
  /** Stands in for runtimes, probe and facts in tests. */
  readonly stand?: (serves: readonly Serve[]) => {
    readonly driver: Driver;
    readonly probe: Probe;
    readonly facts: Pick<OsFacts, "listeners">;
    readonly memory: MemoryFacts;
  };
}

/** The host, opened for one operation. */
export interface ServesHost {
  readonly fleet: Fleet;
  readonly host: Host;
  readonly serves: readonly Serve[];
  readonly drivers: readonly Driver[];
  readonly driverOf: (serve: Serve) => Driver | Refusal<"supervisor_unsupported">;
  readonly probe: Probe;
  readonly lifecycle: HostLifecycle;
  /** Fingerprint of the topology, lower-case hex. */
  readonly topology: string;
  /** SHA-256 of the manifest's bytes, lower-case hex. */
  readonly manifest: string;
}

const MOST_BYTES = 2 * 1024 * 1024;

/** Reads the files and finds the drivers. Nothing is asked of a runtime yet. */
export async function openServes(
  config: Pick<AgentConfig, "node" | "state" | "serves">,
  ports: ServesPorts,
): Promise<ServesHost | Refusal> {
  const { serves: at } = config;
  if (at === undefined) {
    return refuse(
      "serves_not_configured",
      "agent.toml names no manifest",
      "add `[serves]` with `manifest` and `topology` to agent.toml and restart the agent",
    );
  }
  const topology = await textAt(ports.files, at.topology, "the topology");
  if (typeof topology !== "string") return topology;
  const fleet = readTopology(topology);
  if (fleet.kind === "invalid") return invalid("topology_invalid", "the topology", fleet.problems);
  const host = Object.hasOwn(fleet.model.hosts, config.node)
    ? fleet.model.hosts[config.node]
    : undefined;
  if (host === undefined) {
    const detail = `the topology declares no host ${config.node}`;
    return refuse("topology_invalid", detail, "install this host's view of the topology");
  }
  let tiers = null;
  if (at.router !== undefined) {
    const text = await textAt(ports.files, at.router, "router.toml");
    if (typeof text !== "string") return text;
    tiers = readTiers(text);
    if (tiers.kind === "invalid") {
      return invalid("manifest_invalid", "router.toml", tiers.problems);
    }
  }
  const text = await textAt(ports.files, at.manifest, "serves.toml");
  if (typeof text !== "string") return text;
  const read = readManifest(text, {
    host: { id: config.node, host },
    ...(tiers === null ? {} : { tiers: tiers.model }),
  });
  if (read.kind === "invalid") return invalid("manifest_invalid", "serves.toml", read.problems);
  const serves = read.model.serve.map((serve) => placed(serve, at.manifest));
  const opened = assemble(config, ports, fleet.model, host, serves);
  return "code" in opened ? opened : { ...opened, manifest: hex(sha256(text)) };
}

function assemble(
  config: Pick<AgentConfig, "state" | "serves">,
  ports: ServesPorts,
  fleet: Fleet,
  host: Host,
  serves: readonly Serve[],
): Omit<ServesHost, "manifest"> | Refusal {
  const { run, files, clock, upstream } = ports;
  const { memory } = host;
  if (memory === undefined) {
    return refuse("serves_not_configured", "the topology declares this host model-free");
  }
  const stand = ports.stand?.(serves);
  const facts = factsOf(ports.os, run);
  const unified = memory.model === "unified";
  const uuidOf = new Map(
    memory.model === "discrete" ? memory.devices.map(({ id, uuid }) => [id, uuid] as const) : [],
  );
  const drivers: readonly Driver[] = stand !== undefined
    ? [stand.driver]
    : facts === null
    ? []
    : host.runtime === "docker"
    ? [
      new DockerDriver({
        engine: new DockerEngine(ports.dockerAt(config.serves?.docker_socket ?? ""), clock),
        ...{ facts, files, clock, uuidOf, unified },
      }),
    ]
    : supervisedDrivers({ run, facts, files, clock, unified, os: ports.os, uid: ports.uid });
  const find = (serve: Serve) => {
    const wanted = driverOf(serve);
    return drivers.find(({ kind }) => kind === wanted || kind === "simulated") ?? refuse(
      "supervisor_unsupported" as const,
      `${serve.name}: ${wanted} is not available to this agent on ${ports.os}`,
      "run the agent where its supervisor is",
    );
  };
  const probe = stand?.probe ?? httpProbe(upstream, clock);
  const lifecycle = new HostLifecycle({
    ...{ serves, memory, drivers, driverOf: find, probe, clock },
    facts: stand?.facts ?? facts ?? NO_FACTS,
    memoryFacts: (signal) =>
      stand !== undefined
        ? Promise.resolve(stand.memory)
        : facts === null
        ? Promise.resolve(NO_SYSTEM)
        : memoryFacts(facts, uuidOf, signal),
    tryLock: ports.tryLock,
    lockPath: within(config.state, "serves.lock"),
  });
  const topology = hex(sha256(fingerprintText(fleet)));
  return { fleet, host, serves, drivers, driverOf: find, probe, lifecycle, topology };
}

const NO_SYSTEM: Unknown = {
  kind: "unknown",
  code: "runtime_unreachable",
  detail: "this operating system is not supported",
};
const NO_FACTS: Pick<OsFacts, "listeners"> = { listeners: () => Promise.resolve(NO_SYSTEM) };

async function memoryFacts(
  facts: OsFacts,
  uuidOf: ReadonlyMap<string, string>,
  signal: AbortSignal,
): Promise<MemoryFacts | Unknown> {
  if (uuidOf.size === 0) {
    const available = await facts.available(signal);
    return available.kind === "seen"
      ? { devices: new Map(), availableMib: available.value }
      : available;
  }
  const seen = await facts.devices(signal);
  if (seen.kind === "unknown") return seen;
  const devices = new Map<string, DeviceUse>();
  for (const [id, uuid] of uuidOf) {
    const use = seen.value.get(uuid);
    if (use !== undefined) devices.set(id, use);
  }
  return { devices, availableMib: null };
}

/** `serve` with the paths in it seen from its manifest. */
function placed(serve: Serve, manifest: string): Serve {
  const env = serve.env_file === undefined ? {} : { env_file: beside(manifest, serve.env_file) };
  if (serve.runtime === "native" || serve.compose === undefined) return { ...serve, ...env };
  const { file, service } = serve.compose;
  return { ...serve, ...env, compose: { file: beside(manifest, file), service } };
}

async function textAt(files: Files, path: string, what: string): Promise<string | Refusal> {
  const read = await files.readBounded(path, MOST_BYTES);
  const next = "see agent.toml, `[serves]`";
  if (read.kind === "absent") return refuse("manifest_invalid", `${what} is not there`, next);
  if (read.kind === "refused") return refuse("manifest_invalid", `${what}: ${read.detail}`, next);
  return textOf(read.bytes) ?? refuse("manifest_invalid", `${what} is not UTF-8 text`, next);
}

/** How many problems a refusal names. */
const MOST_NAMED = 5;

function invalid(code: string, what: string, problems: readonly Problem[]): Refusal {
  const named = problems.slice(0, MOST_NAMED)
    .map(({ line, path, code }) => `${line === undefined ? "" : `line ${line}, `}${path}: ${code}`);
  const more = problems.length - named.length;
  const detail = `${what} has ${problems.length} problems: ${named.join("; ")}` +
    (more > 0 ? `; and ${more} more` : "");
  return refuse(code, detail, "check it with `anvil-operator topology validate`");
}

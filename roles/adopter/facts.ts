/**
 * Gates and probes of the configuration, wired to what they look at.
 *
 * @module
 */

import type { Backend } from "../../lib/adoption/backend.ts";
import type { Gate } from "../../lib/adoption/gate.ts";
import {
  activationGate,
  diskGate,
  execGate,
  powerGate,
  pressureGate,
  tcpGate,
  unitGate,
} from "../../lib/adoption/gates/host_gates.ts";
import { httpJsonGate, llamaSwapGate, routerGate } from "../../lib/adoption/gates/http_gates.ts";
import {
  commandProbe,
  failedUnitsProbe,
  httpProbe,
  mountProbe,
  tcpProbe,
  unitProbe,
} from "../../lib/adoption/probes/probes.ts";
import type { Candidate } from "../../lib/adoption/candidate.ts";
import type { Probe } from "../../lib/adoption/verdict.ts";
import type { GateConfig, ProbeConfig } from "./facts_config.ts";
import type { AdopterPorts } from "./ports.ts";

type Argv = readonly [string, ...string[]];

const MIB = 1024 * 1024;

/** A gate; `candidate` is what may be adopted next, for those that ask how much is still to come. */
export function gateOf(
  config: GateConfig,
  ports: AdopterPorts,
  backend: Backend,
  candidate: () => Promise<Candidate | null>,
): Gate {
  const deadlineMs = config.deadline_seconds * 1000;
  return { name: config.name, deadlineMs, read: readerOf(config, ports, backend, candidate) };
}

function readerOf(
  config: GateConfig,
  ports: AdopterPorts,
  backend: Backend,
  candidate: () => Promise<Candidate | null>,
): Gate["read"] {
  const { run, files, tryLock, os } = ports;
  const tokenFile = "token_file" in config ? config.token_file ?? null : null;
  switch (config.kind) {
    case "unit":
      return unitGate(run, config.units);
    case "router":
      return routerGate(ports, { endpoint: config.admin, tokenFile });
    case "llama-swap":
      return llamaSwapGate(ports, { endpoint: config.address, tokenFile });
    case "http-json":
      return httpJsonGate(
        ports,
        { endpoint: config.address, target: config.target, tokenFile },
        config.path,
        config.compare,
        config.value,
      );
    case "tcp":
      return tcpGate(run, config.ports);
    case "activation":
      return activationGate(tryLock, config.locks);
    case "disk":
      return diskGate(run, async () => {
        const next = await candidate();
        const missing = next === null ? 0 : await backend.missing(next);
        if (missing === null) return null;
        const store = { path: config.path, bytes: missing + config.spare_mib * MIB };
        return config.boot === undefined
          ? [store]
          : [store, { path: config.boot, bytes: config.boot_mib * MIB }];
      });
    case "pressure":
      return pressureGate(files, config.resource, config.measure, config.percent);
    case "power":
      return powerGate(run, os);
    case "exec":
      return execGate(run, config.argv as unknown as Argv);
  }
}

/** A probe. */
export function probeOf(config: ProbeConfig, ports: AdopterPorts): Probe {
  const { name, required } = config;
  const deadlineMs = config.deadline_seconds * 1000;
  return { name, required, deadlineMs, read: proberOf(config, ports) };
}

function proberOf(config: ProbeConfig, ports: AdopterPorts): Probe["read"] {
  const { run, canConnect } = ports;
  switch (config.kind) {
    case "unit":
      return unitProbe(run, config.units);
    case "failed-units":
      return failedUnitsProbe(run, config.ignore);
    case "http-json": {
      const { address, target, token_file, path, compare, value } = config;
      const wanted = path === undefined || value === undefined
        ? null
        : { path, how: compare, value };
      return httpProbe(ports, { endpoint: address, target, tokenFile: token_file ?? null }, wanted);
    }
    case "tcp":
      return tcpProbe(canConnect, config.address);
    case "mount":
      return mountProbe(run, config.path);
    case "command":
      return commandProbe(run, config.argv as unknown as Argv);
  }
}

/**
 * An agent of a serving host whose serves run on a host in memory, with real files around it.
 *
 * @module
 */

import { systemClock } from "../../lib/host/clock.ts";
import { tcpDial } from "../../lib/host/dial.ts";
import { systemFiles } from "../../lib/host/files.ts";
import { tryLock } from "../../lib/host/lock.ts";
import { runProcess } from "../../lib/host/process.ts";
import { http1Upstream } from "../../lib/relay/http1.ts";
import { SimulatedHost } from "../../lib/testing/simulated_driver.ts";
import { openServes, type ServesHost } from "../../roles/agent/serves_host.ts";
import type { Refusal } from "../../lib/core/refusal.ts";
import { LAB } from "../fixtures/topology.ts";
import { type AgentRig, startAgentRig } from "./agent.ts";

/** The agent, and the host it acts on. */
export interface ServesRig extends AsyncDisposable {
  readonly agent: AgentRig;
  readonly host: SimulatedHost;
  /** Opens the host as an operation does. */
  readonly open: () => Promise<ServesHost | Refusal>;
}

/** Starts one with `manifest` in `folder`, on the node gpu-a of the lab; `toml` ends its agent.toml. */
export async function startServesRig(
  folder: string,
  manifest: string,
  toml = "",
): Promise<ServesRig> {
  await Deno.writeTextFile(`${folder}/serves.toml`, manifest);
  await Deno.writeTextFile(`${folder}/topology.toml`, LAB);
  const host = new SimulatedHost(systemClock);
  const upstream = http1Upstream(tcpDial, systemClock);
  const serves = {
    manifest: `${folder}/serves.toml`,
    topology: `${folder}/topology.toml`,
    docker_socket: "/nonexistent",
  };
  const open = () =>
    openServes({ node: "gpu-a", state: `${folder}/state`, serves }, {
      ...{ run: runProcess, files: systemFiles, clock: systemClock, tryLock, upstream },
      dockerAt: () => upstream,
      os: "linux",
      uid: 0,
      stand: () => ({
        driver: host.driver(),
        probe: host.probe,
        facts: { listeners: () => Promise.resolve({ kind: "seen", value: host.listeners }) },
        memory: host.memory(100_000),
      }),
    });
  const agent = await startAgentRig(folder, [], { toml, roles: ["serving"], openServes: open });
  return {
    agent,
    host,
    open,
    [Symbol.asyncDispose]: async () => {
      await agent[Symbol.asyncDispose]();
      upstream.close();
    },
  };
}

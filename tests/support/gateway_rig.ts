/**
 * One host and a gateway, as processes: a router, its engines, an agent whose supervisor is a script
 * in the place of `systemctl`, and an operator's home that is materialized from a repository.
 *
 * @module
 */

import assert from "node:assert/strict";
import { makeRepo } from "../fixtures/git_repo.ts";
import { fleetToml } from "../fixtures/node.ts";
import { agentClientsToml, TOKENS } from "./agent.ts";
import { AgentProcess } from "./agent_process.ts";
import { type Rig, withRig } from "./change_host.ts";
import { freePort } from "./free_port.ts";
import { type Finished, type Role, roleWords, runRole } from "./role_process.ts";

/** A host, its gateway, and what both are asked with. */
export interface GatewayRig {
  readonly host: Rig;
  readonly agent: AgentProcess;
  /** The host's folder: router.toml, agent.toml and what belongs to them. */
  readonly folder: string;
  /** The gateway's folder: repository and home. */
  readonly gateway: string;
  readonly repo: string;
  readonly home: string;
  /** Runs the operator as a process, before that home. */
  readonly operator: (...args: readonly string[]) => Promise<Finished>;
  /** Commits `files` and makes them the live set. */
  readonly materialize: (rev: string) => Promise<void>;
  /** Starts the agent again. */
  readonly startAgent: () => Promise<AgentProcess>;
}

/**
 * Runs `run` on a host whose reviewed router.toml is what it runs with. `adopter` is the folder of an
 * adopter that its agent asks.
 */
export async function withGateway(
  run: (rig: GatewayRig) => Promise<void>,
  adopter: string | null = null,
): Promise<void> {
  await withRig(async (host) => {
    const { folder, ports, control } = host.place;
    const bin = `${folder}/bin`;
    await Deno.mkdir(bin);
    await Deno.mkdir(`${folder}/agent-state`);
    await script(`${bin}/systemctl`, restartScript(control));
    await script(`${bin}/anvil-router`, await roleScript("router", folder));
    const listen = freePort();
    let toml = agentToml(ports.admin, listen);
    if (adopter !== null) {
      await script(`${bin}/anvil-adopter`, await roleScript("adopter", adopter));
      toml += `[adopter]\nconfig = "${adopter}/adopter.toml"\noutside = []\n` +
        `program = ["${bin}/anvil-adopter"]\n`;
    }
    await Deno.writeTextFile(`${folder}/agent.toml`, toml);
    await Deno.writeTextFile(`${folder}/agent-clients.toml`, agentClientsToml(), { mode: 0o600 });
    const path = `${bin}:${Deno.env.get("PATH") ?? "/usr/bin:/bin"}`;
    const startAgent = () => AgentProcess.start(folder, [], { PATH: path });
    await using agent = await startAgent();
    const gateway = `${folder}/gateway`;
    const repo = `${gateway}/repo`;
    const home = `${gateway}/home`;
    const router = await Deno.readTextFile(`${folder}/router.toml`);
    await makeRepo(repo, {
      "topology.toml": fleetToml([["gpu-a", listen]]),
      "hosts/gpu-a/router.toml": router,
    });
    const operator = (...args: readonly string[]) =>
      runRole("operator", gateway, [...args, "--home", home], PATIENCE_MS);
    const materialize = async (rev: string) => {
      const made = await operator("home", "materialize", "--repo", repo, "--rev", rev);
      assert.equal(made.code, 0, made.stderr);
    };
    await materialize("HEAD");
    await Deno.mkdir(`${home}/tokens`, { mode: 0o700 });
    await Deno.writeTextFile(`${home}/tokens/gpu-a`, `${TOKENS.all}\n`, { mode: 0o600 });
    await run({ host, agent, folder, gateway, repo, home, operator, materialize, startAgent });
  });
}

/** A restart of a router drains and probes; a machine may be busy. */
export const PATIENCE_MS = 120_000;

function agentToml(admin: number, listen: number): string {
  return `schema = 1
node = "gpu-a"
roles = ["router"]
listen = "127.0.0.1:${listen}"
state = "agent-state"
[auth]
clients = "agent-clients.toml"
[router]
admin = "http://127.0.0.1:${admin}"
token_file = "router.token"
config = "router.toml"
program = ["anvil-router"]
unit = "anvil-router.service"
`;
}

/** What systemd does at `systemctl restart`: it answers once the router is up again, or is not. */
function restartScript(control: string): string {
  return `#!/bin/sh\n[ "$1" = restart ] || exit 1\nexec curl -fsS --max-time 60 ${control}/restart\n`;
}

/** An installed role that works in `folder`, with the permissions of its task. */
async function roleScript(role: Role, folder: string): Promise<string> {
  const words = (await roleWords(role, folder)).map((word) => `'${word}'`).join(" ");
  const home = Deno.env.get("HOME") ?? "/";
  const cache = Deno.env.get("DENO_DIR") ?? `${home}/.cache/deno`;
  return `#!/bin/sh\nexport HOME='${home}' DENO_DIR='${cache}' DENO_NO_UPDATE_CHECK=1\n` +
    `export PATH=/usr/local/bin:/usr/bin:/bin\n` +
    `cd '${folder}' && exec '${Deno.execPath()}' ${words} "$@"\n`;
}

async function script(path: string, text: string): Promise<void> {
  await Deno.writeTextFile(path, text, { mode: 0o755 });
  await Deno.chmod(path, 0o755);
}

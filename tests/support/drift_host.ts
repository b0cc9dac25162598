/**
 * A host for drift: a folder of configuration, a systemd and a router that say what a test tells
 * them, and a real agent over all of it.
 *
 * @module
 */

import { sha256 } from "../../lib/host/digest.ts";
import { runProcess } from "../../lib/host/process.ts";
import type { RunProcess } from "../../lib/core/process.ts";
import { type TempDir, tempDir } from "../../lib/testing/temp_dir.ts";
import { type AgentRig, startAgentRig } from "./agent.ts";

/** A unit as the simulated systemd has it. */
export interface FakeUnit {
  text: string;
  readonly dropIns: Map<string, string>;
  reloadDue: boolean;
}

/** The host. */
export interface DriftHost extends AsyncDisposable {
  readonly dir: TempDir;
  readonly agent: AgentRig;
  /** The configuration folder. */
  readonly etc: (name: string) => string;
  readonly units: Map<string, FakeUnit>;
  /** What the running router says; null: it does not answer. */
  router: { config_digest: string; build_digest: string | null } | null;
  /** What the installed router says of itself. */
  installed: string | null;
  /** What asks systemd ends with; 0 as a rule. */
  systemctl: number;
}

/** Starts one; `toml` ends its agent.toml. */
export async function driftHost(toml = ""): Promise<DriftHost> {
  const dir = await tempDir();
  await Deno.mkdir(dir.at("etc"));
  const host = {
    router: null as DriftHost["router"],
    installed: null as string | null,
    systemctl: 0,
    units: new Map<string, FakeUnit>(),
  };
  const said = (code: number, text: string) =>
    Promise.resolve({
      ...{ kind: "exited" as const, code, stderr: new Uint8Array() },
      stdout: new TextEncoder().encode(text),
    });
  const run: RunProcess = (ask) => {
    const [program = "", ...args] = ask.argv;
    if (program === "anvil-router") {
      const build = { name: "anvil-router", version: "0.1.0", build_digest: host.installed };
      return said(0, JSON.stringify(build));
    }
    if (program !== "systemctl") return runProcess(ask);
    const names = args.slice(args.indexOf("--") + 1);
    if (host.systemctl !== 0) return said(host.systemctl, "");
    return said(0, args.includes("show") ? shown(host.units, names) : cat(host.units, names));
  };
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    () =>
      host.router === null ? new Response("", { status: 503 }) : Response.json({
        ...{ version: "0.1.0", draining: false, tiers: [], aliases: {} },
        ...host.router,
      }),
  );
  const agent = await startAgentRig(dir.path, [], {
    run,
    roles: ["serving", "router"],
    toml: `[router]\nadmin = "http://127.0.0.1:${server.addr.port}"\n` +
      `[config]\nroots = ["etc"]\n${toml}`,
  });
  return Object.assign(host, {
    dir,
    agent,
    etc: (name: string) => dir.at(`etc/${name}`),
    [Symbol.asyncDispose]: async () => {
      await agent[Symbol.asyncDispose]();
      await server.shutdown();
      await dir[Symbol.asyncDispose]();
    },
  });
}

const at = (unit: string) => `/etc/systemd/system/${unit}`;

function shown(units: ReadonlyMap<string, FakeUnit>, names: readonly string[]): string {
  return names.map((name) => {
    const unit = units.get(name);
    if (unit === undefined) {
      return "LoadState=not-found\nActiveState=inactive\nFragmentPath=\nDropInPaths=\n" +
        "NeedDaemonReload=no\n";
    }
    const dropIns = [...unit.dropIns.keys()].map((one) => `${at(name)}.d/${one}`).join(" ");
    return `LoadState=loaded\nActiveState=active\nFragmentPath=${at(name)}\n` +
      `DropInPaths=${dropIns}\nNeedDaemonReload=${unit.reloadDue ? "yes" : "no"}\n`;
  }).join("\n");
}

function cat(units: ReadonlyMap<string, FakeUnit>, [name = ""]: readonly string[]): string {
  const unit = units.get(name);
  if (unit === undefined) return "";
  const more = [...unit.dropIns].map(([one, text]) => `\n# ${at(name)}.d/${one}\n${text}`);
  return `# ${at(name)}\n${unit.text}${more.join("")}`;
}

/** Lower-case hex of a text's digest. */
export const hexOf = (text: string) => sha256(text).toHex();

/**
 * One host of the namespace world: its folder, its disk, its units, its supervisor.
 *
 *     HOST/ agent.toml adopter.toml serves.toml topology.toml router.token   probe gate running
 *           disk/ (tmpfs) router.toml clients.toml agent-clients.toml router/ agent/ adopter/ store/
 *           sbin/ systemctl systemd-run journalctl anvil-*   logs/ summary/ failures/ diary.jsonl
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import { type Role, roleWords } from "../../support/role_process.ts";
import { commandPath } from "../../../scripts/needs.ts";
import { type Engine, MODELS, PORTS, unitOf } from "../fleet.ts";
import { mountDisk } from "./disk.ts";
import type { Address } from "./network.ts";
import {
  journalctlScript,
  probeScript,
  roleScript,
  systemctlScript,
  SYSTEMD_RUN,
} from "./scripts.ts";
import { Supervisor, type Unit } from "./supervisor.ts";
import {
  adopterText,
  agentClients,
  agentText,
  routerClients,
  routerText,
  type Secrets,
  servesText,
} from "./texts.ts";

const ENGINE = fileURLToPath(new URL("../engine_main.ts", import.meta.url));
/** Debian's libfaketime, which stands between a program and the clock. */
const FAKETIME = ["x86_64", "aarch64"]
  .map((cpu) => `/usr/lib/${cpu}-linux-gnu/faketime/libfaketimeMT.so.1`);
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** How a host is made. */
export interface HostParts {
  readonly address: Address;
  readonly folder: string;
  readonly secrets: Secrets;
  readonly topology: string;
  readonly publisher: Address;
  /** Trust file of the publisher. */
  readonly trust: string;
  /** Unix socket of the walk's supervisors. */
  readonly socket: string;
  readonly cgroup: string;
  readonly diskMib: number;
  /** False: programs see the machine's clock, and it cannot be skewed. */
  readonly clock: boolean;
}

/** Whether clocks can be skewed here. */
export function canSkew(): boolean {
  return faketime() !== null;
}

function faketime(): string | null {
  return FAKETIME.find((path) => {
    try {
      return Deno.statSync(path).isFile;
    } catch {
      return false;
    }
  }) ?? null;
}

/** What every program of ours gets from its launcher. */
export function plainEnv(): Record<string, string> {
  const env: Record<string, string> = { PATH, NO_COLOR: "1" };
  for (const name of ["HOME", "DENO_DIR"]) {
    const value = Deno.env.get(name);
    if (value !== undefined) env[name] = value;
  }
  return env;
}

/** One host. */
export class Host {
  readonly name: string;
  readonly folder: string;
  readonly supervisor: Supervisor;
  readonly address: Address;
  readonly #env: Readonly<Record<string, string>>;

  private constructor(parts: HostParts, env: Readonly<Record<string, string>>, units: Unit[]) {
    this.address = parts.address;
    this.name = parts.address.name;
    this.folder = parts.folder;
    this.#env = env;
    this.supervisor = new Supervisor(
      this.name,
      parts.folder,
      parts.cgroup,
      units,
      () => this.#switchThing(),
    );
  }

  /** Writes everything; nothing is started yet. */
  static async make(parts: HostParts): Promise<Host> {
    const { folder, address: { name }, clock } = parts;
    for (const one of ["sbin", "logs", "summary", "failures"]) {
      await Deno.mkdir(`${folder}/${one}`, { recursive: true });
    }
    await mountDisk(`${folder}/disk`, parts.diskMib);
    for (const one of ["router", "agent", "adopter", "store"]) {
      await Deno.mkdir(`${folder}/disk/${one}`, { mode: 0o700 });
    }
    await Deno.writeTextFile(`${folder}/clock`, "+0\n");
    const library = clock ? faketime() : null;
    const skewed: Record<string, string> = library !== null
      ? {
        LD_PRELOAD: library,
        FAKETIME_TIMESTAMP_FILE: `${folder}/clock`,
        FAKETIME_DONT_FAKE_MONOTONIC: "1",
        FAKETIME_NO_CACHE: "1",
        FAKETIME_DONT_RESET: "1",
      }
      : {};
    const env = { ...plainEnv(), ...skewed };
    const engine = (program: Engine): Unit => ({
      name: unitOf(name, program),
      program,
      argv: [
        ...[Deno.execPath(), "run", "--no-config", "--no-lock", "--no-remote", "--quiet"],
        ...["--allow-net=127.0.0.1", `--allow-write=${folder}/diary-${program}.jsonl`, ENGINE],
        ...["--port", String(PORTS[program]), "--model", MODELS[program]],
        ...["--diary", `${folder}/diary-${program}.jsonl`],
      ],
      env: plainEnv(),
      graceSeconds: 5,
      model: MODELS[program],
    });
    const role = async (program: "router" | "agent", file: string): Promise<Unit> => ({
      name: unitOf(name, program),
      program,
      argv: [Deno.execPath(), ...await roleWords(program, folder), "run", file],
      env,
      graceSeconds: 20,
      model: null,
    });
    const engines = [engine("chat"), engine("next"), engine("embed"), engine("studio")];
    const units = [
      await role("router", "disk/router.toml"),
      await role("agent", "agent.toml"),
      ...engines,
    ];
    await writePrograms(parts, env);
    const files: Readonly<Record<string, string>> = {
      "agent.toml": agentText(name),
      "adopter.toml": adopterText(folder, name, parts.publisher),
      "topology.toml": parts.topology,
      "trust.json": parts.trust,
      "router.token": parts.secrets.admin,
      "serves.toml": servesText(
        name,
        folder,
        engines.map(({ program, argv }) => ({ name: program as Engine, argv })),
      ),
      "disk/router.toml": routerText(name, false),
      "disk/clients.toml": routerClients(parts.secrets),
      "disk/agent-clients.toml": agentClients(parts.secrets),
    };
    for (const [path, text] of Object.entries(files)) {
      await Deno.writeTextFile(`${folder}/${path}`, text, { mode: 0o600 });
    }
    return new Host(parts, env, units);
  }

  /** Starts what runs outside of any mode. */
  async boot(): Promise<void> {
    for (const program of ["chat", "embed", "router", "agent"]) {
      await this.supervisor.start(unitOf(this.name, program));
    }
  }

  /** An installed program of ours, run to its end in this host's namespace. */
  command(role: Role, ...args: readonly string[]): Deno.Command {
    const log = `${this.folder}/logs/${role}.log`;
    return new Deno.Command("/bin/sh", {
      args: [
        "-c",
        'log=$1; host=$2; sbin=$3; shift 3; exec >>"$log" 2>&1; exec ip netns exec "$host" ' +
        '/bin/sh -c \'mount --bind "$1" /usr/local/sbin && shift && exec "$@"\' sh "$sbin" "$@"',
        ...["sh", log, this.name, `${this.folder}/sbin`],
        ...[`${this.folder}/sbin/anvil-${role}`, ...args],
      ],
      cwd: this.folder,
      clearEnv: true,
      env: { ...this.#env, USER: "timer" },
      stdin: "null",
      stdout: "null",
      stderr: "null",
    });
  }

  /** Sets the clock of every program of ours here. */
  async setClock(seconds: number): Promise<void> {
    const text = `${seconds < 0 ? "-" : "+"}${Math.abs(seconds)}\n`;
    await Deno.writeTextFile(`${this.folder}/clock.new`, text);
    await Deno.rename(`${this.folder}/clock.new`, `${this.folder}/clock`);
  }

  /** `thing.service`: what `current` names is what runs. */
  async #switchThing(): Promise<void> {
    const digest = (await Deno.readTextFile(`${this.folder}/disk/store/current`)).trim();
    const from = `${this.folder}/disk/store/generations/${digest}/bin/run`;
    await Deno.copyFile(from, `${this.folder}/running.new`);
    await Deno.rename(`${this.folder}/running.new`, `${this.folder}/running`);
    await Deno.writeTextFile(`${this.folder}/running.digest`, `${digest}\n`);
  }
}

async function writePrograms(
  { folder, address: { name }, socket }: HostParts,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  const programs: Record<string, string> = {
    "sbin/systemctl": systemctlScript(socket, name),
    "sbin/systemd-run": SYSTEMD_RUN,
    "sbin/journalctl": journalctlScript(folder),
    "probe": probeScript(folder),
    "gate": `#!/bin/sh\ntest ! -e "${folder}/busy"\n`,
  };
  for (const role of ["router", "adopter"] as const) {
    programs[`sbin/anvil-${role}`] = roleScript(role, folder, await roleWords(role, folder), env);
  }
  for (const [path, text] of Object.entries(programs)) {
    await Deno.writeTextFile(`${folder}/${path}`, text, { mode: 0o755 });
    await Deno.chmod(`${folder}/${path}`, 0o755);
  }
  // The facts this machine lacks a program for are unknown on it; ours are asked for by name.
  if (commandPath("ss") === null) throw new Error("ss is not installed");
}

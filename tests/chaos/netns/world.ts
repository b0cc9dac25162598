/**
 * The world of processes in network namespaces: real routers, agents, adopters, a publisher and
 * fixture engines, each host with its own network and its own small disk.
 *
 * @module
 */

import type { AdoptionSample } from "../facts.ts";
import type { Fault } from "../fault.ts";
import { IMPOSTOR, MODELS, PORTS, unitOf } from "../fleet.ts";
import { elapsed, pause } from "../time.ts";
import type { At, Canary, Candidate, Memory, Records, World } from "../world.ts";
import { clearDisk, fillDisk, recordsBelow, tearTail } from "./disk.ts";
import { Host, plainEnv } from "./host.ts";
import { type Address, makeFast, makeNetwork, makeSlow, pidsIn, setCable } from "./network.ts";
import { Publisher } from "./publisher.ts";
import { cgroupRoot, removeGroups } from "./groups.ts";
import { killNow } from "./run.ts";
import { readRecords } from "./records.ts";
import { roleWords } from "../../support/role_process.ts";
import { namedIn } from "../../support/change_evidence.ts";
import { routerText, type Secrets, topologyText } from "./texts.ts";
import { spy } from "./spy.ts";

const GATEWAY: Address = { name: "gateway", ip: "10.77.0.2" };
const PUBLISHER: Address = { name: "build", ip: "10.77.0.3" };

/** How it is made. */
export interface NetnsOptions {
  readonly folder: string;
  readonly hosts: readonly string[];
  /** Each host's disk, in MiB. */
  readonly diskMib: number;
  /** False leaves the clocks alone: programs run without the library that skews them. */
  readonly skew: boolean;
}

/** The world. */
export class NetnsWorld implements World {
  readonly hosts: readonly string[];
  readonly unable = new Map<Fault["kind"], string>();
  readonly tokens: World["tokens"];
  readonly #secrets: Secrets;
  readonly #folder: string;
  readonly #hosts: ReadonlyMap<string, Host>;
  readonly #publisher: Publisher;
  readonly #cgroup: string;
  readonly #server: Deno.HttpServer<Deno.UnixAddr>;
  readonly #children = new Set<Deno.ChildProcess>();
  /** Commands of the gateway that run now. */
  readonly #operators = new Set<Deno.ChildProcess>();
  /** Cables that are out. */
  readonly #out = new Set<string>();
  #gatewayGone = false;

  private constructor(
    options: NetnsOptions,
    secrets: Secrets,
    hosts: ReadonlyMap<string, Host>,
    publisher: Publisher,
    cgroup: string,
    server: Deno.HttpServer<Deno.UnixAddr>,
  ) {
    this.hosts = options.hosts;
    this.#folder = options.folder;
    this.#secrets = secrets;
    this.tokens = secrets;
    this.#hosts = hosts;
    this.#publisher = publisher;
    this.#cgroup = cgroup;
    this.#server = server;
    if (!options.skew) this.unable.set("skew", "libfaketime is not installed, or not wanted");
  }

  /** Makes the network, the files and starts everything. Only inside of namespaces of its own. */
  static async start(options: NetnsOptions): Promise<NetnsWorld> {
    const addresses = options.hosts.map((name, index) => ({ name, ip: `10.77.0.${11 + index}` }));
    await makeNetwork([GATEWAY, PUBLISHER, ...addresses]);
    const secret = (name: string) =>
      `anvil_${name}${crypto.getRandomValues(new Uint8Array(32)).toHex()}`.slice(0, 49);
    const secrets: Secrets = {
      client: secret("c"),
      observer: secret("o"),
      admin: secret("r"),
      operator: secret("g"),
    };
    const cgroup = `${await cgroupRoot()}/anvil-chaos-${crypto.randomUUID().slice(0, 8)}`;
    const publisher = await Publisher.make(`${options.folder}/publisher`, PUBLISHER, addresses);
    const hosts = new Map<string, Host>();
    const socket = `${options.folder}/supervisor.sock`;
    const server = Deno.serve({ path: socket, onListen: () => {} }, async (request) => {
      const host = hosts.get(new URL(request.url).pathname.slice(1));
      const words = (await request.text()).split("\n").filter((word) => word !== "");
      const said = await host?.supervisor.answer(words).catch(String);
      return typeof said === "string"
        ? new Response(said)
        : new Response(`not understood: ${words.join(" ")}`, { status: 500 });
    });
    for (const address of addresses) {
      const host = await Host.make({
        address,
        folder: `${options.folder}/${address.name}`,
        secrets,
        topology: topologyText(GATEWAY, addresses),
        publisher: PUBLISHER,
        trust: await publisher.trust(),
        socket,
        cgroup: `${cgroup}/${address.name}`,
        diskMib: options.diskMib,
        clock: options.skew,
      });
      hosts.set(address.name, host);
    }
    const world = new NetnsWorld(options, secrets, hosts, publisher, cgroup, server);
    await world.#makeGateway(addresses);
    await publisher.serve();
    for (const host of hosts.values()) await host.boot();
    for (const name of options.hosts) {
      for (const at of [world.admin(name), world.agent(name)]) await listens(at);
    }
    return world;
  }

  data = (host: string) => this.#at(host, PORTS.data);
  admin = (host: string) => this.#at(host, PORTS.admin);
  agent = (host: string) => this.#at(host, PORTS.agent);

  async inflict(fault: Fault): Promise<() => Promise<void>> {
    switch (fault.kind) {
      case "kill": {
        const host = this.#host(fault.host);
        if (fault.program === "adopter") return await this.#killAdopter(fault.host);
        const unit = unitOf(fault.host, fault.program);
        await host.supervisor.kill(unit);
        return () => host.supervisor.mend(unit);
      }
      case "torn_tail":
        return await this.#tear(fault);
      case "swap": {
        const { supervisor } = this.#host(fault.host);
        const unit = unitOf(fault.host, fault.program);
        // Somebody starts the wrong one where one was running; else there is nothing to swap.
        if (await supervisor.kill(unit)) await supervisor.start(unit, IMPOSTOR);
        return () => supervisor.mend(unit);
      }
      case "publisher_gone":
        await this.#publisher.kill();
        return () => this.#publisher.serve();
      case "gateway_gone":
        this.#gatewayGone = true;
        await this.#cable(GATEWAY.name, false);
        for (const child of this.#operators) killNow(child);
        return async () => {
          await this.#cable(GATEWAY.name, true);
          this.#gatewayGone = false;
        };
      case "pause":
        await this.#signal(fault.host, "SIGSTOP");
        return () => this.#signal(fault.host, "SIGCONT");
      case "cut":
        await this.#cable(fault.host, false);
        return () => this.#cable(fault.host, true);
      case "delay":
        await makeSlow(fault.host);
        return () => makeFast(fault.host);
      case "disk_full": {
        const disk = `${this.#host(fault.host).folder}/disk`;
        await fillDisk(disk);
        return () => clearDisk(disk);
      }
      case "skew":
        await this.#host(fault.host).setClock(fault.seconds);
        return () => this.#host(fault.host).setClock(0);
    }
  }

  async heal(): Promise<void> {
    for (const name of [...this.#out]) await this.#cable(name, true);
    this.#gatewayGone = false;
    await this.#publisher.serve();
    for (const host of this.#hosts.values()) {
      await this.#signal(host.name, "SIGCONT");
      await clearDisk(`${host.folder}/disk`);
      await host.setClock(0);
      await makeFast(host.name).catch(() => {});
      for (const program of ["router", "agent", ...Object.keys(MODELS)]) {
        await host.supervisor.mend(unitOf(host.name, program));
      }
    }
  }

  publish(host: string, rev: string, candidate: Candidate): Promise<string> {
    return this.#publisher.publish(host, rev, candidate);
  }

  async adopterTurn(host: string): Promise<void> {
    for (const verb of ["offer", "stage", "adopt"]) {
      if (await this.adopter(host, verb, "--timer") !== 0) return;
    }
  }

  async adopter(host: string, ...args: readonly string[]): Promise<number> {
    const child = this.#host(host).command("adopter", ...args, "--config", "adopter.toml").spawn();
    this.#children.add(child);
    const { code } = await child.status;
    this.#children.delete(child);
    return code;
  }

  async adoption(host: string): Promise<AdoptionSample> {
    const { folder } = this.#host(host);
    return await adoptionOf(host, folder);
  }

  async operator(...args: readonly string[]): Promise<number> {
    if (this.#gatewayGone) return -1;
    const folder = `${this.#folder}/gateway`;
    const words = await roleWords("operator", folder);
    const flags = ["--topology", "topology.toml", "--tokens", "tokens"];
    const child = new Deno.Command("/bin/sh", {
      args: [
        ...["-c", 'log=$1; shift; exec >>"$log" 2>&1; exec ip netns exec "$@"', "sh"],
        ...[`${folder}/operator.log`, GATEWAY.name, Deno.execPath(), ...words, ...args, ...flags],
      ],
      cwd: folder,
      clearEnv: true,
      env: { ...plainEnv(), ANVIL_HOME: `${folder}/home` },
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    this.#operators.add(child);
    const { code } = await child.status;
    this.#operators.delete(child);
    return code;
  }

  routerText(host: string, next: boolean): string {
    return routerText(host, next);
  }

  evidence(host: string, next: boolean) {
    const name = next ? "next" : "chat";
    const model = { id: MODELS[name], revision: "1" };
    return namedIn(host, { name, model, engine: "vllm", runtime: "native", tier: "primary" });
  }

  async memory(): Promise<readonly Memory[]> {
    const found: Memory[] = [];
    const look = async (host: string, program: string, pid: number | null) => {
      if (pid === null) return;
      const text = await Deno.readTextFile(`/proc/${pid}/status`).catch(() => "");
      const kib = /^VmRSS:\s*(\d+) kB/m.exec(text)?.[1];
      if (kib !== undefined) found.push({ host, program, pid, bytes: Number(kib) * 1024 });
    };
    for (const { name, supervisor } of this.#hosts.values()) {
      for (const program of ["router", "agent"]) {
        await look(name, program, supervisor.pid(unitOf(name, program)));
      }
    }
    await look(PUBLISHER.name, "publisher", this.#publisher.pid);
    return found;
  }

  spied(canaries: readonly Canary[]) {
    return spy(canaries);
  }

  async canaries(): Promise<readonly Canary[]> {
    const keys = await this.#publisher.secrets();
    return [
      ...Object.entries(this.#secrets).map(([name, text]) => ({ what: `${name} token`, text })),
      ...keys.map((text) => ({ what: "a private key of the publisher", text })),
    ];
  }

  records(canaries: readonly Canary[]): Promise<Records> {
    return readRecords(this.#folder, [...this.#hosts.values()], this.#publisher, canaries);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const host of this.#hosts.values()) {
      await this.#signal(host.name, "SIGCONT").catch(() => {});
      await host.supervisor.close();
    }
    await this.#publisher.kill();
    for (const child of [...this.#children, ...this.#operators]) {
      killNow(child);
      await child.status;
    }
    await this.#server.shutdown();
    await pause(100);
    await removeGroups(this.#cgroup);
  }

  #host(name: string): Host {
    const host = this.#hosts.get(name);
    if (host === undefined) throw new Error(`no host ${name}`);
    return host;
  }

  #at(host: string, port: number) {
    return { hostname: this.#host(host).address.ip, port };
  }

  async #cable(name: string, isIn: boolean): Promise<void> {
    await setCable(name, isIn);
    if (isIn) this.#out.delete(name);
    else this.#out.add(name);
  }

  async #signal(name: string, signal: "SIGSTOP" | "SIGCONT"): Promise<void> {
    for (const pid of await pidsIn(name)) {
      try {
        Deno.kill(pid, signal);
      } catch {
        // It has just ended.
      }
    }
  }

  /** Waits a little for an adopter to be at work, and kills it. */
  async #killAdopter(name: string): Promise<() => Promise<void>> {
    for (let turn = 0; turn < 40; turn++) {
      const found = await adoptersIn(name);
      for (const pid of found) {
        try {
          Deno.kill(pid, "SIGKILL");
        } catch {
          // It has just ended.
        }
      }
      if (found.length > 0) break;
      await pause(50);
    }
    return () => Promise.resolve();
  }

  async #tear(fault: Extract<Fault, { kind: "torn_tail" }>): Promise<() => Promise<void>> {
    const host = this.#host(fault.host);
    const unit = unitOf(fault.host, fault.program);
    if (fault.program === "adopter") await this.#killAdopter(fault.host);
    else await host.supervisor.kill(unit);
    for (const path of await recordsBelow(`${host.folder}/disk/${fault.program}`)) {
      await tearTail(path, fault.tail).catch(() => {}); // a full disk tears nothing
    }
    return fault.program === "adopter" ? () => Promise.resolve() : () => host.supervisor.mend(unit);
  }

  async #makeGateway(hosts: readonly Address[]): Promise<void> {
    const folder = `${this.#folder}/gateway`;
    await Deno.mkdir(`${folder}/tokens`, { recursive: true, mode: 0o700 });
    await Deno.mkdir(`${folder}/home`, { recursive: true, mode: 0o700 });
    await Deno.writeTextFile(`${folder}/topology.toml`, topologyText(GATEWAY, hosts));
    for (const { name } of [GATEWAY, ...hosts]) {
      const path = `${folder}/tokens/${name}`;
      await Deno.writeTextFile(path, `${this.#secrets.operator}\n`, { mode: 0o600 });
    }
  }
}

async function adoptionOf(host: string, folder: string): Promise<AdoptionSample> {
  const summary = await Deno.readTextFile(`${folder}/summary/status.json`)
    .then((text) => JSON.parse(text) as { readonly proven?: { readonly path?: string } | null })
    .catch(() => null);
  const current = await Deno.readTextFile(`${folder}/disk/store/current`).catch(() => null);
  const digest = (id: string | undefined) => id === undefined ? null : id.replace(/^sha256:/, "");
  return {
    host,
    at: elapsed(),
    proven: digest(summary?.proven?.path),
    current: current === null ? null : current.trim(),
  };
}

/** Waits until somebody listens there; a busy machine takes its time. */
async function listens({ hostname, port }: At): Promise<void> {
  for (let turn = 0; turn < 600; turn++) {
    try {
      (await Deno.connect({ hostname, port })).close();
      return;
    } catch {
      await pause(200);
    }
  }
  throw new Error(`nobody listens on ${hostname}:${port} after two minutes`);
}

/** Processes of an adopter in a namespace, whoever started them. */
async function adoptersIn(name: string): Promise<readonly number[]> {
  const found: number[] = [];
  for (const pid of await pidsIn(name)) {
    const line = await Deno.readTextFile(`/proc/${pid}/cmdline`).catch(() => "");
    if (line.includes("/roles/adopter/main.ts")) found.push(pid);
  }
  return found;
}

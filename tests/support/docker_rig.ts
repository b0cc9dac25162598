/**
 * A real Docker engine that a test starts for itself: its own data, socket and processes in a temp
 * folder, no bridge, no firewall rules; and one small image, made from files of this machine, since
 * no registry answers.
 *
 * @module
 */

import { commandPath } from "../../scripts/needs.ts";
import { systemClock } from "../../lib/host/clock.ts";
import { unixDial } from "../../lib/host/unix_dial.ts";
import { http1Upstream } from "../../lib/relay/http1.ts";
import type { Upstream } from "../../lib/relay/upstream.ts";
import { DockerEngine } from "../../lib/serves/docker_engine.ts";

const ROOT = new URL("../../", import.meta.url).pathname.replace(/\/$/, "");
const START_MS = 40_000;
/** One question to the engine; shorter than outside of tests, so that a frozen one is noticed soon. */
const DEADLINE_MS = 4000;

/** One engine. */
export class DockerRig implements AsyncDisposable {
  readonly folder: string;
  readonly socket: string;
  readonly engine: DockerEngine;
  /** `sha256:…` of the image, which holds a shell, and what deno needs. */
  image = "";
  readonly #upstream: Upstream;
  #daemon: Deno.ChildProcess | null = null;

  private constructor(folder: string) {
    this.folder = folder;
    this.socket = `${folder}/docker.sock`;
    this.#upstream = http1Upstream(unixDial(this.socket), systemClock);
    this.engine = new DockerEngine(this.#upstream, systemClock, DEADLINE_MS);
  }

  /** Starts one, or says why this machine does not let us. */
  static async start(): Promise<DockerRig | string> {
    const rig = new DockerRig(await Deno.makeTempDir({ prefix: "anvil-dockerd-" }));
    const why = await rig.up();
    if (why !== null) {
      await rig[Symbol.asyncDispose]();
      return why;
    }
    rig.image = await rig.import("small", await smallRoot(`${rig.folder}/small`));
    return rig;
  }

  /** Starts the daemon; null when it answers, else its last words. */
  async up(): Promise<string | null> {
    const dockerd = commandPath("dockerd");
    if (dockerd === null) return "dockerd is not installed";
    const log = await Deno.open(`${this.folder}/dockerd.log`, { create: true, append: true });
    log.close();
    this.#daemon = new Deno.Command("/bin/sh", {
      args: [
        "-c",
        'exec "$0" --iptables=false --ip6tables=false --bridge=none --storage-driver=vfs ' +
        '--data-root="$1/data" --exec-root="$1/exec" --pidfile="$1/pid" -H "unix://$1/docker.sock" ' +
        '>>"$1/dockerd.log" 2>&1',
        dockerd,
        this.folder,
      ],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    const until = Date.now() + START_MS;
    while (Date.now() < until) {
      const answer = await this.engine.json("/info", AbortSignal.timeout(5000));
      if (answer.kind === "answered" && answer.status === 200) return null;
      await systemClock.sleep(100);
    }
    const said = await Deno.readTextFile(`${this.folder}/dockerd.log`);
    return `dockerd did not start: ${said.trim().split("\n").slice(-3).join(" | ")}`;
  }

  /** Ends the daemon as its supervisor does; it ends its containers first. */
  async down(): Promise<void> {
    const daemon = this.#daemon;
    this.#daemon = null;
    if (daemon === null) return;
    daemon.kill("SIGTERM");
    const late = setTimeout(() => daemon.kill("SIGKILL"), 20_000);
    await daemon.status;
    clearTimeout(late);
  }

  /** Freezes the daemon: it takes connections and answers nothing. */
  freeze(): void {
    this.#daemon?.kill("SIGSTOP");
  }

  /** Lets it go on. */
  thaw(): void {
    this.#daemon?.kill("SIGCONT");
  }

  /** Runs the engine's own client against it. */
  async docker(...args: string[]): Promise<string> {
    const docker = commandPath("docker");
    if (docker === null) throw new Error("docker is not installed");
    const { success, stdout, stderr } = await new Deno.Command(docker, {
      args: ["-H", `unix://${this.socket}`, ...args],
      stdin: "null",
    }).output();
    const decoder = new TextDecoder();
    if (!success) throw new Error(`docker ${args.join(" ")}: ${decoder.decode(stderr)}`);
    return decoder.decode(stdout).trim();
  }

  /** Makes an image of everything below `folder`; gives its `sha256:…`. */
  async import(name: string, folder: string): Promise<string> {
    const tar = `${this.folder}/${name}.tar`;
    await run("tar", "-C", folder, "-cf", tar, ".");
    const id = await this.docker("import", tar, `${name}:test`);
    await Deno.remove(tar);
    return id;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.thaw();
    if (this.#daemon !== null) {
      for (const id of (await this.docker("ps", "-q").catch(() => "")).split("\n")) {
        if (id !== "") await this.docker("kill", id).catch(() => {});
      }
    }
    await this.down();
    this.#upstream.close();
    // The engine leaves the network namespace of the host mounted.
    const names = `${this.folder}/exec/netns`;
    const mounted = await Array.fromAsync(Deno.readDir(names)).catch(() => []);
    for (const { name } of mounted) {
      await run("umount", `${names}/${name}`).catch(() => {});
    }
    await Deno.remove(this.folder, { recursive: true });
  }
}

/** Mounts that let the image run this project's files with the deno of this test. */
export function denoMounts() {
  return [
    { source: Deno.execPath(), target: "/bin/deno", read_only: true },
    { source: ROOT, target: ROOT, read_only: true },
  ];
}

/** Arguments that run the engine fixture in the image. */
export function engineArgs(...args: string[]): string[] {
  const main = `${ROOT}/tests/fixtures/engine_main.ts`;
  return ["/bin/deno", "run", "--no-config", "--no-lock", "--cached-only", "-A", main, ...args];
}

/** A root with a shell and the libraries of deno. */
async function smallRoot(folder: string): Promise<string> {
  for (const name of ["bin", "tmp", "etc", "root"]) {
    await Deno.mkdir(`${folder}/${name}`, { recursive: true });
  }
  const busybox = commandPath("busybox");
  if (busybox === null) throw new Error("busybox is not installed");
  await Deno.copyFile(busybox, `${folder}/bin/busybox`);
  await run("chmod", "755", `${folder}/bin/busybox`);
  for (const name of ["sh", "sleep", "echo", "cat", "nc", "kill", "seq"]) {
    await Deno.symlink("busybox", `${folder}/bin/${name}`);
  }
  await Deno.writeTextFile(`${folder}/etc/passwd`, "root:x:0:0:root:/root:/bin/sh\n");
  const { stdout } = await new Deno.Command("ldd", { args: [Deno.execPath()] }).output();
  for (const [, path = ""] of new TextDecoder().decode(stdout).matchAll(/(\/\S+) \(0x/g)) {
    const target = `${folder}${path}`;
    await Deno.mkdir(target.replace(/\/[^/]*$/, ""), { recursive: true });
    await Deno.copyFile(await Deno.realPath(path), target);
  }
  return folder;
}

async function run(program: string, ...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(program, { args, stdin: "null" }).output();
  if (!success) throw new Error(`${program}: ${new TextDecoder().decode(stderr)}`);
}

/**
 * systemd as PID 1 in a container: a small Debian, made once by debootstrap and kept below `.tools/`,
 * booted by the engine of a {@link DockerRig} on the host's network.
 *
 * Inside are systemd, D-Bus, ps and ss, the deno of this test as /usr/local/bin/deno, and this
 * project at its own path, read-only. Root's user manager runs too.
 *
 * @module
 */

import type { ProcessAsk, RunProcess } from "../../lib/core/process.ts";
import { systemClock } from "../../lib/host/clock.ts";
import { unixDial } from "../../lib/host/unix_dial.ts";
import { http1Upstream } from "../../lib/relay/http1.ts";
import type { Upstream } from "../../lib/relay/upstream.ts";
import { commandPath } from "../../scripts/needs.ts";
import type { DockerRig } from "./docker_rig.ts";
import { pause, until as waitFor } from "./wait.ts";

const ROOT = new URL("../../", import.meta.url).pathname.replace(/\/$/, "");
/** Raise the number when the packages change. */
const CACHED = `${ROOT}/.tools/systemd-image-bookworm-1.tar`;
const PACKAGES = [
  ...["systemd", "systemd-sysv", "dbus", "dbus-user-session", "libpam-systemd"],
  ...["iproute2", "procps"],
].join(",");
/** Runs programs inside for us. */
const RUNNER = `${ROOT}/tests/support/systemd_runner.ts`;
const BOOT_MS = 60_000;

/** One booted system. */
export class SystemdRig implements AsyncDisposable {
  readonly container: string;
  readonly #docker: DockerRig;
  readonly #inside: Upstream;

  private constructor(docker: DockerRig, container: string, socket: string) {
    this.#docker = docker;
    this.container = container;
    this.#inside = http1Upstream(unixDial(socket), systemClock);
  }

  /** Boots one, or says why this machine does not let us. `mounts`: more of `-v`. */
  static async start(
    docker: DockerRig,
    mounts: readonly string[] = [],
  ): Promise<SystemdRig | string> {
    const tar = await imageTar();
    if (!tar.startsWith("/")) return tar;
    const image = await docker.docker("import", tar, "systemd:test");
    const groups = await exists("/sys/fs/cgroup/systemd")
      ? ["-v", "/sys/fs/cgroup/systemd:/sys/fs/cgroup/systemd"]
      : ["--cgroupns=private", "-v", "/sys/fs/cgroup:/sys/fs/cgroup:rw"];
    const shared = await Deno.makeTempDir({ dir: docker.folder, prefix: "s" });
    const volumes = [
      `${shared}:/run/anvil-test`,
      `${Deno.execPath()}:/usr/local/bin/deno:ro`,
      `${ROOT}:${ROOT}:ro`,
      ...mounts,
    ];
    const id = await docker.docker(
      ...["run", "-d", "--network", "host", "--cap-add", "SYS_ADMIN"],
      ...["--security-opt", "seccomp=unconfined", "--tmpfs", "/run", "--tmpfs", "/tmp", ...groups],
      ...volumes.flatMap((one) => ["-v", one]),
      ...["-e", "container=docker", "--stop-signal", "SIGRTMIN+3", image, "/sbin/init"],
    ).catch((error: Error) => error.message);
    if (!/^[0-9a-f]{64}$/.test(id)) return id;
    const rig = new SystemdRig(docker, id, `${shared}/runner.sock`);
    const until = Date.now() + BOOT_MS;
    for (;;) {
      const said = await docker.docker("exec", id, "systemctl", "is-system-running")
        .catch(() => "");
      if (/^(running|degraded)$/.test(said)) break;
      if (Date.now() > until) {
        const log = await docker.docker("logs", "--tail", "5", id).catch(() => "");
        await rig[Symbol.asyncDispose]();
        return `systemd did not boot: ${said || log}`;
      }
      await pause(200);
    }
    const words = ["deno", "run", "--no-config", "--no-lock", "--cached-only", "-A", RUNNER];
    await docker.docker("exec", "-d", id, ...words, "/run/anvil-test/runner.sock");
    // The socket is there before anybody listens on it.
    await waitFor("the runner inside listens", () => answers(`${shared}/runner.sock`), 20_000);
    await rig.text("systemctl", "start", "user@0.service");
    return rig;
  }

  /** The process port, inside, by way of {@link RUNNER}: an exec of the engine takes far longer. */
  readonly run: RunProcess = async (ask: ProcessAsk) => {
    const { argv, env, cwd, deadlineMs, maxOutputBytes } = ask;
    const signal = ask.signal ?? new AbortController().signal;
    const body = new TextEncoder().encode(
      JSON.stringify({ argv, env, cwd, deadlineMs, maxOutputBytes }),
    );
    const answer = await this.#inside.send({
      endpoint: { hostname: "127.0.0.1", port: 80 },
      method: "POST",
      target: "/",
      headers: [],
      body: { kind: "bytes", size: body.length, chunks: [body] },
      connectMs: 2000,
      signal,
    });
    if (answer.kind === "failed") {
      return { kind: "failed_to_start", code: "program_unstartable", cause: answer.cause };
    }
    const chunks: Uint8Array<ArrayBuffer>[] = [];
    for (;;) {
      const read = await answer.body.read(new Uint8Array(64 * 1024));
      if (read.kind === "broken") throw new Error(`the runner inside broke off: ${read.cause}`);
      if (read.kind === "end") break;
      chunks.push(Uint8Array.from(read.bytes));
    }
    const outcome = JSON.parse(await new Blob(chunks).text());
    return "stdout" in outcome
      ? {
        ...outcome,
        stdout: Uint8Array.fromBase64(outcome.stdout),
        stderr: Uint8Array.fromBase64(outcome.stderr),
      }
      : outcome;
  };

  /** Runs a program inside and gives what it printed; throws when it fails. */
  async text(program: string, ...args: string[]): Promise<string> {
    const outcome = await this.run({
      argv: [program, ...args],
      env: { PATH: "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", XDG_RUNTIME_DIR: "/run/user/0" },
      deadlineMs: 30_000,
      maxOutputBytes: 4 * 1024 * 1024,
    });
    if (outcome.kind === "failed_to_start") throw new Error(`${program}: ${outcome.cause}`);
    const decoder = new TextDecoder();
    const said = decoder.decode(outcome.stdout).trim();
    if (outcome.kind === "exited" && outcome.code === 0) return said;
    throw new Error(`${program} ${args.join(" ")}: ${said} ${decoder.decode(outcome.stderr)}`);
  }

  /** Writes a file inside. */
  async write(path: string, text: string, mode = "644"): Promise<void> {
    const script = 'mkdir -p "$(dirname "$1")" && printf %s "$2" >"$1" && chmod "$3" "$1"';
    await this.text("/bin/sh", "-c", script, "sh", path, text, mode);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#inside.close();
    await this.#docker.docker("rm", "-f", "-v", this.container).catch(() => {});
  }
}

/** The path of the image's tar, made when it is not there yet; or why it cannot be. */
async function imageTar(): Promise<string> {
  if (await exists(CACHED)) return CACHED;
  const debootstrap = commandPath("debootstrap");
  if (debootstrap === null) return "debootstrap is not installed";
  await Deno.mkdir(`${ROOT}/.tools`, { recursive: true });
  const folder = await Deno.makeTempDir({ prefix: "anvil-debootstrap-" });
  try {
    console.warn("making a small Debian with debootstrap: once, a minute or two");
    const options = ["--variant=minbase", `--include=${PACKAGES}`, "bookworm"];
    const made = await new Deno.Command(debootstrap, {
      args: [...options, `${folder}/root`],
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).output();
    if (!made.success) {
      const said = new TextDecoder().decode(made.stdout).trim().split("\n").at(-1);
      return `debootstrap failed: ${said}`;
    }
    const whole = `${folder}/image.tar`;
    const tar = await new Deno.Command("tar", {
      args: [
        ...["-C", `${folder}/root`, "--exclude=./var/cache/apt/archives/*.deb"],
        ...["--exclude=./var/lib/apt/lists/*", "-cf", whole, "."],
      ],
    }).output();
    if (!tar.success) return "tar failed";
    await Deno.copyFile(whole, `${CACHED}.${Deno.pid}`);
    await Deno.rename(`${CACHED}.${Deno.pid}`, CACHED); // two suites at once: each whole
    return CACHED;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function answers(path: string): Promise<boolean> {
  try {
    (await Deno.connect({ transport: "unix", path })).close();
    return true;
  } catch {
    return false;
  }
}

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}

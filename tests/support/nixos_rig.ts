/**
 * A NixOS that is not one: real Nix with a signed cache over loopback, closures whose
 * `switch-to-configuration` is scripted, and a stand-in for systemd's transient units.
 *
 * @module
 */

import { nixosBackend } from "../../lib/adoption/backends/nixos.ts";
import type { Backend } from "../../lib/adoption/backend.ts";
import type { Candidate } from "../../lib/adoption/candidate.ts";
import type { ProcessOutcome, RunProcess } from "../../lib/core/process.ts";
import { systemClock } from "../../lib/host/clock.ts";
import { systemDirectories } from "../../lib/host/directories.ts";
import { systemFiles } from "../../lib/host/files.ts";
import { runProcess } from "../../lib/host/process.ts";
import { candidate } from "../../lib/testing/adoption_rig.ts";
import { tempDir } from "../../lib/testing/temp_dir.ts";

const NIX_CONFIG = "build-users-group =\nsandbox = false\nexperimental-features = nix-command\n";

/** What a closure does when it is switched to, and what of it a boot brings in. */
export interface ClosureAsk {
  readonly name: string;
  readonly kernel?: string;
  /** Exit code of `test`; of `boot` when `bootExit` does not say. */
  readonly exit?: number;
  readonly bootExit?: number;
  /** Kills itself instead of exiting. */
  readonly signal?: boolean;
  /** Seconds before it does anything. */
  readonly sleep?: number;
  readonly inhibitors?: string;
}

/** One transient unit of the stand-in. */
interface FakeUnit {
  state: "activating" | "active" | "failed";
  code: number | null;
  signal: boolean;
}

/** Systemd as far as a backend asks it. Units go on when the process that began them is gone. */
export class FakeSystemd {
  readonly units = new Map<string, FakeUnit>();
  readonly started: string[] = [];
  readonly running: Promise<unknown>[] = [];
  /** While true, systemctl does not answer. */
  mute = false;

  readonly run: RunProcess = async (ask) => {
    const [program, ...args] = ask.argv;
    if (program === "cat") return said("00000000-0000-4000-8000-000000000001\n");
    if (program === "systemd-run") return await this.#start(args);
    if (program !== "systemctl") return await runProcess(ask);
    if (this.mute) return failed(1);
    const unit = args.at(-1) ?? "";
    switch (args[0]) {
      case "show":
        return said(this.#show(unit));
      case "stop":
      case "reset-failed":
        this.units.delete(unit);
        return said("");
      default:
        return failed(1);
    }
  };

  async #start(args: readonly string[]): Promise<ProcessOutcome> {
    const argv = args.slice(args.indexOf("--") + 1) as [string, ...string[]];
    const bounds = { argv, env: { PATH: "/usr/bin:/bin" }, deadlineMs: 60_000 };
    if (args.includes("--pipe")) return await runProcess({ ...bounds, maxOutputBytes: 65_536 });
    const name = args.find((one) => one.startsWith("--unit="))?.slice("--unit=".length) ?? "";
    if (this.units.has(name)) return failed(1);
    this.started.push(name);
    const unit: FakeUnit = { state: "activating", code: null, signal: false };
    this.units.set(name, unit);
    this.running.push(
      runProcess({ ...bounds, maxOutputBytes: 65_536 }).then((ended) => {
        unit.signal = ended.kind === "signalled";
        unit.code = ended.kind === "exited" ? ended.code : null;
        unit.state = unit.code === 0 ? "active" : "failed";
      }),
    );
    return said("");
  }

  #show(name: string): string {
    const unit = this.units.get(name);
    if (unit === undefined) return "LoadState=not-found\nActiveState=inactive\n";
    return [
      "LoadState=loaded",
      `ActiveState=${unit.state}`,
      `Result=${unit.state === "failed" ? "exit-code" : "success"}`,
      `ExecMainCode=${unit.state === "activating" ? 0 : unit.signal ? 2 : 1}`,
      `ExecMainStatus=${unit.signal ? 9 : unit.code ?? 0}`,
    ].join("\n");
  }
}

function said(text: string): ProcessOutcome {
  const stdout = new TextEncoder().encode(text);
  return { kind: "exited", code: 0, stdout, stderr: new Uint8Array(0) };
}

function failed(code: number): ProcessOutcome {
  return { kind: "exited", code, stdout: new Uint8Array(0), stderr: new Uint8Array(0) };
}

/** The rig. Everything it puts into the store is taken out again. */
export async function nixosRig() {
  const dir = await tempDir();
  const env = {
    PATH: "/usr/bin:/bin",
    HOME: dir.path,
    NIX_CONFIG: `${NIX_CONFIG}substituters =\n`,
  };
  const nix = async (...argv: [string, ...string[]]): Promise<string> => {
    const bounds = { env, deadlineMs: 60_000, maxOutputBytes: 1 << 20 };
    const ended = await runProcess({ argv, ...bounds });
    if (ended.kind !== "exited" || ended.code !== 0) {
      const why = ended.kind === "failed_to_start"
        ? ended.code
        : new TextDecoder().decode(ended.stderr);
      throw new Error(`${argv.join(" ")}: ${why}`);
    }
    return new TextDecoder().decode(ended.stdout).trim();
  };
  const unique = crypto.randomUUID().slice(0, 8);
  await nix("nix-store", "--generate-binary-cache-key", `t-${unique}`, dir.at("sk"), dir.at("pk"));
  await nix(
    "nix-store",
    "--generate-binary-cache-key",
    `u-${unique}`,
    dir.at("sk2"),
    dir.at("pk2"),
  );
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (ask) => {
    const path = new URL(ask.url).pathname;
    const bytes = await Deno.readFile(`${dir.at("cache")}${path}`).catch(() => null);
    return bytes === null ? new Response(null, { status: 404 }) : new Response(bytes);
  });
  const systemd = new FakeSystemd();
  const made: string[] = [];
  let down = false;
  let boots = 1;
  const stop = async () => {
    if (!down) await server.shutdown();
    down = true;
  };
  for (const name of ["cache", "roots", "profiles"]) await Deno.mkdir(dir.at(name));
  const backend = (key = "pk"): Backend =>
    nixosBackend({
      nix: {
        run: systemd.run,
        substituters: [`http://127.0.0.1:${server.addr.port}`],
        trustedKeys: [Deno.readTextFileSync(dir.at(key)).trim()],
        nixConfig: NIX_CONFIG,
        home: dir.path,
      },
      files: systemFiles,
      directories: systemDirectories,
      clock: systemClock,
      bootId: () => Promise.resolve(`boot-${boots}`),
      profile: dir.at("profiles/system"),
      currentLink: dir.at("current-system"),
      bootedLink: dir.at("booted-system"),
      roots: dir.at("roots"),
      verifyMs: 60_000,
    });
  /** Builds a closure, signs it into the cache, and takes it out of the store unless `keep`. */
  const closure = async (ask: ClosureAsk, keep = false): Promise<Candidate> => {
    const file = dir.at(`${ask.name}.nix`);
    await Deno.writeTextFile(file, expression(ask, unique, dir.path));
    const path = await nix("nix-build", file, "--no-out-link");
    made.push(path);
    const cache = `file://${dir.at("cache")}?secret-key=${dir.at("sk")}&compression=none`;
    await nix("nix", "copy", "--to", cache, path);
    const info = JSON.parse(await nix("nix", "path-info", "--json", path)) as { narHash: string }[];
    if (!keep) await nix("nix-store", "--delete", path);
    const hash = info[0]?.narHash ?? "";
    return candidate(path, { backend: "nixos", hash, size: 1000, rev: ask.name });
  };
  return {
    dir,
    systemd,
    backend,
    closure,
    nix,
    stop,
    /** Makes `path` what runs, was booted and is selected. */
    boot: async (path: string) => {
      for (const link of ["current-system", "booted-system"]) {
        await Deno.remove(dir.at(link)).catch(() => {});
        await Deno.symlink(path, dir.at(link));
      }
      await Deno.remove(dir.at("boot-default")).catch(() => {});
      await Deno.symlink(path, dir.at("boot-default"));
      await nix("nix-env", "-p", dir.at("profiles/system"), "--set", path);
    },
    /** Power off and on: what the boot loader was told last runs, and no unit is left. */
    powerCycle: async () => {
      boots++;
      systemd.units.clear();
      const next = await Deno.realPath(dir.at("boot-default"));
      for (const link of ["current-system", "booted-system"]) {
        await Deno.remove(dir.at(link));
        await Deno.symlink(next, dir.at(link));
      }
    },
    link: (name: string) => Deno.realPath(dir.at(name)).catch(() => null),
    [Symbol.asyncDispose]: async () => {
      await Promise.all(systemd.running);
      await stop();
      await dir[Symbol.asyncDispose]();
      for (const path of made) {
        await nix("nix-store", "--delete", path, "--ignore-liveness").catch(() => {});
      }
    },
  };
}

/** A small derivation with everything a system has that a backend looks at. */
function expression(ask: ClosureAsk, unique: string, state: string): string {
  const { name, kernel = "k1", exit = 0, bootExit = 0, signal = false, sleep = 0, inhibitors } =
    ask;
  const switcher = `#!/bin/sh
sleep ${sleep}
case "$1" in
dry-activate)
  echo "would restart the following units: a.service, b.service" >&2
  echo "would start the following units: c.service" >&2
  exit ${exit} ;;
boot)
  test ${bootExit} -eq 0 && ln -sfn @out@ ${state}/boot-default
  exit ${bootExit} ;;
test)
  ${signal ? "kill -9 $$" : ":"}
  case ${exit} in 0|2|4) ln -sfn @out@ ${state}/current-system ;; esac
  exit ${exit} ;;
esac
exit 64
`;
  const text = (value: string) => JSON.stringify(value).replaceAll("${", "\\${");
  return `derivation {
  name = "nixos-system-${name}-${unique}";
  system = builtins.currentSystem;
  builder = "/bin/sh";
  PATH = "/usr/bin:/bin";
  switcher = ${text(switcher)};
  passAsFile = [ "switcher" ];
  args = [ "-c" ''
    mkdir -p $out/bin
    sed "s|@out@|$out|g" $switcherPath > $out/bin/switch-to-configuration
    chmod +x $out/bin/switch-to-configuration
    for part in kernel initrd kernel-modules; do ln -s ${state}/${kernel}/$part $out/$part; done
    echo "quiet ${kernel}" > $out/kernel-params
    ${inhibitors === undefined ? "" : `echo "${inhibitors}" > $out/switch-inhibitors`}
  '' ];
}
`;
}

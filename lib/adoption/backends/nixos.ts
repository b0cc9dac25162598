/**
 * The backend of NixOS: the exact store path, the system profile, `switch-to-configuration`.
 *
 *     stage:  realise the path, hold it by a root -> check every byte
 *     launch: profile = path -> `test` in a unit of its own      (`boot` when only a boot helps)
 *     commit: `boot`: only what was judged good becomes what the boot loader takes
 *
 * | exit      | means                                   | so                            |
 * | --------- | --------------------------------------- | ----------------------------- |
 * | 0         | switched                                | probes                        |
 * | 2, 4      | switched, some units did not come up    | probes; it condemns nothing   |
 * | 11        | another activation is running           | defer, profile put back       |
 * | 1         | nothing switched                        | failed, profile put back      |
 * | 100       | cannot be switched to while running     | `boot`                        |
 * | any other, a signal, no answer | nobody knows       | inspect; never race           |
 *
 * @module
 */

import type { Clock } from "../../core/clock.ts";
import type { Directories } from "../../core/directories.ts";
import type { Files } from "../../core/files.ts";
import { type Refusal, refuse } from "../../core/refusal.ts";
import {
  type Backend,
  type Facts,
  type Impact,
  type Inspection,
  type Launch,
  type LaunchAsk,
  type StageFault,
  stageFault,
} from "../backend.ts";
import type { Candidate } from "../candidate.ts";
import {
  bootParts,
  differing,
  inhibitorsDiffer,
  readDryRun,
  resolveLinks,
} from "./nixos_impact.ts";
import { callNix, checkClosure, isPresent, type NixParts, realise } from "./nix_store.ts";
import { endOf } from "./supervisor.ts";
import { forgetUnit, runUnit, type UnitEnd, unitEnd } from "./switch_unit.ts";

/** What it needs. */
export interface NixosParts {
  readonly nix: NixParts;
  readonly files: Files;
  readonly directories: Directories;
  readonly clock: Clock;
  readonly bootId: () => Promise<string | Refusal>;
  /** `/nix/var/nix/profiles/system`. */
  readonly profile: string;
  /** `/run/current-system` and `/run/booted-system`. */
  readonly currentLink: string;
  readonly bootedLink: string;
  /** Folder of the roots that hold what is staged. */
  readonly roots: string;
  readonly verifyMs: number;
}

const PROFILE_MS = 60_000;
const DRY_RUN_MS = 120_000;

/** The backend. */
export function nixosBackend(parts: NixosParts): Backend {
  const { nix } = parts;
  return {
    kind: "nixos",
    facts: () => facts(parts),
    missing: async (candidate) => {
      if (await isPresent(nix, candidate.id)) return 0;
      return candidate.size === 0 ? null : candidate.size;
    },
    stage: async ({ candidate, deadlineMs }) => {
      const folder = rootOf(parts, candidate.id);
      const made = await parts.directories.make(folder);
      if (made.kind === "refused") {
        return stageFault("environment", "stage_unwritable", made.detail);
      }
      const fault = await realise(nix, candidate.id, `${folder}/root`, deadlineMs) ??
        await checkClosure(nix, candidate.id, candidate, parts.verifyMs);
      return fault ?? { kind: "staged", path: candidate.id };
    },
    verify: (path, candidate) => verify(parts, path, candidate),
    impact: (path, pending) => impact(parts, path, pending),
    launch: (ask) => launch(parts, ask),
    inspect: (ask) => inspect(parts, ask),
    commit: (path) => commit(parts, path),
    collect: (keep) => collect(parts, keep),
    forget: async (attempt) => {
      for (const step of ["activate", "revert"] as const) {
        for (const action of ["test", "boot"] as const) {
          const unit = unitOf({ attempt, step }, action);
          if ((await unitEnd(nix.run, unit)).kind !== "absent") await forgetUnit(nix.run, unit);
        }
      }
    },
    reboot: async () => {
      const ended = await callNix(nix, ["systemctl", "reboot"], PROFILE_MS);
      return ended.kind === "exited" && ended.code === 0
        ? { kind: "ok" }
        : refuse("reboot_failed", `systemctl reboot: ${endOf(ended)}`);
    },
  };
}

async function facts(parts: NixosParts): Promise<Facts | Refusal> {
  const links = [parts.currentLink, parts.bootedLink, parts.profile];
  const resolved = await resolveLinks(parts.nix.run, links);
  if ("kind" in resolved) return resolved;
  const boot_id = await parts.bootId();
  if (typeof boot_id !== "string") return boot_id;
  // A link that leads nowhere stays what it was called.
  const [current, booted, selected] = resolved.paths.map((path, index) =>
    path === links[index] ? null : path
  );
  return {
    kind: "facts",
    current: current ?? null,
    booted: booted ?? null,
    selected: selected ?? null,
    boot_id,
  };
}

async function verify(
  parts: NixosParts,
  path: string,
  candidate: Candidate | null,
): Promise<{ readonly kind: "ok" } | StageFault> {
  const fault = await checkClosure(parts.nix, path, candidate, parts.verifyMs);
  return fault ?? { kind: "ok" };
}

async function impact(
  parts: NixosParts,
  path: string,
  pending: string | null,
): Promise<Impact | Refusal> {
  const { nix, files } = parts;
  const now = await facts(parts);
  if (now.kind === "refused") return now;
  if (now.booted === null || now.current === null) {
    return refuse("impact_unknown", "it cannot be told what was booted, or what runs");
  }
  const booted = await bootParts(nix.run, files, now.booted);
  if ("kind" in booted) return booted as Refusal;
  const next = await bootParts(nix.run, files, path);
  if ("kind" in next) return next as Refusal;
  const inhibited = await inhibitorsDiffer(files, now.current, path);
  if (typeof inhibited !== "boolean") return inhibited;
  const boot_parts = [...differing(booted, next), ...(inhibited ? ["switch-inhibitors"] : [])];
  let waits = false;
  if (pending !== null && !inhibited) {
    const installed = await bootParts(nix.run, files, pending);
    waits = !("kind" in installed) && differing(installed, next).length === 0;
  }
  const dry = await callNix(
    nix,
    [
      ...["systemd-run", "--quiet", "--wait", "--pipe", "--collect", "--no-ask-password"] as const,
      "--",
      `${path}/bin/switch-to-configuration`,
      "dry-activate",
    ],
    DRY_RUN_MS,
  );
  if (dry.kind !== "exited") return refuse("impact_unknown", `dry-activate: ${endOf(dry)}`);
  // 100 and others: it says what it can; whether it can be switched to is not for a dry run.
  const said = new TextDecoder().decode(dry.stdout) + new TextDecoder().decode(dry.stderr);
  return {
    mode: boot_parts.length > 0 && !waits ? "boot" : "switch",
    boot_parts,
    ...readDryRun(said),
    added: 0,
    removed: 0,
    changed: 0,
  };
}

async function launch(parts: NixosParts, ask: LaunchAsk): Promise<Launch> {
  const { path, mode } = ask;
  const unit = unitOf(ask, mode === "boot" ? "boot" : "test");
  const known = await unitEnd(parts.nix.run, unit);
  if (known.kind === "unknown") {
    return { kind: "unknown", code: "launch_unknown", detail: known.detail };
  }
  if (known.kind === "absent") {
    const selected = await select(parts, path);
    if (selected !== null) {
      await select(parts, ask.previous);
      return {
        kind: "nothing",
        class: "environment",
        code: "profile_unwritable",
        detail: selected,
      };
    }
  }
  const end = await runUnit(
    parts.nix.run,
    parts.clock,
    unit,
    [`${path}/bin/switch-to-configuration`, mode === "boot" ? "boot" : "test"],
    ask.deadlineMs,
  );
  return await ended(parts, ask, mode, end);
}

/** What an ended unit means; puts the profile back where nothing came of it. */
async function ended(
  parts: NixosParts,
  ask: LaunchAsk,
  mode: "switch" | "boot",
  end: UnitEnd,
): Promise<Launch> {
  const nothing = async (cls: "candidate" | "environment", code: string, detail: string) => {
    const back = await select(parts, ask.previous);
    return back === null
      ? { kind: "nothing", class: cls, code, detail } as const
      : { kind: "unknown", code: "profile_unwritable", detail: `${detail}; ${back}` } as const;
  };
  if (end.kind === "running") {
    return { kind: "unknown", code: "launch_timed_out", detail: "it is still at work" };
  }
  if (end.kind === "signalled") {
    return { kind: "unknown", code: "launch_signalled", detail: end.detail };
  }
  if (end.kind !== "exited") {
    const detail = end.kind === "absent" ? "its unit is gone" : end.detail;
    return { kind: "unknown", code: "launch_unknown", detail };
  }
  const detail = `switch-to-configuration exited with ${end.code}`;
  switch (end.code) {
    case 0:
      return mode === "boot"
        ? { kind: "installed", detail }
        : { kind: "switched", degraded: false, detail };
    case 2:
    case 4:
      return mode === "boot"
        ? await nothing("candidate", "boot_install_failed", detail)
        : { kind: "switched", degraded: true, detail };
    case 11: {
      const back = await select(parts, ask.previous);
      return back === null
        ? { kind: "elsewhere", detail: "another activation is running" }
        : { kind: "unknown", code: "profile_unwritable", detail: back };
    }
    case 1:
      return await nothing("candidate", "switch_failed", detail);
    case 100:
      return mode === "boot"
        ? await nothing("candidate", "boot_install_failed", detail)
        : await launch(parts, { ...ask, mode: "boot" });
    default:
      return { kind: "unknown", code: "launch_exit_unknown", detail };
  }
}

async function inspect(parts: NixosParts, ask: LaunchAsk): Promise<Inspection> {
  const { run } = parts.nix;
  const first = await unitEnd(run, unitOf(ask, ask.mode === "boot" ? "boot" : "test"));
  if (first.kind === "running") return { kind: "running", detail: "its unit is at work" };
  if (first.kind === "unknown") return { kind: "unknown", detail: first.detail };
  if (first.kind === "absent") {
    const now = await facts(parts);
    if (now.kind === "refused") return { kind: "unknown", detail: now.detail };
    return now.current !== ask.path && now.selected !== ask.path
      ? { kind: "never_started" }
      : { kind: "unknown", detail: "there is no trace of its unit" };
  }
  // A switch that said 100 goes on as `boot`, in a unit of its own: whoever began that may be gone.
  if (first.kind === "exited" && first.code === 100 && ask.mode === "switch") {
    const second = await unitEnd(run, unitOf(ask, "boot"));
    if (second.kind === "running") return { kind: "running", detail: "its unit is at work" };
    if (second.kind === "absent") return { kind: "half" };
    return { kind: "ended", launch: await ended(parts, ask, "boot", second) };
  }
  return { kind: "ended", launch: await ended(parts, ask, ask.mode, first) };
}

async function commit(
  parts: NixosParts,
  path: string,
): Promise<{ readonly kind: "ok" } | Refusal> {
  const { run } = parts.nix;
  const unit = `anvil-commit-${path.slice("/nix/store/".length, "/nix/store/".length + 32)}`;
  await forgetUnit(run, unit); // an earlier life may have begun it: installing twice is harmless
  const selected = await select(parts, path);
  if (selected !== null) return refuse("commit_failed", selected);
  const argv = [`${path}/bin/switch-to-configuration`, "boot"] as const;
  const end = await runUnit(run, parts.clock, unit, argv, DRY_RUN_MS);
  await forgetUnit(run, unit);
  return end.kind === "exited" && end.code === 0 ? { kind: "ok" } : refuse(
    "commit_failed",
    `the boot loader was not told: ${end.kind === "exited" ? `exit ${end.code}` : end.kind}`,
    "run `switch-to-configuration boot` of the running system by hand",
  );
}

/** Makes `path` the newest of the profile; null when it is, else why not. */
async function select(parts: NixosParts, path: string | null): Promise<string | null> {
  if (path === null) return null;
  const now = await resolveLinks(parts.nix.run, [parts.profile]);
  if (!("kind" in now) && now.paths[0] === path) return null;
  const ended = await callNix(
    parts.nix,
    ["nix-env", "-p", parts.profile, "--set", path],
    PROFILE_MS,
  );
  if (ended.kind === "exited" && ended.code === 0) return null;
  return `nix-env --set: ${endOf(ended)}`;
}

/** Lets go of what was staged and is not to be kept; generations of the profile are the owner's. */
async function collect(
  parts: NixosParts,
  keep: readonly string[],
): Promise<{ readonly kind: "ok"; readonly removed: number } | Refusal> {
  const list = await parts.directories.list(parts.roots, 10_000);
  if (list.kind === "refused") return refuse("collect_failed", list.detail);
  const now = await facts(parts);
  if (now.kind === "refused") return now;
  const kept = [...keep, now.current, now.booted, now.selected]
    .filter((path) => path !== null).map((path) => rootName(path));
  let removed = 0;
  for (const { name, kind } of list.kind === "ok" ? list.entries : []) {
    if (kind !== "directory" || kept.includes(name)) continue;
    const gone = await parts.directories.remove(`${parts.roots}/${name}`);
    if (gone.kind === "refused") return refuse("collect_failed", gone.detail);
    removed++;
  }
  return { kind: "ok", removed };
}

function rootName(path: string): string {
  return path.split("/").at(-1) ?? path;
}

function rootOf(parts: NixosParts, path: string): string {
  return `${parts.roots}/${rootName(path)}`;
}

function unitOf(
  { attempt, step }: Pick<LaunchAsk, "attempt" | "step">,
  action: "test" | "boot",
): string {
  return `anvil-adopt-${attempt}-${step}-${action}.service`;
}

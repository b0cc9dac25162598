/**
 * A backend of generations that exist only in a test, on a world that outlives the process.
 *
 * Two ways to die in the middle of a launch: `by_itself` as a transient unit does, which goes on when
 * we are gone; `half` as a program does that moves a pointer and then restarts units.
 *
 * @module
 */

import type {
  Backend,
  Facts,
  Impact,
  Inspection,
  Launch,
  LaunchAsk,
  StageAsk,
  StageOutcome,
} from "../adoption/backend.ts";
import { stageFault } from "../adoption/backend.ts";
import type { BackendKind, Candidate } from "../adoption/candidate.ts";
import { type Refusal, refuse } from "../core/refusal.ts";
import type { FakeDisk } from "./fake_disk.ts";

/** How dying in the middle of a launch looks. */
export type LaunchStyle = "by_itself" | "half";

/** One generation. */
export interface FakeGeneration {
  whole: boolean;
  /** Stands for kernel, initrd and so on. */
  readonly kernel: string;
  /** What launching it does; default: it switches. */
  readonly launch?: Launch["kind"] | "degraded" | "hangs";
}

/** What outlives the process: the machine. */
export class FakeWorld {
  current: string | null = "old";
  booted: string | null = "old";
  selected: string | null = "old";
  /** What the boot loader takes. */
  bootDefault = "old";
  boot = 0;
  readonly generations = new Map<string, FakeGeneration>([["old", { whole: true, kernel: "k1" }]]);
  readonly launches = new Map<string, { ask: LaunchAsk; state: "running" | "half" | Launch }>();
  readonly collected: string[] = [];
  /** What the boot loader was told to take after a verdict. */
  readonly commits: string[] = [];
  /** How often launching really changed something, by step and path. */
  readonly switches: string[] = [];
  reboots = 0;
  /** How often `inspect` says that a hanging launch is at work before it ends. */
  patience = 2;
  /** What a way back comes to. */
  revert: Launch["kind"] = "switched";
  /** Says no to everything that asks what is so. */
  blind = false;

  /** Power goes and comes back: units are gone, the boot loader decides. */
  powerCycle(): void {
    this.boot++;
    this.launches.clear();
    this.current = this.bootDefault;
    this.booted = this.bootDefault;
  }
}

/** The port, on `world`; `disk` deals out death. */
export class FakeBackend implements Backend {
  readonly kind: BackendKind;
  readonly #world: FakeWorld;
  readonly #disk: FakeDisk;
  readonly #style: LaunchStyle;

  constructor(world: FakeWorld, disk: FakeDisk, style: LaunchStyle) {
    this.kind = style === "half" ? "bundle" : "nixos";
    this.#world = world;
    this.#disk = disk;
    this.#style = style;
  }

  facts(): Promise<Facts | Refusal> {
    const { blind, current, booted, selected, boot } = this.#world;
    if (blind) return Promise.resolve(refuse("facts_unknown", "the fake world is blind"));
    return Promise.resolve({ kind: "facts", current, booted, selected, boot_id: `boot-${boot}` });
  }

  missing(candidate: Candidate): Promise<number | null> {
    return Promise.resolve(this.#world.generations.has(candidate.id) ? 0 : candidate.size);
  }

  stage({ candidate }: StageAsk): Promise<StageOutcome> {
    return this.#disk.effect((): StageOutcome => {
      const there = this.#world.generations.get(candidate.id);
      if (there === undefined) {
        this.#world.generations.set(candidate.id, { whole: true, kernel: "k1" });
      } else if (!there.whole) {
        return stageFault("integrity", "bytes_differ", "not what was signed");
      }
      return { kind: "staged", path: candidate.id };
    });
  }

  verify(path: string): Promise<{ readonly kind: "ok" } | ReturnType<typeof stageFault>> {
    const there = this.#world.generations.get(path);
    if (there === undefined) {
      return Promise.resolve(stageFault("environment", "generation_absent", "it is not here"));
    }
    return Promise.resolve(
      there.whole ? { kind: "ok" } : stageFault("integrity", "bytes_differ", "not what was signed"),
    );
  }

  impact(path: string, pending: string | null): Promise<Impact | Refusal> {
    const kernel = (one: string | null) => this.#world.generations.get(one ?? "")?.kernel;
    const differs = kernel(path) !== kernel(this.#world.booted);
    const waits = pending !== null && kernel(pending) === kernel(path);
    return Promise.resolve({
      mode: differs && !waits ? "boot" : "switch",
      boot_parts: differs ? ["kernel"] : [],
      stop: [],
      restart: ["thing.service"],
      reload: [],
      start: [],
      skipped: [],
      added: 0,
      removed: 0,
      changed: 0,
    });
  }

  async launch(ask: LaunchAsk): Promise<Launch> {
    const world = this.#world;
    const key = keyOf(ask);
    this.#disk.moment();
    const known = world.launches.get(key)?.state;
    if (typeof known === "object") return known;
    if (this.#style === "by_itself") {
      const hangs = world.generations.get(ask.path)?.launch === "hangs";
      world.launches.set(key, { ask, state: hangs ? "running" : this.#outcome(ask) });
      this.#disk.moment();
      return hangs
        ? { kind: "unknown", code: "launch_timed_out", detail: "no answer by the deadline" }
        : world.launches.get(key)?.state as Launch;
    }
    world.launches.set(key, { ask, state: "half" });
    if (this.#plan(ask) === "switched") world.selected = ask.path;
    this.#disk.moment();
    const launch = this.#outcome(ask);
    world.launches.set(key, { ask, state: launch });
    this.#disk.moment();
    return await Promise.resolve(launch);
  }

  #plan({ path, step }: LaunchAsk): Launch["kind"] | "degraded" | "hangs" {
    if (step === "revert" && path === "old") return this.#world.revert;
    return this.#world.generations.get(path)?.launch ?? "switched";
  }

  /** What the activation does, all of it. */
  #outcome(ask: LaunchAsk): Launch {
    const world = this.#world;
    const { path, step, mode } = ask;
    const plan = this.#plan(ask);
    switch (plan) {
      case "elsewhere":
        return { kind: "elsewhere", detail: "another activation runs" };
      case "nothing":
        return { kind: "nothing", class: "candidate", code: "switch_failed", detail: "exit 1" };
      case "unknown":
        return { kind: "unknown", code: "launch_signalled", detail: "it was killed" };
      default:
        break;
    }
    world.selected = path;
    world.switches.push(`${step} ${path}`);
    if (mode === "boot" || plan === "installed") {
      world.bootDefault = path;
      return { kind: "installed", detail: "the next boot takes it" };
    }
    world.current = path;
    return { kind: "switched", degraded: plan === "degraded", detail: "" };
  }

  inspect(ask: LaunchAsk): Promise<Inspection> {
    const world = this.#world;
    const known = world.launches.get(keyOf(ask));
    if (known === undefined) {
      // After a boot no unit is left: what runs and what is selected is all there is to see.
      const untouched = world.current !== ask.path && world.selected !== ask.path;
      return Promise.resolve(
        untouched ? { kind: "never_started" } : { kind: "unknown", detail: "no trace of it" },
      );
    }
    if (known.state === "half") return Promise.resolve({ kind: "half" });
    if (known.state !== "running") return Promise.resolve({ kind: "ended", launch: known.state });
    if (world.patience-- > 0) return Promise.resolve({ kind: "running", detail: "at work" });
    const state = this.#outcome(known.ask);
    world.launches.set(keyOf(ask), { ask, state });
    return Promise.resolve({ kind: "ended", launch: state });
  }

  commit(path: string): Promise<{ readonly kind: "ok" } | Refusal> {
    return this.#disk.effect(() => {
      this.#world.bootDefault = path;
      this.#world.commits.push(path);
      return { kind: "ok" as const };
    });
  }

  collect(
    keep: readonly string[],
  ): Promise<{ readonly kind: "ok"; readonly removed: number } | Refusal> {
    return this.#disk.effect(() => {
      const { generations, current, booted, selected, collected } = this.#world;
      let removed = 0;
      for (const path of [...generations.keys()]) {
        if ([...keep, current, booted, selected].includes(path)) continue;
        generations.delete(path);
        collected.push(path);
        removed++;
      }
      return { kind: "ok" as const, removed };
    });
  }

  forget(): Promise<void> {
    return Promise.resolve();
  }

  reboot(): Promise<{ readonly kind: "ok" } | Refusal> {
    this.#world.reboots++;
    return Promise.resolve({ kind: "ok" });
  }
}

function keyOf({ attempt, step }: LaunchAsk): string {
  return `${attempt} ${step}`;
}

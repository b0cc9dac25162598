/**
 * A host in memory: processes, ports, memory and engines, and a driver that runs serves on it. It
 * outlives the death of whoever drives it, as a real host does.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import { refuse } from "../core/refusal.ts";
import type {
  Driver,
  Exit,
  Instance,
  Leftover,
  Occupant,
  ResolveFault,
  ServeState,
  Unknown,
} from "../serves/driver.ts";
import { claimOf, type Serve, servedModel } from "../serves/manifest_shape.ts";
import type { DeviceUse, MemoryFacts } from "../serves/budget.ts";
import type { ListenerFact } from "../serves/os_facts.ts";
import type { Probe } from "../serves/probe.ts";

/** What the engine of a serve does in a test. */
export interface Course {
  /** Milliseconds until it is healthy; null: never. Default 0. */
  readonly healthyAfterMs?: number | null;
  /** It ends by itself after so many milliseconds. */
  readonly diesAfterMs?: number;
  readonly exitCode?: number;
  /** What it says it serves; default: what is declared. */
  readonly serves?: string;
  readonly ignoresTerm?: boolean;
  /** Children that outlive a stop. */
  readonly leavesChildren?: boolean;
  /** The port stays taken after its end. */
  readonly leaksPort?: boolean;
  /** What a start needs and does not find. */
  readonly missing?: ResolveFault;
  readonly refusesStart?: boolean;
  readonly lines?: readonly string[];
}

interface Life {
  readonly pid: number;
  readonly startedAt: number;
  readonly bornAt: number;
  readonly serve: Serve;
  readonly course: Course;
  stopping: boolean;
}

/** Performs one effect; a crash test dies before or after it. */
export type Effect = <T>(act: () => T | Promise<T>) => Promise<T>;

/** The host. */
export class SimulatedHost {
  /** By name of serve; an absent one is fine in every way. */
  readonly courses = new Map<string, Course>();
  /** What nobody declared and still holds memory. */
  readonly strangers: Occupant[] = [];
  /** While set, the runtime does not answer. */
  silent = false;
  /** Every start and stop that took place, as `start primary`. */
  readonly happened: string[] = [];
  readonly #clock: Clock;
  readonly #lives = new Map<string, Life>();
  readonly #exits = new Map<string, Exit>();
  readonly #leaked = new Map<string, Leftover>();
  #nextPid = 1000;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Runs `serve` as somebody else would, without its driver. */
  run(serve: Serve): void {
    const course = this.courses.get(serve.name) ?? {};
    const pid = this.#nextPid++;
    const startedAt = this.#clock.now();
    const bornAt = this.#clock.monotonic();
    this.#lives.set(serve.name, { pid, startedAt, bornAt, serve, course, stopping: false });
    this.#exits.delete(serve.name);
  }

  /** Ends it, as a crash of the engine does. */
  crash(name: string, exit: Partial<Exit> = {}): void {
    this.#lives.delete(name);
    this.#exits.set(name, {
      code: 1,
      signal: null,
      at: this.#clock.now(),
      outOfMemory: false,
      ...exit,
    });
  }

  /** What the programs that tell of memory would say now. Unified: `total` less what runs. */
  memory(total: number): MemoryFacts {
    const devices = new Map<string, DeviceUse>(
      ["gpu-0", "gpu-1"].map((id) => [id, { usedMib: 0, processes: [] }]),
    );
    let available = total;
    const add = (device: string, pid: number | null, mib: number) => {
      const { usedMib, processes } = devices.get(device) ?? { usedMib: 0, processes: [] };
      devices.set(device, {
        usedMib: usedMib + mib,
        processes: [...processes ?? [], ...(pid === null ? [] : [{ pid, mib }])],
      });
    };
    for (const name of this.running) {
      const life = this.#life(name);
      if (life === null) continue;
      const claim = claimOf(life.serve);
      if (claim.kind === "unified") available -= claim.mib;
      else claim.devices.forEach(({ device, mib }) => add(device, life.pid, mib));
    }
    for (const { devices: on, mib } of this.strangers) {
      if (on.length === 0) available -= mib ?? 0;
      on.forEach((device) => add(device, null, mib ?? 0));
    }
    return { devices, availableMib: available };
  }

  /** Who listens. */
  get listeners(): readonly ListenerFact[] {
    return this.running.flatMap((name) => {
      const life = this.#life(name);
      return life === null ? [] : [{ port: life.serve.port, pid: life.pid }];
    });
  }

  /** Names of what runs, sorted. */
  get running(): readonly string[] {
    return [...this.#lives.keys()].filter((name) => this.#life(name) !== null).sort();
  }

  /** Somebody else takes the port of `serve`, and keeps it. */
  leak(serve: Serve): void {
    this.#leaked.set(serve.name, { pids: [], portHeldBy: 1, portFree: false });
  }

  /** Frees what a leaking serve left. */
  clearLeak(name: string): void {
    this.#leaked.delete(name);
  }

  /** The probe port on this host. */
  readonly probe: Probe = (serve) => {
    const life = this.#life(serve.name);
    const after = life?.course.healthyAfterMs === undefined ? 0 : life.course.healthyAfterMs;
    if (life === null || after === null || this.#clock.monotonic() - life.bornAt < after) {
      return Promise.resolve({ kind: "not_ready", observed: "nobody listens" });
    }
    const expected = servedModel(serve);
    const observed = life.course.serves ?? servedModel(life.serve);
    return Promise.resolve(
      observed === expected ? { kind: "ready" } : { kind: "mismatch", expected, observed },
    );
  };

  /** A driver on this host. */
  driver(effect: Effect = async (act) => await act()): Driver {
    return {
      kind: "simulated",
      resolve: (serve) => Promise.resolve(this.#resolve(serve)),
      status: (serve) => Promise.resolve(this.#state(serve.name)),
      start: async (serve) => {
        const resolved = this.#resolve(serve);
        if (resolved.kind !== "ready") return resolved;
        const life = this.#life(serve.name);
        if (life !== null) return { kind: "already", instance: instanceOf(life) };
        if (this.courses.get(serve.name)?.refusesStart === true) {
          return refuse("start_refused", "the runtime said no");
        }
        await effect(() => {
          if (this.#life(serve.name) !== null) return;
          this.run(serve);
          this.happened.push(`start ${serve.name}`);
        });
        const state = this.#state(serve.name);
        if (state.kind === "running") return { kind: "started", instance: state.instance };
        return state.kind === "stopped" ? { kind: "died", exit: state.exit } : SILENT;
      },
      stop: async (serve, { force }) => {
        if (this.silent) return SILENT;
        const began = this.#clock.monotonic();
        const life = this.#life(serve.name);
        if (life !== null && (force || life.course.ignoresTerm !== true)) {
          await effect(() => {
            if (this.#life(serve.name) !== life) return;
            this.#end(life, force);
            this.happened.push(`${force ? "kill" : "stop"} ${serve.name}`);
          });
        } else if (life !== null) {
          await effect(() => {
            life.stopping = true;
            this.happened.push(`stop ${serve.name}`);
          });
          await this.#clock.sleep(serve.stop_grace_seconds * 1000);
          const left = { pids: [life.pid], portHeldBy: life.pid, portFree: false };
          return { kind: "still_there", left, detail: "it did not end in its grace" };
        }
        if (force && this.#leaked.get(serve.name)?.pids.length !== 0) this.clearLeak(serve.name);
        const left = this.#leaked.get(serve.name);
        if (left !== undefined) {
          return { kind: "still_there", left, detail: "something of it is left" };
        }
        const claim = claimOf(serve);
        const returnedMib = life !== null && claim.kind === "unified" ? claim.mib : null;
        const tookMs = this.#clock.monotonic() - began;
        const proof = { processes: 0, portFree: true, returnedMib, tookMs } as const;
        return { kind: "stopped", was: life === null ? "stopped" : "running", proof };
      },
      logs: (serve, bounds) => {
        if (this.silent) return Promise.resolve(SILENT);
        const lines = this.courses.get(serve.name)?.lines ?? [];
        const kept = lines.slice(-bounds.lines);
        return Promise.resolve({
          kind: "logs",
          lines: kept,
          truncated: kept.length < lines.length,
        });
      },
      identity: (serve) => {
        if (this.silent) return Promise.resolve(SILENT);
        const life = this.#life(serve.name);
        return Promise.resolve(
          life === null
            ? { kind: "absent" }
            : { kind: "proven", instance: instanceOf(life), port: serve.port },
        );
      },
      occupants: (serves) => {
        if (this.silent) return Promise.resolve(SILENT);
        const ours = serves.flatMap((serve): Occupant[] => {
          const life = this.#life(serve.name);
          return life === null ? [] : [occupantOf(life)];
        });
        return Promise.resolve({ kind: "seen", occupants: [...ours, ...this.strangers] });
      },
    };
  }

  #resolve(serve: Serve) {
    if (this.silent) return SILENT;
    const missing = this.courses.get(serve.name)?.missing;
    return missing === undefined
      ? { kind: "ready" } as const
      : refuse(missing, "the simulated host lacks it");
  }

  #state(name: string): ServeState {
    if (this.silent) return SILENT;
    const life = this.#life(name);
    if (life === null) return { kind: "stopped", exit: this.#exits.get(name) ?? null };
    return { kind: life.stopping ? "stopping" : "running", instance: instanceOf(life) };
  }

  /** What lives under a name now: a life that was to end by itself has. */
  #life(name: string): Life | null {
    const life = this.#lives.get(name);
    if (life === undefined) return null;
    const { diesAfterMs, exitCode = 1 } = life.course;
    if (diesAfterMs !== undefined && this.#clock.monotonic() - life.bornAt >= diesAfterMs) {
      this.crash(name, { code: exitCode });
      return null;
    }
    return life;
  }

  #end(life: Life, force: boolean): void {
    const { name } = life.serve;
    this.crash(name, force ? { code: null, signal: "SIGKILL" } : { code: 0 });
    const { leavesChildren = false, leaksPort = false } = life.course;
    if (force || !(leavesChildren || leaksPort) || this.#leaked.has(name)) return;
    this.#leaked.set(name, {
      pids: leavesChildren ? [life.pid + 100_000] : [],
      portHeldBy: leaksPort ? life.pid + 100_000 : null,
      portFree: !leaksPort,
    });
  }
}

const SILENT: Unknown = {
  kind: "unknown",
  code: "runtime_silent",
  detail: "the simulated runtime does not answer",
};

function instanceOf({ pid, startedAt, serve }: Life): Instance {
  const claim = claimOf(serve);
  return {
    id: `${pid}@${startedAt}`,
    pid,
    startedAt,
    residentMib: claim.kind === "unified" ? claim.mib : null,
    commandLine: serve.runtime === "native" ? serve.argv.join(" ") : null,
    imageDigest: serve.runtime === "docker"
      ? serve.image.slice(serve.image.indexOf("sha256:"))
      : null,
  };
}

function occupantOf({ serve, pid }: Life): Occupant {
  const claim = claimOf(serve);
  const { name } = serve;
  return claim.kind === "unified"
    ? { serve: name, label: name, devices: [], pids: [pid], mib: claim.mib }
    : {
      serve: name,
      label: name,
      devices: claim.devices.map((one) => one.device),
      pids: [pid],
      mib: 0,
    };
}

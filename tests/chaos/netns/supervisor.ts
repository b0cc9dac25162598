/**
 * The supervisor of one host: it starts and stops real processes in the host's namespace and outlives
 * whoever asks it, as systemd does. `systemctl` on the host is a script that asks it.
 *
 *     systemctl ─ unix socket ─> order ─> one after the other per unit ─> spawn | SIGTERM
 *
 * @module
 */

import type { Life, OrderFact } from "../facts.ts";
import { elapsed } from "../time.ts";
import { killNow } from "./run.ts";

/** A unit. */
export interface Unit {
  /** As `anvil-gpu-a-router.service`. */
  readonly name: string;
  readonly program: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** SIGTERM waits so long before it gives up, in seconds. */
  readonly graceSeconds: number;
  /** Of an engine: what it serves, and what is expected of it. */
  readonly model: string | null;
}

interface Running {
  readonly child: Deno.ChildProcess;
  readonly life: { -readonly [key in keyof Life]: Life[key] };
  readonly ended: Promise<void>;
}

interface Slot {
  readonly unit: Unit;
  running: Running | null;
  /** What an operator, or the boot, wants. */
  wanted: boolean;
  turn: Promise<unknown>;
  invocation: number;
}

/** One host's. */
export class Supervisor {
  readonly lives: Life[] = [];
  readonly orders: OrderFact[] = [];
  readonly host: string;
  readonly #folder: string;
  readonly #cgroup: string;
  readonly #slots = new Map<string, Slot>();
  readonly #restarted: (unit: string) => Promise<void>;
  #held = false;

  /** `restarted` does what a restart of a unit without a process means. */
  constructor(
    host: string,
    folder: string,
    cgroup: string,
    units: readonly Unit[],
    restarted: (unit: string) => Promise<void>,
  ) {
    this.host = host;
    this.#folder = folder;
    this.#cgroup = cgroup;
    this.#restarted = restarted;
    for (const unit of units) {
      const slot = { unit, running: null, wanted: false, turn: Promise.resolve(), invocation: 0 };
      this.#slots.set(unit.name, slot);
    }
  }

  /** Whether the program of `unit` runs. */
  runs(unit: string): boolean {
    return this.#slot(unit).running !== null;
  }

  pid(unit: string): number | null {
    return this.#slot(unit).running?.child.pid ?? null;
  }

  /** Starts it, with another model when one is given. */
  async start(unit: string, model?: string): Promise<void> {
    const slot = this.#slot(unit);
    slot.wanted = true;
    await this.#inTurn(slot, () => this.#spawn(slot, model ?? slot.unit.model));
  }

  /** SIGTERM, and waits; gives up after its grace. */
  async stop(unit: string): Promise<void> {
    const slot = this.#slot(unit);
    slot.wanted = false;
    await this.#inTurn(slot, () => this.#end(slot));
  }

  async restart(unit: string): Promise<void> {
    const slot = this.#slot(unit);
    slot.wanted = true;
    await this.#inTurn(slot, async () => {
      await this.#end(slot);
      this.#spawn(slot, slot.unit.model);
    });
  }

  /** kill -9, as no operator does; whether anything was there. */
  async kill(unit: string): Promise<boolean> {
    const { running } = this.#slot(unit);
    if (running === null) return false;
    killNow(running.child);
    await running.ended;
    return true;
  }

  /** Starts again what is wanted and does not run, or runs as something else. */
  async mend(unit: string): Promise<void> {
    const slot = this.#slot(unit);
    if (!slot.wanted || this.#held) return;
    await this.#inTurn(slot, async () => {
      if (!slot.wanted) return;
      if (slot.running !== null && slot.running.life.model !== slot.unit.model) {
        killNow(slot.running.child);
        await slot.running.ended;
      }
      this.#spawn(slot, slot.unit.model);
    });
  }

  /** Ends everything at once; nothing starts any more. */
  async close(): Promise<void> {
    this.#held = true;
    for (const { running } of this.#slots.values()) {
      if (running === null) continue;
      killNow(running.child);
      await running.ended;
    }
  }

  /** What `systemctl` was asked, and its answer; null: it fails. */
  async answer(words: readonly string[]): Promise<string | null> {
    const verb = words.find((word) => !word.startsWith("-")) ?? "";
    const units = words.filter((word) => word.endsWith(".service"));
    if (verb === "daemon-reload") return "";
    if (verb === "list-units") return "";
    if (verb === "show") return units.map((unit) => this.#shown(unit)).join("\n");
    for (const unit of units) {
      this.orders.push({ host: this.host, at: elapsed(), verb, unit });
      if (!this.#slots.has(unit)) {
        if (verb !== "restart") return null;
        await this.#restarted(unit);
        continue;
      }
      const late = words.includes("--no-block");
      const act = verb === "start"
        ? () => this.start(unit)
        : verb === "stop"
        ? () => this.stop(unit)
        : verb === "restart"
        ? () => this.restart(unit)
        : verb === "kill"
        ? () => this.kill(unit)
        : null;
      if (act === null) return null;
      const done = act();
      if (!late) await done;
    }
    return "";
  }

  #slot(unit: string): Slot {
    const slot = this.#slots.get(unit);
    if (slot === undefined) throw new Error(`${this.host} has no unit ${unit}`);
    return slot;
  }

  async #inTurn<T>(slot: Slot, act: () => T | Promise<T>): Promise<T> {
    const done = slot.turn.then(act);
    slot.turn = done.catch(() => {});
    return await done;
  }

  async #end(slot: Slot): Promise<void> {
    const { running } = slot;
    if (running === null) return;
    try {
      running.child.kill("SIGTERM");
    } catch {
      // It has just ended.
    }
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, slot.unit.graceSeconds * 1000);
    await Promise.race([running.ended, late.promise]);
    clearTimeout(timer);
  }

  #spawn(slot: Slot, model: string | null): void {
    if (slot.running !== null || this.#held) return;
    const { unit } = slot;
    const argv = unit.argv.map((word) => word === unit.model && model !== null ? model : word);
    const group = `${this.#cgroup}/${unit.name}`;
    Deno.mkdirSync(group, { recursive: true });
    const child = new Deno.Command("/bin/sh", {
      args: [
        "-c",
        // The group first: `ip` puts a fresh /sys over the one that has groups.
        'echo $$ >"$1/cgroup.procs"; log=$2; host=$3; sbin=$4; shift 4; exec >>"$log" 2>&1; ' +
        'exec ip netns exec "$host" /bin/sh -c ' +
        '\'mount --bind "$1" /usr/local/sbin && shift && exec "$@"\' sh "$sbin" "$@"',
        ...["sh", group, `${this.#folder}/logs/${unit.program}.log`],
        ...[this.host, `${this.#folder}/sbin`, ...argv],
      ],
      cwd: this.#folder,
      clearEnv: true,
      env: { ...unit.env },
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    const life = {
      host: this.host,
      program: unit.program,
      model,
      expected: unit.model,
      began: elapsed(),
      ended: null as number | null,
    };
    this.lives.push(life);
    slot.invocation++;
    const ended = child.status.then(() => {
      life.ended = elapsed();
      slot.running = null;
    });
    slot.running = { child, life, ended };
  }

  /** What `systemctl show` says. */
  #shown(name: string): string {
    const slot = this.#slots.get(name);
    if (slot === undefined) {
      const loaded = name === "thing.service";
      return `Id=${name}\nLoadState=${loaded ? "loaded" : "not-found"}\nNRestarts=0\n` +
        `ActiveState=${loaded ? "active" : "inactive"}\nSubState=exited\nMainPID=0\n`;
    }
    const { unit, running, invocation } = slot;
    const [path = ""] = unit.argv;
    return Object.entries({
      Id: name,
      LoadState: "loaded",
      ActiveState: running === null ? "inactive" : "active",
      SubState: running === null ? "dead" : "running",
      NRestarts: "0",
      MainPID: String(running?.child.pid ?? 0),
      InvocationID: running === null ? "" : invocation.toString(16).padStart(32, "0"),
      NeedDaemonReload: "no",
      ExecStart: `{ path=${path} ; argv[]=${unit.argv.join(" ")} ; ignore_errors=no ; ` +
        "start_time=[n/a] ; stop_time=[n/a] ; pid=0 ; code=(null) ; status=0/0 }",
      WorkingDirectory: this.#folder,
      EnvironmentFiles: "",
      TimeoutStopUSec: `${unit.graceSeconds}s`,
      SendSIGKILL: "no",
      KillMode: "control-group",
      Result: "success",
      ExecMainCode: "0",
      ExecMainStatus: "0",
      ExecMainExitTimestamp: "",
    }).map(([key, value]) => `${key}=${value}`).join("\n");
  }
}

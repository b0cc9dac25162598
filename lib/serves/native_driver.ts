/**
 * Serves under a supervisor of the operating system. Liveness, start, memory, port and argv are read
 * from the system when they are asked for; a stop is proven by what is no longer there.
 *
 *     ask the supervisor ─> wait the grace ─> no process of it left ─> port free ─> memory back
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import type { Files } from "../core/files.ts";
import { refuse } from "../core/refusal.ts";
import type {
  Driver,
  Instance,
  LogBounds,
  Logs,
  Occupancy,
  Occupant,
  Proof,
  Resolved,
  ServeState,
  Started,
  StopOrder,
  Stopped,
  Unknown,
} from "./driver.ts";
import { readEnv } from "./env_file.ts";
import type { NativeServe, Serve } from "./manifest_shape.ts";
import { notUnderstood, type OsFacts, type ProcessFact } from "./os_facts.ts";
import { portNow } from "./port_proof.ts";
import { proveStopped } from "./stop_proof.ts";
import type { SupervisorPort, UnitFact } from "./supervisor.ts";

/** What the driver needs. */
export interface NativeParts {
  readonly supervisor: SupervisorPort;
  readonly facts: OsFacts;
  readonly files: Files;
  readonly clock: Clock;
  /** True where memory is one: it is looked at whether it comes back. */
  readonly unified: boolean;
}

/** After a kill, in milliseconds. */
const KILL_PATIENCE_MS = 10_000;
const PAUSE_MS = 100;
/** A supervisor notices an early end within so many milliseconds. */
const SETTLE_MS = 200;

/** A unit, and its processes now. */
interface View {
  readonly kind: "view";
  readonly unit: UnitFact;
  readonly main: ProcessFact | null;
  readonly members: readonly ProcessFact[];
}

/** The driver. */
export class NativeDriver implements Driver {
  readonly #parts: NativeParts;

  constructor(parts: NativeParts) {
    this.#parts = parts;
  }

  get kind() {
    return this.#parts.supervisor.kind;
  }

  async resolve(serve: Serve, signal: AbortSignal): Promise<Resolved> {
    const native = nativeOnly(serve);
    const { supervisor, facts, files } = this.#parts;
    const env = await readEnv(files, native);
    if (env.kind === "refused") return env;
    const [program = ""] = native.argv;
    const paths = await facts.paths([program, native.cwd], signal);
    if (paths.kind === "unknown") return paths;
    if (paths.value.get(program) !== "program") {
      const next = "install it, or mend `argv`";
      return refuse("program_absent", `${serve.name}: the program of argv is not here`, next);
    }
    if (paths.value.get(native.cwd) !== "directory") {
      return refuse("path_absent", `${serve.name}: \`cwd\` is not a folder here`, "make it");
    }
    const seen = await supervisor.look(native, signal);
    if (seen.kind === "unknown") return seen;
    if (!seen.value.loaded) {
      const next = "install what `anvil-agent unit` prints, and let the supervisor read it";
      return refuse("unit_absent", `the supervisor knows no unit ${native.unit}`, next);
    }
    const [first] = seen.value.differences;
    if (first === undefined) return { kind: "ready" };
    const next = "install what `anvil-agent unit` prints, and let the supervisor read it";
    return refuse("unit_differs", `${native.unit} is not what is declared: ${first}`, next);
  }

  async start(serve: Serve, signal: AbortSignal): Promise<Started> {
    const native = nativeOnly(serve);
    const resolved = await this.resolve(native, signal);
    if (resolved.kind !== "ready") return resolved;
    const before = await this.#view(native, signal);
    if (before.kind === "unknown") return before;
    if (before.main !== null && before.unit.activity === "running") {
      return { kind: "already", instance: instanceOf(before, before.main) };
    }
    if (before.members.length > 0) {
      const detail = `${before.members.length} processes of an earlier life are still there`;
      return refuse("start_refused", detail, "stop it with force first");
    }
    const ordered = await this.#parts.supervisor.start(native, signal);
    if (ordered.kind === "unknown") return ordered;
    const state = await this.status(native, signal);
    if (state.kind === "running") return { kind: "started", instance: state.instance };
    if (state.kind === "unknown") return state;
    if (ordered.kind === "refused") return refuse("start_refused", ordered.detail);
    return { kind: "died", exit: state.kind === "stopped" ? state.exit : null };
  }

  async stop(serve: Serve, { force }: StopOrder, signal: AbortSignal): Promise<Stopped> {
    const native = nativeOnly(serve);
    const { supervisor, facts, clock, unified } = this.#parts;
    const began = clock.monotonic();
    const before = await this.#view(native, signal);
    if (before.kind === "unknown") return before;
    const wasRunning = before.members.length > 0 || before.unit.activity !== "stopped";
    const resident = sumOf(before.members);
    const available = unified && wasRunning ? await facts.available(signal) : null;
    if (wasRunning) {
      const ordered = force
        ? await supervisor.kill(native, signal)
        : await supervisor.ask(native, signal);
      if (ordered.kind === "unknown") return ordered;
      if (ordered.kind === "refused") return refuse("stop_refused", ordered.detail);
      const patience = force ? KILL_PATIENCE_MS : native.stop_grace_seconds * 1000;
      const left = await this.#ended(native, before.members, began + patience, signal);
      if (left.kind === "unknown") return left;
      if (left.pids.length > 0 || left.activity !== "stopped") {
        return await this.#stillThere(native, left.pids, force, signal);
      }
    }
    const stopped = {
      port: native.port,
      gone: "no process of it is left",
      wasRunning,
      resident,
      before: available?.kind === "seen" ? available.value : null,
      began,
    };
    return await proveStopped(this.#parts, stopped, signal);
  }

  async status(serve: Serve, signal: AbortSignal): Promise<ServeState> {
    const native = nativeOnly(serve);
    let view = await this.#view(native, signal);
    // A unit whose process just ended says so a moment later.
    if (view.kind === "view" && view.unit.activity === "running" && view.main === null) {
      await this.#parts.clock.sleep(SETTLE_MS, signal);
      view = await this.#view(native, signal);
    }
    if (view.kind === "unknown") return view;
    const { unit, main, members } = view;
    const [first] = members;
    if (main === null) {
      if (first !== undefined) return { kind: "stopping", instance: instanceOf(view, first) };
      return unit.activity === "running"
        ? notUnderstood("the supervisor says it runs, and no process of it is there")
        : { kind: "stopped", exit: unit.exit };
    }
    const instance = instanceOf(view, main);
    if (unit.activity !== "running") return { kind: "stopping", instance };
    const wrong = otherProgram(native, main);
    return wrong === null
      ? { kind: "running", instance }
      : { kind: "foreign", detail: wrong, instance };
  }

  logs(serve: Serve, bounds: LogBounds, signal: AbortSignal): Promise<Logs> {
    return this.#parts.supervisor.logs(nativeOnly(serve), bounds, signal);
  }

  async identity(serve: Serve, signal: AbortSignal): Promise<Proof> {
    const native = nativeOnly(serve);
    const view = await this.#view(native, signal);
    if (view.kind === "unknown") return view;
    const { main, members } = view;
    if (main === null) return { kind: "absent" };
    const wrong = otherProgram(native, main);
    if (wrong !== null) {
      return { kind: "differs", expected: native.argv.join(" "), observed: main.commandLine };
    }
    const port = await portNow(this.#parts.facts, native.port, signal);
    if (port.kind === "unknown") return port;
    if (port.kind === "free") return { kind: "absent" };
    if (port.pids.length === 0) {
      return notUnderstood("the system does not tell this agent who listens on the port");
    }
    const stranger = port.pids.find((pid) => !members.some((one) => one.pid === pid));
    return stranger === undefined
      ? { kind: "proven", instance: instanceOf(view, main), port: native.port }
      : {
        kind: "differs",
        expected: `a process of ${native.unit} on port ${native.port}`,
        observed: `process ${stranger}, which is not of it`,
      };
  }

  /** Only ours: what else runs natively is in the host's own figures. */
  async occupants(serves: readonly Serve[], signal: AbortSignal): Promise<Occupancy> {
    const occupants: Occupant[] = [];
    for (const serve of serves) {
      if (serve.runtime !== "native" || serve.supervisor !== this.kind) continue;
      const view = await this.#view(serve, signal);
      if (view.kind === "unknown") return view;
      if (view.members.length === 0) continue;
      const pids = view.members.map(({ pid }) => pid);
      const { name } = serve;
      occupants.push({ serve: name, label: name, devices: [], pids, mib: sumOf(view.members) });
    }
    return { kind: "seen", occupants };
  }

  async #view(serve: NativeServe, signal: AbortSignal): Promise<View | Unknown> {
    const { supervisor, facts } = this.#parts;
    const unit = await supervisor.look(serve, signal);
    if (unit.kind === "unknown") return unit;
    const table = await facts.processes(signal);
    if (table.kind === "unknown") return table;
    const { mainPid } = unit.value;
    const members = supervisor.members(serve, mainPid, table.value);
    const main = members.find(({ pid }) => pid === mainPid) ?? null;
    return { kind: "view", unit: unit.value, main, members };
  }

  /** Looks until nothing of `before`, and nothing of the unit, is left. */
  async #ended(
    serve: NativeServe,
    before: readonly ProcessFact[],
    until: number,
    signal: AbortSignal,
  ): Promise<
    | { readonly kind: "left"; readonly pids: readonly number[]; readonly activity: string }
    | Unknown
  > {
    const { supervisor, facts, clock } = this.#parts;
    for (;;) {
      const unit = await supervisor.look(serve, signal);
      const table = await facts.processes(signal);
      const isLate = clock.monotonic() >= until;
      if (unit.kind === "seen" && table.kind === "seen") {
        const { mainPid, activity } = unit.value;
        const alive = table.value.filter((one) =>
          !one.isZombie &&
          before.some((old) => old.pid === one.pid && old.startedAt === one.startedAt)
        );
        const own = supervisor.members(serve, mainPid, table.value);
        const pids = [...new Set([...alive, ...own].map(({ pid }) => pid))];
        if (isLate || (pids.length === 0 && activity === "stopped")) {
          return { kind: "left", pids, activity };
        }
      } else if (isLate) {
        if (unit.kind === "unknown") return unit;
        if (table.kind === "unknown") return table;
      }
      await clock.sleep(PAUSE_MS, signal);
    }
  }

  async #stillThere(
    serve: NativeServe,
    pids: readonly number[],
    force: boolean,
    signal: AbortSignal,
  ): Promise<Stopped> {
    const port = await portNow(this.#parts.facts, serve.port, signal);
    if (port.kind === "unknown") return port;
    const portHeldBy = port.kind === "held" ? port.pids[0] ?? null : null;
    return {
      kind: "still_there",
      left: { pids, portHeldBy, portFree: port.kind === "free" },
      detail: force
        ? "processes of it survive a kill: look at the kernel's log"
        : `it did not end within its grace of ${serve.stop_grace_seconds} seconds`,
    };
  }
}

/** Why `main` is not the declared program; a script shows its interpreter in front. */
function otherProgram(serve: NativeServe, main: ProcessFact): string | null {
  const declared = unquoted(serve.argv.join(" "));
  const commandLine = unquoted(main.commandLine);
  // A program that gave itself a title shows no arguments; its unit was compared all the same.
  if (!/(^|\s)(\/|[A-Za-z]:\\)/.test(commandLine)) return null;
  return commandLine === declared || commandLine.endsWith(` ${declared}`)
    ? null
    : "the unit runs another program, or other arguments, than `argv`";
}

/** Windows shows the quotes that a program was started with. */
function unquoted(text: string): string {
  return text.replaceAll('"', "");
}

function instanceOf({ unit, members }: View, main: ProcessFact): Instance {
  return {
    id: unit.life ?? `${main.pid}@${main.startedAt}`,
    pid: main.pid,
    startedAt: main.startedAt,
    residentMib: sumOf(members),
    commandLine: main.commandLine,
    imageDigest: null,
  };
}

function sumOf(members: readonly ProcessFact[]): number {
  return members.reduce((total, one) => total + one.residentMib, 0);
}

function nativeOnly(serve: Serve): NativeServe {
  if (serve.runtime !== "native") throw new TypeError(`${serve.name} is not a native serve`);
  return serve;
}

/**
 * What /proc says about a relay: its processes, their CPU time, their memory. Linux only.
 *
 * @module
 */

/** Memory of a process tree, in bytes. */
export interface Memory {
  readonly resident: number;
  /** Sum of each process's own peak since it started. */
  readonly peak: number;
}

/** CPU time so far, by both of the kernel's accounts, in us. */
export interface CpuTime {
  /** Sum over the live threads, to the nanosecond; a thread that ended takes its part with it. */
  readonly threads: number;
  /** Of the whole processes, ended threads included, in steps of a clock tick. */
  readonly ticks: number;
}

const TICK_MICROS = 10_000;

/** `root` and everything below it. */
export function processTree(root: number): number[] {
  const parents = new Map<number, number>();
  for (const entry of Deno.readDirSync("/proc")) {
    const pid = Number(entry.name);
    if (Number.isNaN(pid)) continue;
    const stat = tryRead(`/proc/${pid}/stat`);
    if (stat !== null) parents.set(pid, Number(afterName(stat)[1]));
  }
  const found = [root];
  for (let i = 0; i < found.length; i++) {
    for (const [pid, parent] of parents) if (parent === found[i]) found.push(pid);
  }
  return found;
}

/** CPU time of these processes. */
export function cpuTime(pids: readonly number[]): CpuTime {
  let threads = 0;
  let ticks = 0;
  for (const pid of pids) {
    const stat = afterName(tryRead(`/proc/${pid}/stat`) ?? "");
    ticks += (Number(stat[11] ?? 0) + Number(stat[12] ?? 0)) * TICK_MICROS;
    for (const task of tryList(`/proc/${pid}/task`)) {
      const line = tryRead(`/proc/${pid}/task/${task}/schedstat`);
      threads += Number(line?.split(" ")[0] ?? 0) / 1000;
    }
  }
  return { threads, ticks };
}

/** Time between two readings: the precise account, unless threads ended and made it too small. */
export function cpuBetween(from: CpuTime, to: CpuTime): number {
  const threads = to.threads - from.threads;
  const ticks = to.ticks - from.ticks;
  return ticks > threads + 3 * TICK_MICROS ? ticks : threads;
}

/** Time all cores were busy or taken from us since boot, in us, in steps of a clock tick. */
export function machineTime(): number {
  const fields = (tryRead("/proc/stat") ?? "").split("\n")[0]?.split(/\s+/).slice(1).map(Number);
  const [user = 0, nice = 0, system = 0, , , interrupts = 0, soft = 0, steal = 0] = fields ?? [];
  return (user + nice + system + interrupts + soft + steal) * TICK_MICROS;
}

/** Memory of these processes. */
export function memory(pids: readonly number[]): Memory {
  let resident = 0;
  let peak = 0;
  for (const pid of pids) {
    const status = tryRead(`/proc/${pid}/status`) ?? "";
    resident += kib(status, "VmRSS");
    peak += kib(status, "VmHWM");
  }
  return { resident, peak };
}

function kib(status: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1] ?? 0) * 1024;
}

/** Fields of a stat line after the name, which may hold spaces: [0] is the state, [1] the parent. */
export function afterName(stat: string): string[] {
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

function tryRead(path: string): string | null {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return null; // the process ended meanwhile
  }
}

function tryList(path: string): string[] {
  try {
    return [...Deno.readDirSync(path)].map((entry) => entry.name);
  } catch {
    return [];
  }
}

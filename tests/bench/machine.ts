/**
 * The machine a report is about: enough to judge the figures by, nothing that names it.
 *
 * @module
 */

import { firstLine } from "./relay.ts";

/** Facts, and how processes were placed. */
export interface Machine {
  readonly cores: number;
  readonly memoryGib: number;
  readonly cpu: string;
  readonly kernel: string;
  readonly deno: string;
  /** Core of the relay under test and core of load and upstream; null when nothing was pinned. */
  readonly pins: { readonly relay: number; readonly load: number } | null;
  /** Load average of one minute when the run began: above ~0.3, someone else was using the machine. */
  readonly loadBefore: number;
}

/** Looks around. */
export async function readMachine(): Promise<Machine> {
  const cores = navigator.hardwareConcurrency;
  const info = await Deno.readTextFile("/proc/cpuinfo");
  const taskset = await firstLine("taskset", ["-V"]);
  return {
    cores,
    memoryGib: Math.round(Deno.systemMemoryInfo().total / 2 ** 30),
    cpu: /^model name\s*:\s*(.+)$/m.exec(info)?.[1] ?? Deno.build.arch,
    kernel: `Linux ${/^\d+\.\d+/.exec(Deno.osRelease())?.[0] ?? ""}`,
    deno: Deno.version.deno,
    pins: taskset !== null && cores >= 2 ? { relay: 0, load: 1 } : null,
    loadBefore: Deno.loadavg()[0] ?? 0,
  };
}

/**
 * What everybody on a machine can see of a process: its command line, and, as root, its environment.
 *
 * @module
 */

import type { Leak } from "../facts.ts";
import type { Canary } from "../world.ts";

/** Processes in whose command line or environment a canary stands. */
export async function spy(canaries: readonly Canary[]): Promise<readonly Leak[]> {
  const leaks: Leak[] = [];
  for await (const { name } of Deno.readDir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    for (const sink of ["cmdline", "environ"]) {
      const text = await Deno.readTextFile(`/proc/${name}/${sink}`).catch(() => "");
      for (const { what, text: canary } of canaries) {
        if (!text.includes(canary)) continue;
        const program = text.split("\0").find((word) => word.endsWith(".ts")) ?? text.slice(0, 40);
        leaks.push({ sink: `${sink} of ${program}`, what });
      }
    }
  }
  return leaks;
}

/**
 * Which boot this is: a text that changes with each.
 *
 * @module
 */

import type { RunProcess } from "../../core/process.ts";
import { type Refusal, refuse } from "../../core/refusal.ts";
import { endOf, PLAIN_ENV } from "./supervisor.ts";

/** Asks the kernel, by a program: a narrow process may not read it itself. */
export async function readBootId(
  run: RunProcess,
  os: string,
): Promise<string | Refusal<"facts_unknown">> {
  const argv = os === "darwin"
    ? ["sysctl", "-n", "kern.bootsessionuuid"] as const
    : ["cat", "/proc/sys/kernel/random/boot_id"] as const;
  const ended = await run({ argv, env: PLAIN_ENV, deadlineMs: 5000, maxOutputBytes: 4096 });
  if (ended.kind === "exited" && ended.code === 0) {
    const id = new TextDecoder().decode(ended.stdout).trim();
    if (/^[0-9A-Fa-f-]{8,64}$/.test(id)) return id.toLowerCase();
  }
  return refuse("facts_unknown", `the kernel did not say which boot this is: ${endOf(ended)}`);
}

/**
 * Puts a program into network, mount and process namespaces of its own: what it makes there, and
 * every process it starts, is gone when it ends, however it ends.
 *
 * @module
 */

import { commandPath } from "../../../scripts/needs.ts";

/** What a walk in namespaces needs of the machine. */
export const NEEDS = [
  "unshare",
  "ip",
  "tc",
  "mount",
  "ss",
  "ps",
  "curl",
  "stat",
  "setsid",
] as const;

/** Why no walk can be made here; null when it can. */
export function obstacle(): string | null {
  if (Deno.build.os !== "linux") return "network namespaces are Linux's";
  if (Deno.uid() !== 0) return "only root may make namespaces";
  const missing = NEEDS.filter((command) => commandPath(command) === null);
  return missing.length === 0 ? null : `missing: ${missing.join(", ")}`;
}

/** Runs `program` inside, with temporary files that are gone with it; its exit code. */
export async function runInside(program: string, args: readonly string[]): Promise<number> {
  // A short name: sockets lie below it.
  const folder = await Deno.makeTempDir({ prefix: "in-" });
  const child = new Deno.Command("unshare", {
    args: [
      ...["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--"],
      ...[program, ...args],
    ],
    env: { TMPDIR: folder },
    stdin: "null",
    stdout: "inherit",
    stderr: "inherit",
  }).spawn();
  // It ignores everything milder, and everything inside goes with it.
  const stop = () => child.kill("SIGKILL");
  for (const signal of SIGNALS) Deno.addSignalListener(signal, stop);
  try {
    return (await child.status).code;
  } finally {
    for (const signal of SIGNALS) Deno.removeSignalListener(signal, stop);
    await Deno.remove(folder, { recursive: true }).catch(() => {});
  }
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

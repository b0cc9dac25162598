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

/** `program` with its arguments, to be run inside. */
export function inside(program: string, args: readonly string[]): Deno.Command {
  return new Deno.Command("unshare", {
    args: [
      ...["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--"],
      ...[program, ...args],
    ],
    stdin: "null",
    stdout: "inherit",
    stderr: "inherit",
  });
}

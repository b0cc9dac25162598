/**
 * A role as people run it: a process of its own, with the permission flags of its task.
 *
 * @module
 */

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url)).replace(/\/$/, "");

/** A role whose task in deno.json says how it runs. */
export type Role = "router" | "agent" | "operator" | "receiver" | "publisher" | "adopter";

/** How a process ended, and what it said. */
export interface Finished {
  readonly code: number;
  readonly signal: Deno.Signal | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The words after `deno` in the task of `role`, the program's path last, started from `folder`. */
export async function roleWords(role: Role, folder: string): Promise<string[]> {
  const config = JSON.parse(await Deno.readTextFile(`${root}/deno.json`)) as {
    readonly tasks: { readonly [role in Role]: { readonly command: string } };
  };
  const line = config.tasks[role].command;
  const start = line.indexOf(" deno run ");
  assert.notEqual(start, -1, `the ${role} task runs no deno`);
  const words = [...line.slice(start + " deno ".length).matchAll(/"([^"]*)"|(\S+)/g)]
    .map((match) => (match[1] ?? match[2]) as string)
    .map((word) => word.replaceAll("$root", root).replaceAll("$INIT_CWD", folder))
    // The operator's home is in the user's: here it is in the folder.
    .map((word) => word.replaceAll("$HOME", folder));
  assert.ok(words.every((word) => !/[$`'&|;<>]/.test(word)), `a shell is needed: ${line}`);
  assert.equal(words.at(-1), `${root}/roles/${role}/main.ts`);
  return words;
}

/**
 * A command with the task's permissions; `program` stands in for the role's main module, `more` is
 * set in its environment.
 */
export async function roleCommand(
  role: Role,
  folder: string,
  args: readonly string[],
  program?: string,
  more: Readonly<Record<string, string>> = {},
): Promise<Deno.Command> {
  const words = await roleWords(role, folder);
  if (program !== undefined) words.splice(-1, 1, program);
  const env: Record<string, string> = { NO_COLOR: "1" };
  for (const name of ["HOME", "DENO_DIR", "PATH", "SystemRoot", "LOCALAPPDATA", "TMPDIR"]) {
    const value = Deno.env.get(name);
    if (value !== undefined) env[name] = value;
  }
  return new Deno.Command(Deno.execPath(), {
    args: [...words, ...args],
    cwd: folder,
    clearEnv: true,
    env: { ...env, ...more },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
}

/** Runs a command of the role to its end; one that has none is killed, which its code shows. */
export async function runRole(
  role: Role,
  folder: string,
  args: readonly string[],
  mostMs = 20_000,
): Promise<Finished> {
  const command = await roleCommand(role, folder, args);
  await using child = command.spawn();
  const timer = setTimeout(() => child.kill("SIGKILL"), mostMs);
  const { code, signal, stdout, stderr } = await child.output();
  clearTimeout(timer);
  const text = new TextDecoder();
  return { code, signal, stdout: text.decode(stdout), stderr: text.decode(stderr) };
}

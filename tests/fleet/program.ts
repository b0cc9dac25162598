/**
 * Programs of this machine, started for the fleet.
 *
 * @module
 */

import type { ExecOptions, Said } from "./rig.ts";

/** Later than that a program is killed, unless its caller says otherwise. */
const DEADLINE_MS = 120_000;

/** Runs a program and gives how it ended. Throws when it takes longer than it may. */
export async function run(
  argv: readonly string[],
  options: Pick<ExecOptions, "stdin" | "cwd" | "env" | "deadlineMs"> = {},
): Promise<Said> {
  const [program = "", ...args] = argv;
  const { stdin, cwd, env, deadlineMs = DEADLINE_MS } = options;
  const child = new Deno.Command(program, {
    args,
    ...(cwd === undefined ? {} : { cwd }),
    ...(env === undefined ? {} : { env: { ...env } }),
    stdin: stdin === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    child.kill("SIGKILL");
  }, deadlineMs);
  if (stdin !== undefined) {
    const writer = child.stdin.getWriter();
    const bytes = typeof stdin === "string" ? new TextEncoder().encode(stdin) : stdin;
    // Who does not read what it is given ends by itself, and says why.
    await writer.write(bytes).then(() => writer.close()).catch(() => {});
  }
  const { code, stdout, stderr } = await child.output();
  clearTimeout(timer);
  if (late) throw new Error(`${argv.slice(0, 12).join(" ")}: not done after ${deadlineMs} ms`);
  const decoder = new TextDecoder();
  return { code, out: decoder.decode(stdout), err: decoder.decode(stderr) };
}

/** Runs a program that must end with 0; gives what it printed. */
export async function must(
  argv: readonly string[],
  options: Parameters<typeof run>[1] = {},
): Promise<string> {
  const said = await run(argv, options);
  if (said.code === 0) return said.out.trim();
  const words = `${said.err}\n${said.out}`.trim().split("\n").slice(-6).join(" | ");
  throw new Error(`${argv.slice(0, 12).join(" ")}: exit ${said.code}: ${words}`);
}

/** True when there is something at `path`. */
export async function exists(path: string): Promise<boolean> {
  return await Deno.lstat(path).then(() => true, () => false);
}

/** Writes a file that only we read, its folder with it. */
export async function writePrivate(path: string, text: string): Promise<void> {
  await Deno.mkdir(path.replace(/\/[^/]*$/, ""), { recursive: true });
  await Deno.writeTextFile(path, text, { mode: 0o600 });
  await Deno.chmod(path, 0o600);
}

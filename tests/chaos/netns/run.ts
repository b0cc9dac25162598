/**
 * Programs of the machine, run to their end.
 *
 * @module
 */

/** Runs one; its output, or an error that holds what it said. */
export async function run(program: string, ...args: readonly string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, {
    args: [...args],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  const text = new TextDecoder();
  if (success) return text.decode(stdout).trim();
  throw new Error(`${program} ${args.join(" ")}: ${text.decode(stderr).trim()}`);
}

/** The same where failing is an answer too. */
export async function tried(program: string, ...args: readonly string[]): Promise<boolean> {
  return await run(program, ...args).then(() => true, () => false);
}

/** kill -9 of a child that may have ended meanwhile. */
export function killNow(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGKILL");
  } catch (error) {
    if (!(error instanceof TypeError)) throw error; // it has ended
  }
}

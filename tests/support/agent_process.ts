/**
 * An agent as people run it: a process of its own, with the permission flags of the `agent` task.
 *
 * @module
 */

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import type { Finished } from "./router_process.ts";
import { until } from "./wait.ts";

const root = fileURLToPath(new URL("../../", import.meta.url)).replace(/\/$/, "");

/** The words after `deno` in the `agent` task, the program's path last, started from `folder`. */
export async function agentWords(folder: string): Promise<string[]> {
  const config = JSON.parse(await Deno.readTextFile(`${root}/deno.json`)) as {
    readonly tasks: { readonly agent: { readonly command: string } };
  };
  const line = config.tasks.agent.command;
  const start = line.indexOf(" deno run ");
  assert.notEqual(start, -1, "the agent task runs no deno");
  const words = [...line.slice(start + " deno ".length).matchAll(/"([^"]*)"|(\S+)/g)]
    .map((match) => (match[1] ?? match[2]) as string)
    .map((word) => word.replaceAll("$root", root).replaceAll("$INIT_CWD", folder));
  assert.ok(words.every((word) => !/[$`'&|;<>]/.test(word)), `a shell is needed: ${line}`);
  assert.equal(words.at(-1), `${root}/roles/agent/main.ts`);
  return words;
}

/** A command with the task's permissions; `program` stands in for the agent's main module. */
export async function agentCommand(
  folder: string,
  args: readonly string[],
  program?: string,
): Promise<Deno.Command> {
  const words = await agentWords(folder);
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
    env,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
}

/** Runs a command of the agent to its end; one that has none is killed, which its code shows. */
export async function runAgent(folder: string, args: readonly string[]): Promise<Finished> {
  const command = await agentCommand(folder, args);
  await using child = command.spawn();
  const timer = setTimeout(() => child.kill("SIGKILL"), 20_000);
  const { code, signal, stdout, stderr } = await child.output();
  clearTimeout(timer);
  const text = new TextDecoder();
  return { code, signal, stdout: text.decode(stdout), stderr: text.decode(stderr) };
}

/** A running agent. */
export class AgentProcess implements AsyncDisposable {
  stderr = "";
  readonly finished: Promise<Deno.CommandStatus>;
  readonly #child: Deno.ChildProcess;
  #over = false;

  constructor(child: Deno.ChildProcess) {
    this.#child = child;
    this.finished = this.#follow(child);
  }

  /** Starts `anvil-agent run agent.toml` in `folder` and waits until it listens. */
  static async start(folder: string, flags: readonly string[] = []): Promise<AgentProcess> {
    const command = await agentCommand(folder, ["run", "agent.toml", ...flags]);
    const agent = new AgentProcess(command.spawn());
    await until("the agent listens", () => {
      if (agent.#over) throw new Error(`the agent ended before it listened:\n${agent.stderr}`);
      return agent.stderr.includes("listens on");
    }, 30_000);
    return agent;
  }

  get url(): string {
    const line = this.stderr.split("\n").find((one) => one.includes("listens on")) ?? "";
    const { properties } = JSON.parse(line) as { properties: { port: number } };
    return `http://127.0.0.1:${properties.port}`;
  }

  kill(signal: Deno.Signal): void {
    if (!this.#over) this.#child.kill(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.kill("SIGKILL");
    await this.finished;
  }

  async #follow(child: Deno.ChildProcess): Promise<Deno.CommandStatus> {
    const decoder = new TextDecoder();
    const errors = (async () => {
      for await (const chunk of child.stderr) {
        this.stderr += decoder.decode(chunk, { stream: true });
      }
    })();
    const [status] = await Promise.all([child.status, errors, child.stdout.cancel()]);
    this.#over = true;
    return status;
  }
}

/**
 * An agent as people run it: a process of its own, with the permission flags of the `agent` task.
 *
 * @module
 */

import { roleCommand } from "./role_process.ts";
import { until } from "./wait.ts";

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
  static async start(
    folder: string,
    flags: readonly string[] = [],
    env: Readonly<Record<string, string>> = {},
  ): Promise<AgentProcess> {
    const words = ["run", "agent.toml", ...flags];
    const command = await roleCommand("agent", folder, words, undefined, env);
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

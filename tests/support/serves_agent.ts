/**
 * An agent of a serving host as people run it, asked over HTTP; on this machine or in a container.
 *
 * @module
 */

import { until } from "./wait.ts";

/** What an agent said to a call. */
export interface Said {
  readonly status: number;
  readonly body: { readonly [key: string]: unknown };
}

/** A running agent. */
export class ServesAgent implements AsyncDisposable {
  stderr = "";
  readonly #child: Deno.ChildProcess;
  readonly #kill: () => Promise<void>;
  readonly #told: Promise<unknown>;
  readonly #node: string;
  #over = false;
  static #keys = 0;

  private constructor(child: Deno.ChildProcess, node: string, kill: () => Promise<void>) {
    this.#child = child;
    this.#node = node;
    this.#kill = kill;
    this.#told = this.#follow();
  }

  /** Spawns `command` and waits until it listens; `kill` ends it at once, as a crash does. */
  static async start(
    command: Deno.Command,
    node: string,
    kill?: () => Promise<void>,
  ): Promise<ServesAgent> {
    const child = command.spawn();
    const direct = () => {
      child.kill("SIGKILL");
      return Promise.resolve();
    };
    const agent = new ServesAgent(child, node, kill ?? direct);
    await until("the agent listens", () => {
      if (agent.#over) throw new Error(`the agent ended before it listened:\n${agent.stderr}`);
      return agent.stderr.includes("listens on");
    }, 60_000);
    return agent;
  }

  /** Kills it: no handler runs. */
  async crash(): Promise<void> {
    if (!this.#over) await this.#kill();
    await this.#told;
  }

  /** Asks for an operation and waits for its answer. */
  async call(operation: string, input: object, more: object = {}): Promise<Said> {
    const answer = await fetch(`${this.#url}/v1/operations/${operation}`, {
      method: "POST",
      headers: {
        "x-anvil-node": this.#node,
        "content-type": "application/json",
        ...("dry_run" in more || /list|status|logs/.test(operation)
          ? {}
          : { "idempotency-key": `serves-agent-${Deno.pid}-${ServesAgent.#keys++}` }),
      },
      body: JSON.stringify({ input, ...more }),
    });
    return { status: answer.status, body: await answer.json() };
  }

  /** The result of a call that must be done. */
  async result(
    operation: string,
    input: object,
    more: object = {},
  ): Promise<{ readonly [key: string]: unknown }> {
    const { status, body } = await this.call(operation, input, more);
    if (status !== 200) throw new Error(`${operation}: ${status} ${JSON.stringify(body)}`);
    return body["result"] as { readonly [key: string]: unknown };
  }

  /** State of a serve, as `serves.status` tells it. */
  async state(serve: string): Promise<string> {
    const { state } = await this.result("serves.status", { serve });
    return (state as { readonly state: string }).state;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.crash();
  }

  get #url(): string {
    const line = this.stderr.split("\n").find((one) => one.includes("listens on")) ?? "";
    const { properties } = JSON.parse(line) as { properties: { port: number } };
    return `http://127.0.0.1:${properties.port}`;
  }

  async #follow(): Promise<void> {
    const decoder = new TextDecoder();
    const errors = (async () => {
      for await (const chunk of this.#child.stderr) {
        this.stderr += decoder.decode(chunk, { stream: true });
      }
    })();
    await Promise.all([this.#child.status, errors, this.#child.stdout.cancel()]);
    this.#over = true;
  }
}

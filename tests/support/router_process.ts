/**
 * A router as people run it: a process of its own, with the permission flags of the `router` task.
 *
 * @module
 */

import { type TempDir, tempDir } from "../../lib/testing/temp_dir.ts";
import { type Finished, roleCommand } from "./role_process.ts";
import { clientsToml, type RouterSettings, routerToml } from "./router_toml.ts";
import { type Status, statusAt } from "./router.ts";
import { until, within } from "./wait.ts";

/** Writes `router.toml` and the clients file into a folder, with a folder for state. */
export async function furnish(folder: string, settings: RouterSettings): Promise<void> {
  const top = { state: { dir: "state" }, ...settings.top };
  await Deno.mkdir(`${folder}/state`, { recursive: true });
  await Deno.writeTextFile(`${folder}/router.toml`, routerToml({ ...settings, top }));
  await Deno.writeTextFile(`${folder}/clients.toml`, clientsToml(), { mode: 0o600 });
}

/** A router in a process of its own. */
export class RouterProcess implements AsyncDisposable {
  port = 0;
  adminPort = 0;
  stderr = "";
  readonly folder: string;
  readonly finished: Promise<Finished>;
  readonly #child: Deno.ChildProcess;
  #over = false;

  private constructor(folder: string, child: Deno.ChildProcess) {
    this.folder = folder;
    this.#child = child;
    this.finished = this.#follow();
  }

  /** Starts `anvil-router run router.toml`, or `command`, in `folder` and waits until it listens. */
  static async start(
    folder: string,
    { waitReady = true, command }: { waitReady?: boolean; command?: Deno.Command } = {},
  ): Promise<RouterProcess> {
    command ??= await roleCommand("router", folder, ["run", "router.toml"]);
    const router = new RouterProcess(folder, command.spawn());
    try {
      await until("the router listens", () => router.#findPorts(), 30_000);
      if (waitReady) {
        await until("the router is ready", async () => await router.readyz() === 200, 20_000);
      }
    } catch (error) {
      await router[Symbol.asyncDispose]();
      throw new Error(`${error instanceof Error ? error.message : error}\n${router.stderr}`);
    }
    return router;
  }

  get pid(): number {
    return this.#child.pid;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get over(): boolean {
    return this.#over;
  }

  /** The status of `/readyz`; 0 when nobody answers. */
  async readyz(): Promise<number> {
    try {
      const answer = await fetch(`http://127.0.0.1:${this.adminPort}/readyz`);
      await answer.body?.cancel();
      return answer.status;
    } catch {
      return 0;
    }
  }

  async status(): Promise<Status> {
    return await statusAt(this.adminPort);
  }

  /** Resident memory, in bytes. Linux only. */
  async rss(): Promise<number> {
    const text = await Deno.readTextFile(`/proc/${this.pid}/status`);
    return Number(/^VmRSS:\s*(\d+) kB/m.exec(text)?.[1] ?? NaN) * 1024;
  }

  kill(signal: Deno.Signal): void {
    if (!this.#over) this.#child.kill(signal);
  }

  /** The text of `state/decisions.jsonl`. */
  async decisionText(): Promise<string> {
    return await Deno.readTextFile(`${this.folder}/state/decisions.jsonl`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.kill("SIGKILL");
    await this.finished;
  }

  #findPorts(): boolean {
    if (this.#over) throw new Error(`the router ended before it listened:\n${this.stderr}`);
    for (const line of this.stderr.split("\n")) {
      if (!line.includes("listens: data on")) continue;
      const { properties } = JSON.parse(line) as { properties: { data: number; admin: number } };
      this.port = properties.data;
      this.adminPort = properties.admin;
      return true;
    }
    return false;
  }

  async #follow(): Promise<Finished> {
    const decoder = new TextDecoder();
    const errors = (async () => {
      for await (const chunk of this.#child.stderr) {
        this.stderr += decoder.decode(chunk, { stream: true });
      }
    })();
    const [stdout, status] = await Promise.all([
      new Response(this.#child.stdout).text(),
      this.#child.status,
      errors,
    ]);
    this.#over = true;
    return { code: status.code, signal: status.signal, stdout, stderr: this.stderr };
  }
}

/** A folder with its files, and a router that runs in it; both gone at the end. */
export async function withRouterProcess(
  settings: RouterSettings,
  run: (router: RouterProcess, dir: TempDir) => Promise<void>,
): Promise<void> {
  await using dir = await tempDir();
  await furnish(dir.path, settings);
  await using router = await RouterProcess.start(dir.path);
  await within("the test with a router process", run(router, dir), 60_000);
}

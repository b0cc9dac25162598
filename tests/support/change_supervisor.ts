/**
 * A supervisor in the test's own process: it starts and stops real engines and a real router, and
 * outlives whoever asks it, as systemd does. It is asked over HTTP on loopback.
 *
 * @module
 */

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import type { Instance } from "../../lib/serves/driver.ts";
import { type Serve, servedModel } from "../../lib/serves/manifest_shape.ts";
import { RouterProcess } from "./router_process.ts";
import { until } from "./wait.ts";

const ENGINE = fileURLToPath(new URL("../fixtures/engine_main.ts", import.meta.url));
const CONFIG = fileURLToPath(new URL("../../deno.json", import.meta.url));

interface Engine {
  readonly child: Deno.ChildProcess;
  readonly startedAt: number;
  readonly ended: Promise<Deno.CommandStatus>;
}

/** What it answers about a serve. */
export type Told = { readonly instance: Instance | null };

/** The supervisor. */
export class ChangeSupervisor implements AsyncDisposable {
  /** What engines say they serve instead of what is declared. */
  readonly impostors = new Map<string, string>();
  /** Every start, stop and restart, in order. */
  readonly happened: string[] = [];
  router: RouterProcess | null = null;
  readonly #serves: readonly Serve[];
  readonly #folder: string;
  readonly #engines = new Map<string, Engine>();
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  /** One order at a time, as a supervisor queues its jobs. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(folder: string, serves: readonly Serve[]) {
    this.#folder = folder;
    this.#serves = serves;
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      (request) => this.#answer(new URL(request.url).pathname),
    );
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  get running(): readonly string[] {
    return [...this.#engines.keys()].toSorted();
  }

  async start(name: string): Promise<void> {
    if (this.#engines.has(name)) return;
    const serve = this.#serve(name);
    const model = this.impostors.get(name) ?? servedModel(serve);
    // Slow enough that a stream is open while things change around it.
    const rate = name === "embed" ? ["--rate", "20"] : [];
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "--config", CONFIG, "--no-prompt", "--quiet", "--allow-net=127.0.0.1"],
        ...[ENGINE, "--port", String(serve.port), "--model", model, ...rate],
      ],
      stdin: "null",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    const ended = Promise.all([child.status, child.stdout.cancel()]).then(([status]) => {
      this.#engines.delete(name);
      return status;
    });
    this.#engines.set(name, { child, ended, startedAt: Date.now() });
    this.happened.push(`start ${name}`);
    await until(`${name} listens`, () => listens(serve.port), 20_000);
  }

  async stop(name: string): Promise<void> {
    const engine = this.#engines.get(name);
    if (engine === undefined) return;
    engine.child.kill("SIGTERM");
    await engine.ended;
    this.happened.push(`stop ${name}`);
  }

  /** SIGTERM, its drain, and a new one on the same file. */
  async restartRouter(): Promise<void> {
    this.router?.kill("SIGTERM");
    await this.router?.finished;
    this.happened.push("restart");
    this.router = await RouterProcess.start(this.#folder, { waitReady: false });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
    await this.#turn.catch(() => {});
    await this.router?.[Symbol.asyncDispose]();
    for (const { child, ended } of this.#engines.values()) {
      child.kill("SIGKILL");
      await ended;
    }
  }

  #answer(path: string): Promise<Response> {
    const [, what = "", name = ""] = path.split("/");
    const acts: Readonly<Record<string, () => Promise<void>>> = {
      start: () => this.start(name),
      stop: () => this.stop(name),
      restart: () => this.restartRouter(),
      status: () => Promise.resolve(),
    };
    const act = acts[what];
    assert.ok(act !== undefined, path);
    const done = this.#turn.then(act).then(() => Response.json(this.#told(name)));
    this.#turn = done.catch(() => {});
    return done.catch((error) => new Response(String(error), { status: 500 }));
  }

  #told(name: string): Told {
    const engine = this.#engines.get(name);
    if (engine === undefined) return { instance: null };
    const { child: { pid }, startedAt } = engine;
    const id = `${pid}@${startedAt}`;
    return {
      instance: { id, pid, startedAt, residentMib: null, commandLine: null, imageDigest: null },
    };
  }

  #serve(name: string): Serve {
    const found = this.#serves.find((one) => one.name === name);
    assert.ok(found !== undefined, name);
    return found;
  }
}

async function listens(port: number): Promise<boolean> {
  try {
    (await Deno.connect({ hostname: "127.0.0.1", port })).close();
    return true;
  } catch {
    return false;
  }
}

/**
 * Requests at a steady rate, over fresh connections and over a pool of kept ones, as a careful client
 * sends them: a kept connection that the server has closed is not used again.
 *
 * @module
 */

import { join } from "../fixtures/connection.ts";
import { parseResponse } from "../fixtures/raw_client.ts";
import { ask, CHAT } from "./stream_reader.ts";
import { pause } from "./wait.ts";

/** What came of it. */
export interface LoadResult {
  readonly answered: number;
  /** How each request failed that did. */
  readonly failures: readonly string[];
  /** Kept connections that were found closed before a request went out on them. */
  readonly foundClosed: number;
}

/** A connection that is read from all the time, so that its end is seen while it idles. */
class Kept implements Disposable {
  ended: string | null = null;
  #parts: Uint8Array[] = [];
  #arrived: () => void = () => {};
  readonly #connection: Deno.TcpConn;

  constructor(connection: Deno.TcpConn) {
    this.#connection = connection;
    void this.#read();
  }

  /** One exchange. True when the connection may be used again. */
  async ask(request: Uint8Array): Promise<boolean> {
    this.#parts = [];
    await this.#connection.write(request);
    for (;;) {
      const response = parseResponse(join(this.#parts));
      if (response?.whole === true) {
        if (response.status !== 200) {
          throw new Error(`status ${response.status} ${response.text.slice(0, 200)}`);
        }
        return response.header("connection") !== "close";
      }
      if (this.ended !== null) {
        throw new Error(`${this.ended} after ${join(this.#parts).length} bytes`);
      }
      await new Promise<void>((resolve) => this.#arrived = resolve);
    }
  }

  [Symbol.dispose](): void {
    try {
      this.#connection.close();
    } catch {
      // the read that failed has closed it
    }
  }

  async #read(): Promise<void> {
    const buffer = new Uint8Array(16 * 1024);
    try {
      for (;;) {
        const count = await this.#connection.read(buffer);
        if (count === null) break;
        this.#parts.push(buffer.slice(0, count));
        this.#arrived();
      }
      this.ended = "closed";
    } catch (error) {
      this.ended = `broken (${error instanceof Error ? error.name : error})`;
    }
    this.#arrived();
  }
}

/** A load that runs until it is stopped. */
export class RequestLoad {
  readonly #port: number;
  readonly #failures: string[] = [];
  readonly #idle: Kept[] = [];
  readonly #running = new Set<Promise<void>>();
  readonly #loop: Promise<void>;
  #answered = 0;
  #foundClosed = 0;
  #stopped = false;

  /** `perSecond` requests, every second one over a kept connection. */
  constructor(port: number, perSecond: number) {
    this.#port = port;
    this.#loop = this.#run(1000 / perSecond);
  }

  /** Requests answered so far. */
  get answered(): number {
    return this.#answered;
  }

  /** Stops, waits for what is under way, and says what came of it all. */
  async stop(): Promise<LoadResult> {
    this.#stopped = true;
    await this.#loop;
    await Promise.all(this.#running);
    for (const kept of this.#idle) kept[Symbol.dispose]();
    return {
      answered: this.#answered,
      failures: this.#failures,
      foundClosed: this.#foundClosed,
    };
  }

  async #run(intervalMs: number): Promise<void> {
    const began = performance.now();
    for (let number = 0; !this.#stopped; number++) {
      const ahead = began + number * intervalMs - performance.now();
      if (ahead > 0) await pause(ahead);
      const how = number % 2 === 0 ? "fresh" : "kept";
      const one: Promise<void> = this.#one(how)
        .then(
          () => void this.#answered++,
          (error: unknown) => void this.#failures.push(`${how}: ${error}`),
        )
        .finally(() => this.#running.delete(one));
      this.#running.add(one);
    }
  }

  async #one(how: "fresh" | "kept"): Promise<void> {
    // The one that idled longest first: as unkind to the server as a pool can be.
    let kept = how === "kept" ? this.#idle.shift() : undefined;
    while (kept !== undefined && kept.ended !== null) {
      this.#foundClosed++;
      kept[Symbol.dispose]();
      kept = this.#idle.shift();
    }
    kept ??= new Kept(await Deno.connect({ hostname: "127.0.0.1", port: this.#port }));
    let reusable = false;
    try {
      reusable = await kept.ask(ask(CHAT));
    } finally {
      if (reusable && how === "kept") this.#idle.push(kept);
      else kept[Symbol.dispose]();
    }
  }
}

/**
 * The Docker Engine's API over its local socket: one request, one bounded answer, under a deadline.
 *
 * Which socket is decided where the `Upstream` is made; nothing here takes an address, so no remote
 * engine can be meant. The API's version is negotiated before the first question.
 *
 * @module
 */

import type { Json } from "../core/canonical_json.ts";
import type { Clock } from "../core/clock.ts";
import { readJson } from "../core/strict_json.ts";
import type { Upstream } from "../relay/upstream.ts";
import type { Unknown } from "./driver.ts";
import { notUnderstood } from "./os_facts.ts";
import { tableOf } from "./written.ts";

/** Versions of the API whose answers are read here: Engine 19.03 to 29. */
const OLDEST = 40;
const NEWEST = 52;

/** Most bytes of an answer. */
const MOST_JSON = 8 * 1024 * 1024;
const CONNECT_MS = 2000;
const DEADLINE_MS = 15_000;

/** Any: the socket decides where a request goes. */
const ENDPOINT = { hostname: "127.0.0.1", port: 80 } as const;

/** What came back. */
export interface EngineAnswer {
  readonly kind: "answered";
  readonly status: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** True when the answer was longer than asked for; `bytes` is its end then. */
  readonly cut: boolean;
}

/** An answer read as JSON. */
export interface EngineJson {
  readonly kind: "answered";
  readonly status: number;
  /** Null for an empty answer. */
  readonly value: Json;
}

/** What a question may ask besides its path. */
export interface EngineAsk {
  readonly method?: "GET" | "POST";
  readonly body?: Json;
  readonly deadlineMs?: number;
  /** Bytes of the answer that are kept, its last ones. */
  readonly mostBytes?: number;
}

/** One engine. */
export class DockerEngine {
  readonly #upstream: Upstream;
  readonly #clock: Clock;

  readonly #deadlineMs: number;

  /** `deadlineMs`: how long one question may take, when it does not say otherwise. */
  constructor(upstream: Upstream, clock: Clock, deadlineMs: number = DEADLINE_MS) {
    this.#upstream = upstream;
    this.#clock = clock;
    this.#deadlineMs = deadlineMs;
  }

  /** Asks and reads the answer as JSON. `path` begins behind the version, as `/containers/json`. */
  async json(
    path: string,
    signal: AbortSignal,
    ask: EngineAsk = {},
  ): Promise<EngineJson | Unknown> {
    const answer = await this.raw(path, signal, ask);
    if (answer.kind === "unknown") return answer;
    const { status, bytes, cut } = answer;
    if (cut) return notUnderstood("the engine's answer is too long");
    if (bytes.length === 0) return { kind: "answered", status, value: null };
    const read = readJson(bytes, { bytes: MOST_JSON, depth: 64, values: 500_000 });
    return read.kind === "ok"
      ? { kind: "answered", status, value: read.value }
      : notUnderstood("the engine's answer is not JSON");
  }

  /** Asks and gives the bytes. */
  async raw(
    path: string,
    signal: AbortSignal,
    ask: EngineAsk = {},
  ): Promise<EngineAnswer | Unknown> {
    const version = await this.#version(signal);
    return typeof version === "string"
      ? await this.#send(`/${version}${path}`, signal, ask)
      : version;
  }

  /** The newest version both sides know. Asked each time: an engine can be replaced under us. */
  async #version(signal: AbortSignal): Promise<string | Unknown> {
    const answer = await this.#send("/version", signal, {});
    if (answer.kind === "unknown") return answer;
    const read = readJson(answer.bytes);
    const value = read.kind === "ok" ? tableOf(read.value) : {};
    const of = (key: string) => {
      const text = value[key];
      const minor = /^1\.(\d{1,3})$/.exec(typeof text === "string" ? text : "")?.[1];
      return minor === undefined ? null : Number(minor);
    };
    const newest = of("ApiVersion");
    const oldest = of("MinAPIVersion");
    if (answer.status !== 200 || newest === null || oldest === null) {
      return notUnderstood("what answers on the socket is no container engine");
    }
    const chosen = Math.min(newest, NEWEST);
    return chosen < OLDEST || chosen < oldest
      ? notUnderstood(`the engine speaks 1.${oldest} to 1.${newest}, expected 1.${OLDEST} or later`)
      : `v1.${chosen}`;
  }

  async #send(
    target: string,
    signal: AbortSignal,
    { method = "GET", body, deadlineMs = this.#deadlineMs, mostBytes = MOST_JSON }: EngineAsk,
  ): Promise<EngineAnswer | Unknown> {
    const over = new AbortController();
    const onAbort = () => over.abort();
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    const done = new AbortController();
    void this.#clock.sleep(deadlineMs, done.signal).then(onAbort, () => {});
    const sent = body === undefined ? null : new TextEncoder().encode(JSON.stringify(body));
    try {
      const answer = await this.#upstream.send({
        endpoint: ENDPOINT,
        method,
        target,
        headers: sent === null ? [] : [["content-type", "application/json"]],
        body: sent === null
          ? { kind: "none" }
          : { kind: "bytes", size: sent.length, chunks: [sent] },
        connectMs: CONNECT_MS,
        signal: over.signal,
      });
      if (answer.kind === "failed") {
        return {
          kind: "unknown",
          code: answer.code === "aborted" || answer.code === "connect_timeout"
            ? "runtime_silent"
            : "runtime_unreachable",
          detail: answer.sent === "no"
            ? "the container engine cannot be reached on its socket"
            : "the container engine broke off before it answered",
          cause: answer.cause,
        };
      }
      const tail = new Tail(mostBytes);
      for (;;) {
        const read = await answer.body.read(new Uint8Array(64 * 1024));
        if (read.kind === "end") break;
        if (read.kind === "broken") {
          return {
            kind: "unknown",
            code: over.signal.aborted ? "runtime_silent" : "runtime_unreachable",
            detail: "the container engine broke off in the middle of its answer",
            cause: read.cause,
          };
        }
        tail.add(read.bytes);
        if (tail.total > 8 * mostBytes) {
          answer.body.cancel();
          break;
        }
      }
      return { kind: "answered", status: answer.status, ...tail.taken() };
    } finally {
      done.abort();
      signal.removeEventListener("abort", onAbort);
    }
  }
}

/** Keeps the last bytes of what comes. */
class Tail {
  readonly #most: number;
  #chunks: Uint8Array[] = [];
  #held = 0;
  total = 0;

  constructor(most: number) {
    this.#most = most;
  }

  add(bytes: Uint8Array): void {
    this.#chunks.push(bytes.slice());
    this.#held += bytes.length;
    this.total += bytes.length;
    if (this.#held > 4 * this.#most) this.#compact();
  }

  taken(): { readonly bytes: Uint8Array<ArrayBuffer>; readonly cut: boolean } {
    const bytes = this.#compact();
    return { bytes, cut: this.total > bytes.length };
  }

  #compact(): Uint8Array<ArrayBuffer> {
    const all = new Uint8Array(this.#held);
    let at = 0;
    for (const chunk of this.#chunks) {
      all.set(chunk, at);
      at += chunk.length;
    }
    const kept = all.slice(Math.max(0, all.length - this.#most));
    this.#chunks = [kept];
    this.#held = kept.length;
    return kept;
  }
}

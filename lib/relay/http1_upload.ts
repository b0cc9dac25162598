/**
 * The request on its way out: the head, then exactly as many body bytes as it promised. A small
 * body of bytes goes with the head in one write. Never a byte twice, never a byte too many.
 *
 * @module
 */

import { requestHead } from "./http1_request.ts";
import type { Conn } from "./dial.ts";
import type { UpstreamAsk } from "./upstream.ts";

/** A body up to this size is copied behind the head. */
const ONE_WRITE = 64 * 1024;

/** One request being written. Never rejects: what happened is in its fields. */
export class Upload {
  /** True once the system took every byte. */
  complete = false;
  /** True when the first write was rejected: no byte of the request left this process. */
  unsent = false;
  /** Why the body is short, once it is. */
  bodyFailure: string | null = null;
  readonly #conn: Conn;
  readonly #failed: () => void;
  #reader: ReadableStreamDefaultReader<Uint8Array> | null = null;
  #started = false;
  #stopped = false;

  /** Starts to write. `failed` is called once if the request can no longer be completed. */
  constructor(conn: Conn, ask: UpstreamAsk, failed: () => void) {
    this.#conn = conn;
    this.#failed = failed;
    this.#run(ask);
  }

  /** Writes no further chunk and lets go of the body stream. Bytes in flight stay in flight. */
  stop(): void {
    this.#stopped = true;
    this.#letGo();
  }

  async #run(ask: UpstreamAsk): Promise<void> {
    const { body } = ask;
    const small = body.kind === "bytes" && body.size <= ONE_WRITE;
    const head = requestHead(ask, small ? body.size : 0);
    if (small) {
      let at = head.length;
      for (const chunk of body.chunks) {
        head.bytes.set(chunk, at);
        at += chunk.length;
      }
    }
    if (body.kind === "stream") this.#reader = body.stream.getReader();
    try {
      if (!await this.#write(head.bytes)) return;
      if (body.kind === "bytes" && !small) {
        for (const chunk of body.chunks) if (!await this.#write(chunk)) return;
      } else if (this.#reader !== null && body.kind === "stream") {
        if (!await this.#pump(this.#reader, body.size)) return;
      }
      this.complete = true;
      // takes the stream's own end, which follows at once where the size was true
      if (this.#reader !== null) await nextChunk(this.#reader);
    } catch {
      // the connection broke. What the member said before is still to be read; when not even the
      // first byte went, there is nothing to wait for
      this.unsent = !this.#started;
      if (this.unsent) this.#failed();
    } finally {
      this.#letGo();
    }
  }

  /** True when all of it was written. */
  async #pump(reader: ReadableStreamDefaultReader<Uint8Array>, size: number): Promise<boolean> {
    for (let left = size; left > 0;) {
      const chunk = await nextChunk(reader);
      if (this.#stopped) return false;
      if (typeof chunk === "string") return this.#bodyFailed(chunk);
      if (chunk === null) return this.#bodyFailed(`${left} of ${size} bytes short`);
      if (chunk.length > left) return this.#bodyFailed(`longer than the promised ${size} bytes`);
      if (!await this.#write(chunk)) return false;
      left -= chunk.length;
    }
    return true;
  }

  #bodyFailed(cause: string): false {
    this.bodyFailure = cause;
    this.#failed();
    return false;
  }

  /** True when all of it was written, false when it was stopped before. */
  async #write(bytes: Uint8Array): Promise<boolean> {
    for (let at = 0; at < bytes.length;) {
      if (this.#stopped) return false;
      at += await this.#conn.write(at === 0 ? bytes : bytes.subarray(at));
      this.#started = true;
    }
    return true;
  }

  #letGo(): void {
    this.#reader?.cancel().catch(() => {}); // a stream that threw throws again; it has been told
    this.#reader = null;
  }
}

/** A chunk, null at the end, or what the stream threw. */
async function nextChunk(
  reader: ReadableStreamDefaultReader<Uint8Array>,
): Promise<Uint8Array | string | null> {
  try {
    const { done, value } = await reader.read();
    return done ? null : value;
  } catch (error) {
    return String(error);
  }
}

/**
 * A client that reads as much as it wants, when it wants, over a connection it can break.
 *
 * @module
 */

import { type Exchange, getBytes, postBytes, receive } from "../fixtures/raw_client.ts";
import { ALIAS, TOKEN } from "./router_toml.ts";

/** Paths of the two dialects the first router speaks. */
export const CHAT = "/v1/chat/completions";
/** Anthropic's. */
export const MESSAGES = "/v1/messages";

/** A small valid body for either path. */
export function askBody(more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return {
    model: ALIAS,
    max_tokens: 6,
    messages: [{ role: "user", content: "hi" }],
    ...more,
  };
}

/** A POST with the test's token, as bytes. */
export function ask(
  path: string,
  body: unknown = askBody(),
  headers: Readonly<Record<string, string>> = {},
): Uint8Array {
  return postBytes(path, body, { authorization: `Bearer ${TOKEN}`, ...headers });
}

/** A GET with the test's token, as bytes. */
export function get(path: string, headers: Readonly<Record<string, string>> = {}): Uint8Array {
  return getBytes(path, { authorization: `Bearer ${TOKEN}`, ...headers });
}

/** One connection. */
export class StreamReader implements Disposable {
  readonly #connection: Deno.TcpConn;
  readonly #buffer = new Uint8Array(64 * 1024);
  #open = true;
  text = "";
  bytes = 0;

  private constructor(connection: Deno.TcpConn) {
    this.#connection = connection;
  }

  static async open(port: number, request: Uint8Array): Promise<StreamReader> {
    const reader = new StreamReader(await Deno.connect({ hostname: "127.0.0.1", port }));
    await reader.send(request);
    return reader;
  }

  /** Sends all of it. Rejects when the peer takes no more. */
  async send(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) at += await this.#connection.write(bytes.subarray(at));
  }

  /** Reads until `text` contains `wanted`; false when the connection ended before. */
  async readUntil(wanted: string): Promise<boolean> {
    while (!this.text.includes(wanted)) if (!await this.#read()) return false;
    return true;
  }

  /** Reads on while `wanted` says so; ends too when the connection does. */
  async readWhile(wanted: () => boolean): Promise<void> {
    try {
      while (wanted() && await this.#read());
    } catch (error) {
      if (!(error instanceof Deno.errors.ConnectionReset)) throw error;
    }
  }

  /** Reads to the end of the connection or of the response. */
  async rest(): Promise<Exchange> {
    const already = new TextEncoder().encode(this.text);
    const got = await receive(this.#connection);
    const bytes = new Uint8Array(already.length + got.bytes.length);
    bytes.set(already);
    bytes.set(got.bytes, already.length);
    return { ...got, bytes };
  }

  /** Reads on until the peer ends the connection. How it did. */
  async drain(): Promise<"fin" | "reset"> {
    try {
      while (await this.#read());
      return "fin";
    } catch {
      return "reset";
    }
  }

  close(): void {
    if (this.#open) this.#connection.close();
    this.#open = false;
  }

  [Symbol.dispose](): void {
    this.close();
  }

  async #read(): Promise<boolean> {
    const count = await this.#connection.read(this.#buffer);
    if (count === null) return false;
    this.bytes += count;
    this.text += new TextDecoder().decode(this.#buffer.subarray(0, count));
    return true;
  }
}

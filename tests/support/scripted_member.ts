/**
 * A member that proves its model, and answers each POST with the bytes that a test writes.
 *
 * @module
 */

import { MODEL } from "./router_toml.ts";

/** A member that listens. */
export interface ScriptedMember extends AsyncDisposable {
  readonly port: number;
}

/** Writes to the client; what is written is text. */
export type Write = (text: string) => Promise<void>;

/** Listens. `answer` is called for each POST, after the status line; it gives true to close. */
export function scriptedMember(answer: (write: Write) => Promise<boolean>): ScriptedMember {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.Conn>();
  const encoder = new TextEncoder();
  const list = JSON.stringify({ data: [{ id: MODEL }] });
  const proof = `content-type: application/json\r\ncontent-length: ${list.length}\r\n\r\n${list}`;
  const serve = async (connection: Deno.Conn) => {
    open.add(connection);
    const buffer = new Uint8Array(64 * 1024);
    const write = async (text: string) => {
      const bytes = encoder.encode(text);
      for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
    };
    try {
      for (let going = true; going;) {
        const count = await connection.read(buffer);
        if (count === null) break;
        await write("HTTP/1.1 200 OK\r\n");
        const probe = new TextDecoder().decode(buffer.subarray(0, count)).startsWith("GET");
        if (probe) await write(proof);
        else going = !await answer(write);
      }
    } catch { /* reset, or closed by the test */ }
    if (open.delete(connection)) connection.close();
  };
  const accepting = (async () => {
    const served: Promise<void>[] = [];
    try {
      for await (const connection of listener) served.push(serve(connection));
    } catch { /* closed by the test */ }
    await Promise.all(served);
  })();
  return {
    port: listener.addr.port,
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const connection of open) connection.close();
      open.clear();
      await accepting;
    },
  };
}

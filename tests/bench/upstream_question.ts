/**
 * What the load asks the upstream directly, past the relay.
 *
 * @module
 */

import { monotonicMicros } from "./libc.ts";
import type { Poller } from "./poller.ts";
import { ResponseReader } from "./response_reader.ts";

const PATIENCE_MICROS = 3_000_000;

/**
 * `closes`: streams whose connection closed since the last question, and when (us).
 * `finish`: ends every stream; how many events each had.
 * `lateness`: how late the latest event left since the last question (us), under the id 0.
 */
export function askUpstream(
  poller: Poller,
  port: number,
  what: "closes" | "finish" | "lateness",
): [number, number][] {
  const connection = poller.connect(port);
  if (connection === null) throw new Error("the bench upstream is gone");
  let text = "";
  let over = false;
  const reader = new ResponseReader({
    head: () => {},
    body: (bytes, from, to) => text += new TextDecoder().decode(bytes.subarray(from, to)),
    end: () => over = true,
  });
  connection.listener = {
    received: (bytes, length) => reader.feed(bytes, length),
    ended: () => over = true,
  };
  connection.send(new TextEncoder().encode(`GET /bench/${what} HTTP/1.1\r\nhost: bench\r\n\r\n`));
  const limit = monotonicMicros() + PATIENCE_MICROS;
  while (!over && monotonicMicros() < limit) poller.poll(5);
  connection.close();
  return JSON.parse(text) as [number, number][];
}

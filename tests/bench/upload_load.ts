/**
 * Large bodies, several at once, as fast as the relay takes them. The upstream answers with the length
 * and a sum of what it got.
 *
 * @module
 */

import { Problems, type Seen, type Target, type Work } from "./job.ts";
import { monotonicMicros } from "./libc.ts";
import { Meter } from "./meter.ts";
import { type Connection, Poller } from "./poller.ts";
import { memory } from "./process_facts.ts";
import { ResponseReader } from "./response_reader.ts";
import { compare } from "./upload_answer.ts";
import { chatBody, request, sum } from "./wire.ts";

const BYTES = 20 * 1024 * 1024;
const PATIENCE_MICROS = 25_000_000;

/** Runs it. */
export function loadUploads(target: Target, work: Extract<Work, { kind: "uploads" }>): Seen {
  const poller = new Poller();
  const problems = new Problems();
  const body = new TextEncoder().encode(chatBody("bench:upload", false, BYTES));
  const head = request(target.headers, { length: body.length });
  const expected = sum(0, body, 0, body.length);
  const total = work.parallel * work.each;
  let done = 0;

  function upload(connection: Connection, left: number): void {
    let at = 0;
    let text = "";
    const push = () => {
      while (at < body.length) {
        const sent = connection.write(body, at);
        if (sent === 0) return;
        at += sent;
      }
    };
    const reader = new ResponseReader({
      head: (status) => {
        if (status !== 200) problems.add(`status ${status}`);
      },
      body: (bytes, from, to) => text += new TextDecoder().decode(bytes.subarray(from, to)),
      end: () => {
        const difference = compare(text, body.length, expected, target.exact);
        if (difference !== null) problems.add(difference);
        done++;
        if (left > 1) upload(connection, left - 1);
        else connection.close();
      },
    });
    connection.listener = {
      received: (bytes, length) => reader.feed(bytes, length),
      ended: () => problems.add("the connection closed under an upload"),
      writable: push,
    };
    connection.send(head);
    push();
  }

  const meter = new Meter(target);
  const limit = monotonicMicros() + PATIENCE_MICROS;
  for (let i = 0; i < work.parallel; i++) {
    const connection = poller.connect(target.port);
    if (connection === null) problems.add("connection refused");
    else upload(connection, work.each);
  }
  while (done < total && problems.count === 0 && monotonicMicros() < limit) poller.poll(20);
  const cost = meter.stop();
  if (done < total) problems.add(`${done} of ${total} uploads were answered in time`);
  const { peak } = memory(target.relayPids);
  return {
    problems: problems.list(),
    numbers: {
      "uploads.peak": peak,
      "uploads.growth": peak - target.idleResident,
      "uploads.cpu": cost.relay / total,
      "uploads.rate": total * BYTES / cost.micros * 1e6,
    },
  };
}

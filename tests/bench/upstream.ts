/**
 * The upstream of the bench, a process of its own: answers JSON, streams events on schedule, swallows
 * uploads, and notes when a stream's connection closes. Prints `{"port":N}` and ends with its stdin.
 *
 * @module
 */

import { monotonicMicros } from "./libc.ts";
import { type Connection, Poller } from "./poller.ts";
import { RequestReader } from "./request_reader.ts";
import { Schedule, Stream } from "./schedule.ts";
import * as wire from "./wire.ts";

const encoder = new TextEncoder();
const poller = new Poller();
const schedule = new Schedule(monotonicMicros);
/** Stream id -> when its connection closed before the stream's end, in us. */
let closes = new Map<number, number>();

const jsonBody = wire.jsonAnswerBody();
const jsonHead = wire.answerHead(jsonBody.bytes.length);
const jsonAnswer = encoder.encode(jsonHead + new TextDecoder().decode(jsonBody.bytes));
const jsonAt = jsonHead.length + jsonBody.at;
const modelList = wire.answer(
  JSON.stringify({ object: "list", data: [{ id: wire.MODEL, object: "model", created: 1 }] }),
);

/** One accepted connection. */
class Exchange {
  #stream: Stream | null = null;
  #sum = 0;
  readonly #reader: RequestReader;

  constructor(private readonly connection: Connection) {
    this.#reader = new RequestReader({
      begin: () => this.#sum = 0,
      piece: (bytes, from, to) => this.#sum = wire.sum(this.#sum, bytes, from, to),
      end: (line, instruction, length) => this.#answer(line, instruction, length),
      refuse: (status) => {
        connection.send(encoder.encode(`HTTP/1.1 ${status}\r\ncontent-length: 0\r\n\r\n`));
      },
    });
    connection.listener = {
      received: (bytes, length) => this.#reader.feed(bytes, length),
      ended: () => this.#closed(),
    };
  }

  #closed(): void {
    const stream = this.#stream;
    if (stream === null || stream.over) return;
    closes.set(stream.id, monotonicMicros());
    schedule.remove(stream);
  }

  #answer(line: string, instruction: string, length: number): void {
    const [kind, ...rest] = instruction.split(":");
    const numbers = rest.map(Number);
    const [first = 0, second = 0, third = 0] = numbers;
    switch (kind) {
      case "json":
        wire.patch(jsonAnswer, jsonAt, 8, first);
        this.connection.send(jsonAnswer);
        return;
      case "sse":
        this.#stream = new Stream(this.connection, first, second, third);
        schedule.add(this.#stream);
        return;
      case "upload":
        this.connection.send(wire.answer(JSON.stringify({ length, sum: this.#sum })));
        return;
      default:
        this.#ask(line);
    }
  }

  #ask(line: string): void {
    if (line.startsWith("GET /bench/closes")) {
      this.connection.send(wire.answer(JSON.stringify([...closes])));
      closes = new Map();
    } else if (line.startsWith("GET /bench/finish")) {
      this.connection.send(wire.answer(JSON.stringify(schedule.finish())));
    } else if (line.startsWith("GET /bench/lateness")) {
      this.connection.send(wire.answer(JSON.stringify([[0, schedule.takeLateness()]])));
    } else if (line.startsWith("GET /v1/models")) {
      this.connection.send(modelList);
    } else {
      this.connection.send(encoder.encode("HTTP/1.1 404 -\r\ncontent-length: 0\r\n\r\n"));
    }
  }
}

const port = poller.listen((connection) => new Exchange(connection));
poller.onHangup(0, () => Deno.exit(0));
console.log(JSON.stringify({ port }));
while (true) {
  poller.poll(schedule.waitMs());
  schedule.run();
}

/**
 * Closed loop of small JSON requests: each connection asks again when it has its answer. The time of
 * a request is from its write to its last byte, at the load the relay itself allows.
 *
 * @module
 */

import { sameFields } from "./json_fields.ts";
import { Problems, type Seen, type Target, type Work } from "./job.ts";
import { monotonicMicros } from "./libc.ts";
import { Meter } from "./meter.ts";
import { type Connection, Poller } from "./poller.ts";
import { ResponseReader } from "./response_reader.ts";
import { quantiles } from "./statistics.ts";
import * as wire from "./wire.ts";

const PATIENCE_MICROS = 10_000_000;

/** Runs it. */
export function loadJson(target: Target, work: Extract<Work, { kind: "json" }>): Seen {
  const run = new Run(target, work.connections);
  const warmUntil = monotonicMicros() + work.warmSeconds * 1e6;
  run.until(warmUntil);
  run.latencies = [];
  const meter = new Meter(target);
  run.until(monotonicMicros() + work.seconds * 1e6);
  const cost = meter.stop();
  const shape = quantiles(run.latencies);
  if (shape.count === 0) run.problems.add("no request was answered in the window");
  const name = `json${work.connections}`;
  return {
    problems: run.problems.list(),
    numbers: {
      [`${name}.rate`]: shape.count / cost.micros * 1e6,
      [`${name}.p50`]: shape.p50,
      [`${name}.p99`]: shape.p99,
      [`${name}.cpu`]: cost.relay / shape.count,
      [`${name}.relay_busy`]: cost.relayBusy,
      [`${name}.load_busy`]: cost.loadBusy,
      [`${name}.others_busy`]: cost.othersBusy,
    },
  };
}

class Run {
  readonly poller = new Poller();
  readonly problems = new Problems();
  latencies: number[] = [];
  #serial = 0;
  #lastAnswer = monotonicMicros();

  constructor(readonly target: Target, connections: number) {
    for (let i = 0; i < connections; i++) this.open();
  }

  open(): void {
    const connection = this.poller.connect(this.target.port);
    if (connection === null) this.problems.add("connection refused");
    else new Asker(this, connection).ask();
  }

  next(): number {
    return ++this.#serial;
  }

  took(micros: number, now: number): void {
    this.latencies.push(micros);
    this.#lastAnswer = now;
  }

  until(end: number): void {
    for (let now = monotonicMicros(); now < end; now = monotonicMicros()) {
      this.poller.poll(50);
      if (now - this.#lastAnswer > PATIENCE_MICROS || this.problems.count > 1000) {
        this.problems.add("no answer for 10 s, or a thousand problems");
        return;
      }
    }
  }
}

/** One connection. */
class Asker {
  readonly #request: wire.Numbered;
  readonly #expected = wire.jsonAnswerBody();
  readonly #reader: ResponseReader;
  #sentAt = 0;
  #position = 0;
  #wrong = false;
  #text = "";

  constructor(private readonly run: Run, private readonly connection: Connection) {
    this.#request = wire.jsonRequest(run.target.headers);
    this.#reader = new ResponseReader({
      head: (status) => {
        if (status !== 200) run.problems.add(`status ${status}`);
      },
      body: (bytes, from, to) => this.#compare(bytes, from, to),
      end: () => this.#answered(),
    });
    connection.listener = {
      received: (bytes, length) => {
        this.#reader.feed(bytes, length);
        if (this.#reader.broken) this.#failed("an answer that is no HTTP/1.1");
      },
      ended: () => this.#failed("keep-alive connection closed under a request"),
    };
  }

  ask(): void {
    const serial = this.run.next();
    wire.patch(this.#request.bytes, this.#request.at, 8, serial);
    wire.patch(this.#expected.bytes, this.#expected.at, 8, serial);
    this.#position = 0;
    this.#wrong = false;
    this.#text = "";
    this.#sentAt = monotonicMicros();
    this.connection.send(this.#request.bytes);
  }

  #compare(bytes: Uint8Array, from: number, to: number): void {
    if (!this.run.target.exact) {
      this.#text += new TextDecoder().decode(bytes.subarray(from, to));
      return;
    }
    const expected = this.#expected.bytes;
    for (let i = from; i < to; i++) {
      if (bytes[i] !== expected[this.#position++]) this.#wrong = true;
    }
  }

  #answered(): void {
    const now = monotonicMicros();
    const exact = this.run.target.exact;
    const right = exact
      ? !this.#wrong && this.#position === this.#expected.bytes.length
      : sameFields(this.#text, new TextDecoder().decode(this.#expected.bytes));
    if (!right) this.run.problems.add("a JSON body that is not the one the upstream sent");
    this.run.took(now - this.#sentAt, now);
    this.ask();
  }

  #failed(problem: string): void {
    this.run.problems.add(problem);
    this.connection.close();
    this.run.open();
  }
}

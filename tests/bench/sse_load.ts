/**
 * Many streams at a steady rate. Every event carries its send time, so its latency is one-way and
 * needs no answer: a slow relay cannot slow the measurement down (no coordinated omission).
 *
 * @module
 */

import { Problems, type Seen, type Target, type Work } from "./job.ts";
import { monotonicMicros } from "./libc.ts";
import { Meter } from "./meter.ts";
import { Poller } from "./poller.ts";
import { memory } from "./process_facts.ts";
import { quantiles } from "./statistics.ts";
import { StreamReader, streamRequest } from "./stream_client.ts";
import { askUpstream } from "./upstream_question.ts";

/** Seconds that all streams together may take to begin. */
const RAMP_SECONDS = 5;
/** Seconds that the last events may take after the upstream sent them. */
const PATIENCE_SECONDS = 5;
const OPEN_AT_ONCE = 20;

/** Runs it. */
export function loadStreams(target: Target, work: Extract<Work, { kind: "sse" }>): Seen {
  const { name } = work;
  const run = new Run(target, work);
  if (!run.openAll()) {
    run.finish();
    return { numbers: {}, problems: run.problems.list() };
  }
  run.pumpFor(work.warmSeconds);
  askUpstream(run.poller, target.upstreamPort, "lateness");
  const meter = new Meter(target);
  run.measuring = true;
  run.pumpFor(work.seconds);
  run.measuring = false;
  const cost = meter.stop();
  const { resident } = memory(target.relayPids);
  run.finish();
  const lateness = askUpstream(run.poller, target.upstreamPort, "lateness")[0]?.[1] ?? NaN;
  const shape = quantiles(run.latencies);
  return {
    problems: run.problems.list(),
    numbers: {
      [`${name}.p50`]: shape.p50,
      [`${name}.p99`]: shape.p99,
      [`${name}.max`]: shape.max,
      [`${name}.cpu`]: cost.relay / shape.count,
      [`${name}.rss`]: resident,
      [`${name}.rss_per_stream`]: (resident - target.idleResident) / work.streams,
      [`${name}.rate`]: shape.count / cost.micros * 1e6,
      [`${name}.relay_busy`]: cost.relayBusy,
      [`${name}.load_busy`]: cost.loadBusy,
      [`${name}.others_busy`]: cost.othersBusy,
      [`${name}.lateness`]: lateness,
    },
  };
}

class Run {
  readonly poller = new Poller();
  readonly problems = new Problems();
  readonly latencies: number[] = [];
  measuring = false;
  #begun = 0;
  /** Stream -> events so far. */
  readonly #events = new Map<number, number>();
  readonly #done = new Set<number>();

  constructor(
    private readonly target: Target,
    private readonly work: Extract<Work, { kind: "sse" }>,
  ) {}

  /** False when not all of them began in time. */
  openAll(): boolean {
    const limit = monotonicMicros() + RAMP_SECONDS * 1e6;
    for (let id = 0; id < this.work.streams; id++) {
      this.#open(id);
      if (id % OPEN_AT_ONCE === OPEN_AT_ONCE - 1) this.poller.poll(1);
    }
    const { streams } = this.work;
    this.#pump(() => this.#begun === streams || monotonicMicros() >= limit);
    if (this.#begun === streams) return true;
    this.problems.add(`${this.#begun} of ${streams} streams began within ${RAMP_SECONDS} s`);
    return false;
  }

  pumpFor(seconds: number): void {
    const until = monotonicMicros() + seconds * 1e6;
    this.#pump(() => monotonicMicros() >= until);
  }

  /** Has the upstream end all streams, and compares what came with what was sent. */
  finish(): void {
    const sent = new Map(askUpstream(this.poller, this.target.upstreamPort, "finish"));
    const limit = monotonicMicros() + PATIENCE_SECONDS * 1e6;
    this.#pump(() => this.#done.size === sent.size || monotonicMicros() >= limit);
    const total = [...sent.values()].reduce((sum, count) => sum + count, 0);
    const came = [...this.#events.values()].reduce((sum, count) => sum + count, 0);
    const right = [...sent].every(([id, count]) => (this.#events.get(id) ?? 0) === count);
    if (!right || this.#done.size < this.work.streams) {
      this.problems.add(
        `overloaded or cut: ${came} of ${total} events and ${this.#done.size} of ` +
          `${this.work.streams} ends came within ${PATIENCE_SECONDS} s`,
      );
    }
  }

  #pump(over: () => boolean): void {
    while (!over() && this.problems.count < 1000) this.poller.poll(5);
  }

  #open(id: number): void {
    const connection = this.poller.connect(this.target.port);
    if (connection === null) {
      this.problems.add("connection refused");
      return;
    }
    const periodMicros = Math.round(1e6 / this.work.eventsPerSecond);
    const order = { id, periodMicros, slowMicros: 0 };
    let ended = false;
    const reader = new StreamReader(order, {
      event: (sequence, sent) => {
        this.#events.set(id, sequence + 1);
        if (sequence === 0) this.#begun++;
        const latency = monotonicMicros() - sent;
        if (latency < 0) this.problems.add("an event arrived before it was sent: two clocks");
        if (this.measuring) this.latencies.push(latency);
      },
      done: () => {
        ended = true;
        this.#done.add(id);
        connection.close();
      },
      problem: (what) => this.problems.add(what),
    });
    connection.listener = {
      received: (bytes, length) => reader.feed(bytes, length),
      ended: () => {
        if (!ended) this.problems.add("a stream's connection closed before its end");
      },
    };
    connection.send(streamRequest(this.target.headers, order));
  }
}

/**
 * Clients that leave: each closes after its third event, while the model thinks (the next event is
 * half a second away), and the upstream says when its side was closed.
 *
 * @module
 */

import { Problems, type Seen, type Target, type Work } from "./job.ts";
import { monotonicMicros } from "./libc.ts";
import { Poller } from "./poller.ts";
import { quantiles } from "./statistics.ts";
import { StreamReader, streamRequest } from "./stream_client.ts";
import { askUpstream } from "./upstream_question.ts";

const LEAVE_AFTER = 2;
const QUICK_MICROS = 2_000;
const SLOW_MICROS = 500_000;
/** A close that the upstream did not see by then counts as this long. */
const UNSEEN_MICROS = 2_000_000;
const PATIENCE_MICROS = 20_000_000;

/** Runs it. */
export function loadCancels(target: Target, work: Extract<Work, { kind: "cancel" }>): Seen {
  const poller = new Poller();
  const problems = new Problems();
  /** Stream -> when its client left. */
  const left = new Map<number, number>();
  let opened = 0;

  function open(): void {
    if (opened === work.aborts) return;
    const id = opened++;
    const connection = poller.connect(target.port);
    if (connection === null) {
      problems.add("connection refused");
      return;
    }
    const order = { id, periodMicros: QUICK_MICROS, slowMicros: SLOW_MICROS };
    const reader = new StreamReader(order, {
      event: (sequence) => {
        if (sequence !== LEAVE_AFTER) return;
        left.set(id, monotonicMicros());
        connection.close();
        open();
      },
      done: () => problems.add("a stream ended that should go on"),
      problem: (what) => problems.add(what),
    });
    connection.listener = {
      received: (bytes, length) => reader.feed(bytes, length),
      ended: () => problems.add("a stream's connection closed before the client left"),
    };
    connection.send(streamRequest(target.headers, order));
  }

  const begun = monotonicMicros();
  for (let i = 0; i < work.parallel; i++) open();
  while (left.size < work.aborts && problems.count === 0) {
    poller.poll(20);
    if (monotonicMicros() - begun > PATIENCE_MICROS) problems.add("aborts did not finish in 20 s");
  }
  const seen = new Map<number, number>();
  const limit = monotonicMicros() + UNSEEN_MICROS;
  while (seen.size < left.size && monotonicMicros() < limit) {
    for (const [id, at] of askUpstream(poller, target.upstreamPort, "closes")) seen.set(id, at);
    poller.poll(20);
  }
  const waits = [...left].map(([id, at]) => {
    const closed = seen.get(id);
    return closed === undefined ? UNSEEN_MICROS : closed - at;
  });
  const shape = quantiles(waits);
  if (shape.count < work.aborts) problems.add(`${shape.count} of ${work.aborts} aborts were made`);
  return {
    problems: problems.list(),
    numbers: {
      "cancel.p50": shape.p50,
      "cancel.p99": shape.p99,
      "cancel.max": shape.max,
      "cancel.unseen": left.size - seen.size,
      "cancel.aborts": shape.count,
    },
  };
}

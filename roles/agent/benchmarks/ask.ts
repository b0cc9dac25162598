/**
 * One request of a benchmark, sent once: to an engine on this host, or to its router as one of the
 * router's clients. A failure is an outcome; nothing is tried again.
 *
 * @module
 */

import type { Clock } from "../../../lib/core/clock.ts";
import type { Secret } from "../../../lib/core/secret.ts";
import { AnswerStream, type StreamTold } from "../../../lib/benchmark/answer_stream.ts";
import {
  type AnswerError,
  type Asked,
  type Outcome,
  outcomeOf,
  unanswered,
} from "../../../lib/benchmark/outcome.ts";
import type { Corpus } from "../../../lib/benchmark/corpus.ts";
import type {
  ByteSource,
  Endpoint,
  Upstream,
  UpstreamAnswer,
} from "../../../lib/relay/upstream.ts";

/** Where requests go. */
export interface Door {
  readonly endpoint: Endpoint;
  /** What `model` of a request says: the served model, or the alias. */
  readonly model: string;
  /** The router key of the benchmark; null at an engine, which gets none. */
  readonly key: Secret | null;
  /** The tier that has to answer, as the router names it; null at an engine. */
  readonly tier: string | null;
}

/** What asking needs. */
export interface AskPorts {
  readonly upstream: Upstream;
  readonly clock: Clock;
}

const CONNECT_MS = 5000;
const READ_BYTES = 64 * 1024;

/** The request of `prompt`, as it goes over the wire. */
export function requestBody(
  corpus: Corpus,
  index: number,
  { model }: Door,
  topLogprobs: number,
): Uint8Array<ArrayBuffer> {
  const one = corpus.prompts[index % corpus.prompts.length];
  if (one === undefined) throw new TypeError("a corpus without prompts");
  const { temperature, top_p, top_k, seed, max_tokens } = corpus.sampling;
  const given = Object.entries({ temperature, top_p, top_k, seed }).filter(([, v]) => v !== null);
  return new TextEncoder().encode(JSON.stringify({
    model,
    messages: one.messages,
    ...Object.fromEntries(given),
    max_tokens,
    stream: true,
    stream_options: { include_usage: true },
    ...(topLogprobs === 0 ? {} : { logprobs: true, top_logprobs: topLogprobs }),
  }));
}

/** Asks once. Aborting `signal` ends it as `cancelled`, `requestMs` as `timed_out`. */
export async function askOnce(
  { upstream, clock }: AskPorts,
  door: Door,
  asked: Asked,
  body: Uint8Array,
  requestMs: number,
  signal: AbortSignal,
): Promise<Outcome> {
  const late = new AbortController();
  const over = new AbortController();
  void clock.sleep(requestMs, over.signal).then(() => late.abort(), () => {});
  const sent = clock.monotonic();
  const took = () => ({ totalMs: clock.monotonic() - sent });
  const ours = (): AnswerError | null =>
    signal.aborted ? "cancelled" : late.signal.aborted ? "timed_out" : null;
  try {
    const answer = await upstream.send({
      endpoint: door.endpoint,
      method: "POST",
      target: "/v1/chat/completions",
      headers: [
        ["accept", "text/event-stream"],
        ["content-type", "application/json"],
        ...(door.key === null ? [] : [["authorization", `Bearer ${door.key.reveal()}`] as const]),
      ],
      body: { kind: "bytes", size: body.length, chunks: [body] },
      connectMs: CONNECT_MS,
      signal: AbortSignal.any([signal, late.signal]),
    });
    if (answer.kind === "failed") {
      return unanswered(asked, ours() ?? (answer.sent === "no" ? "not_sent" : "no_answer"), took());
    }
    const no = refusedHead(answer, door);
    if (no !== null) {
      answer.body.cancel();
      return unanswered(asked, no, { status: answer.status, ...took() });
    }
    const { told, end } = await readStream(answer.body, clock);
    const ended = clock.monotonic();
    return outcomeOf(asked, { sent, ended }, told, faultOf(told, end, ours()));
  } finally {
    over.abort();
  }
}

function refusedHead(
  { status, headers }: Extract<UpstreamAnswer, { kind: "answered" }>,
  { tier }: Door,
): AnswerError | null {
  if (status !== 200) return "http_status";
  const value = (wanted: string) => headers.find(([name]) => name === wanted)?.[1];
  if (tier !== null && value("x-anvil-tier") !== tier) return "wrong_tier";
  return /^text\/event-stream\b/i.test(value("content-type") ?? "") ? null : "not_a_stream";
}

type End = "end" | "left" | "truncated" | "broken";

/** Reads until the end, or until nothing more can come of it. */
async function readStream(
  body: ByteSource,
  clock: Clock,
): Promise<{ readonly told: StreamTold; readonly end: End }> {
  const stream = new AnswerStream();
  const into = new Uint8Array(READ_BYTES);
  for (;;) {
    const read = await body.read(into);
    if (read.kind === "end") return { told: stream.told(), end: "end" };
    if (read.kind === "broken") {
      return { told: stream.told(), end: read.code === "truncated" ? "truncated" : "broken" };
    }
    if (!stream.push(read.bytes, clock.monotonic())) {
      body.cancel();
      return { told: stream.told(), end: "left" };
    }
  }
}

/** What stands against the answer; null when it is whole. */
function faultOf(told: StreamTold, end: End, ours: AnswerError | null): AnswerError | null {
  if (told.fault !== null) return told.fault;
  // What came whole before the time was over is an answer.
  if (end === "end") return told.whole ? null : "truncated";
  return ours ?? (end === "truncated" ? "truncated" : "broken");
}

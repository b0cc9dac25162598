/**
 * Asks an engine on this host over HTTP: its health, then which model it serves now.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import { judge, probePath } from "../identity/kinds.ts";
import type { Upstream } from "../relay/upstream.ts";
import { type Serve, servedModel } from "./manifest_shape.ts";
import type { Probed } from "./probe.ts";

const DEADLINE_MS = 3000;
const CONNECT_MS = 1000;
const MOST_BYTES = 1024 * 1024;
/** A health page is only asked whether it is there. */
const MOST_HEALTH_BYTES = 64 * 1024;

type Said =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "not"; readonly observed: string };

/** What has to be known of an engine to ask it. */
export type Probeable = Pick<Serve, "port" | "health" | "identity" | "model" | "served_model">;

/** A probe over `upstream`, to loopback alone. */
export function httpProbe(
  upstream: Upstream,
  clock: Clock,
): (serve: Probeable, signal: AbortSignal) => Promise<Probed> {
  async function get(
    port: number,
    target: string,
    most: number,
    signal: AbortSignal,
  ): Promise<Said> {
    const over = new AbortController();
    const end = () => over.abort();
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) end();
    const done = new AbortController();
    void clock.sleep(DEADLINE_MS, done.signal).then(end, () => {});
    try {
      const answer = await upstream.send({
        endpoint: { hostname: "127.0.0.1", port },
        method: "GET",
        target,
        headers: [["accept", "application/json"]],
        body: { kind: "none" },
        connectMs: CONNECT_MS,
        signal: over.signal,
      });
      if (answer.kind === "failed") return { kind: "not", observed: WORDS[answer.code] };
      if (answer.status !== 200) {
        answer.body.cancel();
        return { kind: "not", observed: `it answered with status ${answer.status}` };
      }
      const decoder = new TextDecoder();
      let text = "";
      for (let size = 0;;) {
        const read = await answer.body.read(new Uint8Array(16 * 1024));
        if (read.kind === "end") return { kind: "text", text: text + decoder.decode() };
        if (read.kind === "broken") return { kind: "not", observed: "its answer broke off" };
        text += decoder.decode(read.bytes, { stream: true });
        size += read.bytes.length;
        if (size > most) {
          answer.body.cancel();
          return { kind: "not", observed: "its answer is too long" };
        }
      }
    } finally {
      done.abort();
      signal.removeEventListener("abort", end);
    }
  }

  return async (serve, signal) => {
    const health = await get(serve.port, serve.health, MOST_HEALTH_BYTES, signal);
    if (health.kind === "not") return { kind: "not_ready", observed: health.observed };
    const { kind } = serve.identity;
    if (kind === "agent") return { kind: "ready" }; // the process is proven, not the answer
    const said = await get(serve.port, probePath(kind), MOST_BYTES, signal);
    if (said.kind === "not") return { kind: "not_ready", observed: said.observed };
    const expected = servedModel(serve);
    const verdict = judge(kind, expected, said.text);
    switch (verdict.kind) {
      case "match":
        return { kind: "ready" };
      case "mismatch": {
        const [first = "no model"] = verdict.observed;
        return { kind: "mismatch", expected, observed: first.slice(0, 200) };
      }
      case "unparseable":
        return { kind: "unparseable", observed: verdict.detail };
    }
  };
}

const WORDS = {
  connect_refused: "nobody listens yet",
  connect_unreachable: "nobody listens yet",
  connect_timeout: "no answer in time",
  connect_tls: "no TLS session came of it",
  connect_local: "this process could not dial",
  closed_before_head: "it closed the connection",
  malformed_head: "it does not answer as HTTP",
  body_failed: "it closed the connection",
  aborted: "no answer in time",
} as const;

/**
 * Gates that ask a server on this host: our router, llama-swap, anything with JSON.
 *
 * @module
 */

import type { Json } from "../../core/canonical_json.ts";
import { type Observed, observed } from "../gate.ts";
import { getJson, type HttpAsk, httpGet, type HttpPorts, valueAt } from "./http_get.ts";

type Read = (signal: AbortSignal) => Promise<Observed>;

/** Busy while the router on this host has a request open, streaming or waiting. */
export function routerGate(ports: HttpPorts, ask: Omit<HttpAsk, "target">): Read {
  return async (signal) => {
    const got = await getJson(ports, { ...ask, target: "/v1/router/status" }, signal);
    if (got.kind === "none") return observed("unknown", got.code, got.detail);
    const open = valueAt(got.value, "open");
    const tiers = valueAt(got.value, "tiers");
    if (typeof open !== "number" || !Array.isArray(tiers)) {
      return observed("unknown", "not_a_router", "the answer is not a router's status");
    }
    const leased = tiers.reduce((sum: number, tier: Json) => {
      const count = valueAt(tier, "in_flight");
      return sum + (typeof count === "number" ? count : 0);
    }, 0);
    return open > 0 || leased > 0
      ? observed("busy", "requests_in_flight", `${open} open, ${leased} at a member`)
      : observed("clear", "idle", "no request is open");
  };
}

/**
 * Busy while llama-swap works on a request or moves a model. By the snapshot that its event stream
 * begins with: `/running` also names idle models, which must not hold an update up.
 */
export function llamaSwapGate(ports: HttpPorts, ask: Omit<HttpAsk, "target">): Read {
  return async (signal) => {
    const got = await httpGet(
      ports,
      { ...ask, target: "/api/events" },
      signal,
      (bytes) => snapshotOf(bytes).inflight !== null,
    );
    if (got.kind === "none") return observed("unknown", got.code, got.detail);
    if (got.status !== 200) {
      return observed("unknown", `status_${got.status}`, `it answered ${got.status}`);
    }
    const { inflight, moving } = snapshotOf(got.bytes);
    if (inflight === null) {
      return observed("unknown", "no_snapshot", "its events do not tell what is in flight");
    }
    if (inflight > 0) return observed("busy", "requests_in_flight", `${inflight} in flight`);
    return moving.length > 0
      ? observed("busy", "model_moving", `${moving.join(", ")} starts or stops`)
      : observed("clear", "idle", "nothing in flight");
  };
}

/** What the events so far say; the newest word counts. */
export function snapshotOf(bytes: Uint8Array): {
  readonly inflight: number | null;
  readonly moving: readonly string[];
} {
  let inflight: number | null = null;
  let moving: readonly string[] = [];
  const text = new TextDecoder().decode(bytes);
  const whole = text.slice(0, text.lastIndexOf("\n\n") + 2);
  for (const [, line = ""] of whole.matchAll(/^data: ?(.*)$/gm)) {
    const event = parsed(line);
    const data = typeof event === "object" && event !== null ? valueAt(event, "data") : undefined;
    if (typeof data !== "string") continue;
    const inner = parsed(data);
    if (inner === null) continue;
    const type = valueAt(event, "type");
    const total = valueAt(inner, "total");
    if (type === "inflight" && typeof total === "number") inflight = total;
    if (type === "modelStatus" && Array.isArray(inner)) {
      moving = inner.flatMap((model: Json) => {
        const state = valueAt(model, "state");
        return state === "starting" || state === "stopping" ? [String(valueAt(model, "id"))] : [];
      });
    }
  }
  return { inflight, moving };
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return null;
  }
}

/** How two values are compared. */
export const COMPARISONS = ["==", "!=", "<", "<=", ">", ">="] as const;
/** One of {@link COMPARISONS}. */
export type Comparison = (typeof COMPARISONS)[number];

/** True, false, or null when the two cannot be compared that way. */
export function compare(left: Json, how: Comparison, right: Json): boolean | null {
  if (how === "==") return left === right;
  if (how === "!=") return left !== right;
  if (typeof left !== "number" || typeof right !== "number") return null;
  switch (how) {
    case "<":
      return left < right;
    case "<=":
      return left <= right;
    case ">":
      return left > right;
    case ">=":
      return left >= right;
  }
}

/** Clear while the value at `path` compares as it should. */
export function httpJsonGate(
  ports: HttpPorts,
  ask: HttpAsk,
  path: string,
  how: Comparison,
  wanted: Json,
): Read {
  return async (signal) => {
    const got = await getJson(ports, ask, signal);
    if (got.kind === "none") return observed("unknown", got.code, got.detail);
    const found = valueAt(got.value, path);
    if (found === undefined) return observed("unknown", "path_absent", `${path} is not there`);
    const holds = compare(found, how, wanted);
    if (holds === null) {
      return observed("unknown", "not_comparable", `${path} ${how} ${wanted} compares no numbers`);
    }
    const said = JSON.stringify(found).slice(0, 100);
    return holds
      ? observed("clear", "as_wanted", `${path} is ${said}`)
      : observed("busy", "not_as_wanted", `${path} is ${said}, wanted ${how} ${wanted}`);
  };
}

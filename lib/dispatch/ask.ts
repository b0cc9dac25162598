/**
 * What an agent can be asked, as a request, and its good answer.
 *
 * @module
 */

import type { Json } from "../core/canonical_json.ts";
import type { HeaderList } from "../relay/upstream.ts";
import type { Asked } from "./exchange.ts";
import { type JsonObject, objectOf } from "./reply.ts";

/** Version of what agents speak over HTTP that this operator knows. */
export const PROTOCOL = 1;

/** One question. */
export type Ask =
  | { readonly kind: "health" }
  /** Which operations there are. */
  | { readonly kind: "operations" }
  /** How a run is, or how it ended. */
  | { readonly kind: "run"; readonly id: string }
  | {
    readonly kind: "call";
    readonly name: string;
    readonly input: Json;
    readonly dryRun: boolean;
    readonly confirm: boolean;
    /** Sent with every call that is no dry run: what a retry joins. */
    readonly key: string;
  };

const encoder = new TextEncoder();

/** The request, without its endpoint. */
export function askedOf(
  ask: Exclude<Ask, { kind: "health" }>,
  headers: HeaderList,
): Omit<Asked, "endpoint"> {
  const none = { kind: "none" } as const;
  switch (ask.kind) {
    case "operations":
      return { method: "GET", target: "/v1/operations", headers, body: none };
    case "run":
      return { method: "GET", target: `/v1/operations/runs/${ask.id}`, headers, body: none };
    case "call": {
      const { input, dryRun } = ask;
      const text = JSON.stringify({ input, dry_run: dryRun, confirm: ask.confirm });
      const bytes = encoder.encode(text);
      return {
        method: "POST",
        target: `/v1/operations/${ask.name}`,
        headers: [
          ...headers,
          ["content-type", "application/json"],
          ...(dryRun ? [] : [["idempotency-key", ask.key] as const]),
        ],
        body: { kind: "bytes", size: bytes.length, chunks: [bytes] },
      };
    }
  }
}

/** What a good answer holds. */
export interface Result {
  readonly result: Json;
  readonly run: Json;
  readonly known: boolean;
}

/** Reads the body of a good answer; null when it is none that we know. */
export function resultOf(ask: Exclude<Ask, { kind: "health" }>, body: JsonObject): Result | null {
  switch (ask.kind) {
    case "operations": {
      const { operations } = body as { readonly operations?: Json };
      return Array.isArray(operations) ? { result: operations, run: null, known: false } : null;
    }
    case "run":
      return body["id"] === ask.id ? { result: body, run: body, known: false } : null;
    case "call":
      return body["operation"] === ask.name && body["dry_run"] === ask.dryRun && "result" in body
        ? {
          result: body["result"] ?? null,
          run: objectOf(body["run"]),
          known: body["known"] === true,
        }
        : null;
  }
}

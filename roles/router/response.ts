/**
 * Answers the router makes itself, as values: the data listener writes them, the admin listener
 * makes a `Response` of them.
 *
 * @module
 */

import type { Reply } from "../../lib/intake/asked.ts";
import type { Family } from "../../lib/relay/dialect.ts";
import { errorBody, type FailureCode, failureOf } from "../../lib/relay/failure.ts";
import type { HeaderList } from "../../lib/relay/upstream.ts";

/** An answer that is there whole. */
export interface Answer {
  readonly status: number;
  readonly headers: HeaderList;
  readonly body: string | null;
}

const encoder = new TextEncoder();

/** Writes an answer that is there whole. */
export async function give(reply: Reply, { status, headers, body }: Answer): Promise<void> {
  await reply.whole(status, headers, body === null ? null : encoder.encode(body));
}

/** What every answer on the data side carries so that browsers let a page read it. */
export const CORS: HeaderList = [
  ["access-control-allow-origin", "*"],
  [
    "access-control-expose-headers",
    "x-request-id, request-id, x-anvil-tier, x-anvil-code, retry-after",
  ],
];

const JSON_TYPE = ["content-type", "application/json"] as const;

/**
 * How an answer says which request it is of: Anthropic's libraries look for `request-id`, OpenAI's
 * for `x-request-id`.
 */
export function requestIdHeaders(family: Family, id: string): HeaderList {
  return family === "anthropic"
    ? [["x-request-id", id], ["request-id", id]]
    : [["x-request-id", id]];
}

/** What an error answer needs besides its code. */
export interface Told {
  readonly family: Family;
  readonly requestId: string;
  readonly message: string;
  readonly tier?: string;
  readonly retryAfterSeconds?: number;
}

/** An error in the shape of the caller's dialect. */
export function errorAnswer(code: FailureCode, told: Told): Answer {
  const failure = failureOf(code);
  const headers: [string, string][] = [
    ...CORS,
    JSON_TYPE,
    ...requestIdHeaders(told.family, told.requestId),
    ["x-anvil-code", code],
  ] as [string, string][];
  if (told.tier !== undefined) headers.push(["x-anvil-tier", told.tier]);
  if (told.retryAfterSeconds !== undefined) {
    headers.push(["retry-after", String(told.retryAfterSeconds)]);
  }
  // OpenAI's and Anthropic's clients obey this before they look at the status.
  if (!failure.retryable) headers.push(["x-should-retry", "false"]);
  if (failure.status === 401) headers.push(["www-authenticate", 'Bearer realm="anvil-router"']);
  const body = errorBody(told.family, code, told.message, told.requestId);
  return { status: failure.status, headers, body };
}

/** The answer to a browser that asks whether it may ask. */
export function preflight(): Answer {
  return {
    status: 204,
    headers: [
      ...CORS,
      ["access-control-allow-methods", "GET, POST, OPTIONS"],
      // `*` does not cover `authorization`.
      ["access-control-allow-headers", "*, authorization"],
      ["access-control-max-age", "86400"],
    ],
    body: null,
  };
}

/** A JSON answer of the data side. */
export function jsonAnswer(body: object): Answer {
  return { status: 200, headers: [...CORS, JSON_TYPE], body: JSON.stringify(body) };
}

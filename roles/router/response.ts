/**
 * Answers the router makes itself.
 *
 * @module
 */

import type { Family } from "../../lib/relay/dialect.ts";
import { errorBody, type FailureCode, failureOf } from "../../lib/relay/failure.ts";

/** What every answer on the data side carries so that browsers let a page read it. */
export const CORS: readonly [name: string, value: string][] = [
  ["access-control-allow-origin", "*"],
  ["access-control-expose-headers", "x-request-id, x-anvil-tier, x-anvil-code, retry-after"],
];

/** Headers of an answer on the data side, to be added to. */
export function corsHeaders(): Headers {
  return new Headers(CORS);
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
export function errorResponse(code: FailureCode, told: Told): Response {
  const failure = failureOf(code);
  const headers = corsHeaders();
  headers.set("content-type", "application/json");
  headers.set("x-request-id", told.requestId);
  headers.set("x-anvil-code", code);
  if (told.tier !== undefined) headers.set("x-anvil-tier", told.tier);
  if (told.retryAfterSeconds !== undefined) {
    headers.set("retry-after", String(told.retryAfterSeconds));
  }
  // OpenAI's and Anthropic's clients obey this before they look at the status.
  if (!failure.retryable) headers.set("x-should-retry", "false");
  if (failure.status === 401) headers.set("www-authenticate", 'Bearer realm="anvil-router"');
  if (failure.status === 408) headers.set("connection", "close");
  const body = errorBody(told.family, code, told.message, told.requestId);
  return new Response(body, { status: failure.status, headers });
}

/** The answer to a browser that asks whether it may ask. */
export function preflight(): Response {
  const headers = corsHeaders();
  headers.set("access-control-allow-methods", "GET, POST, OPTIONS");
  // `*` does not cover `authorization`.
  headers.set("access-control-allow-headers", "*, authorization");
  headers.set("access-control-max-age", "86400");
  return new Response(null, { status: 204, headers });
}

/**
 * The dialects clients speak: one row each, and the routes that speak them.
 *
 * @module
 */

/** What a tier declares in `dialects`. */
export const DIALECTS = [
  "openai-chat",
  "openai-completions",
  "openai-responses",
  "openai-embeddings",
  "openai-speech",
  "openai-transcriptions",
  "anthropic-messages",
  "rerank",
] as const;

/** One of {@link DIALECTS}. */
export type Dialect = (typeof DIALECTS)[number];

/** Whose error shape a client of this dialect understands. */
export type Family = "openai" | "anthropic";

/** One data route. */
export interface Route {
  /** The path it has here and upstream. */
  readonly path: string;
  readonly dialect: Dialect;
  readonly body: "json" | "multipart";
}

/** Every route that reaches a member. */
export const ROUTES: readonly Route[] = [
  { path: "/v1/chat/completions", dialect: "openai-chat", body: "json" },
  { path: "/v1/completions", dialect: "openai-completions", body: "json" },
  { path: "/v1/responses", dialect: "openai-responses", body: "json" },
  { path: "/v1/messages", dialect: "anthropic-messages", body: "json" },
  { path: "/v1/messages/count_tokens", dialect: "anthropic-messages", body: "json" },
  { path: "/v1/embeddings", dialect: "openai-embeddings", body: "json" },
  { path: "/v1/rerank", dialect: "rerank", body: "json" },
  { path: "/v1/audio/speech", dialect: "openai-speech", body: "json" },
  { path: "/v1/audio/transcriptions", dialect: "openai-transcriptions", body: "multipart" },
];

const BY_PATH: ReadonlyMap<string, Route> = new Map(ROUTES.map((route) => [route.path, route]));

/** The route of a path, exactly as sent: no decoding, no dot segments, no double slashes. */
export function routeOf(path: string): Route | null {
  return BY_PATH.get(path) ?? null;
}

/** Whose error shape goes with a path, routes unknown here included. */
export function familyOf(
  path: string,
  headers: { readonly has: (name: string) => boolean },
): Family {
  return path.startsWith("/v1/messages") || headers.has("anthropic-version")
    ? "anthropic"
    : "openai";
}

/**
 * What the router knows of a request body, and the tables that say which keys it looks at.
 *
 * @module
 */

/** Where a value stands in the whole body: `[start, end)` in bytes, quotes included. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** What the scan has learned so far. */
export interface BodyFacts {
  readonly model: { readonly name: string; readonly span: Span } | null;
  /** The value of top-level `stream`; null when absent or null. */
  readonly stream: boolean | null;
  /** The largest of `max_tokens`, `max_completion_tokens`, `max_output_tokens`; null when absent. */
  readonly maxTokens: number | null;
  /** True when top-level `tools` is an array with at least one element. */
  readonly tools: boolean;
  /** Kinds of non-text content parts seen in messages or input, such as `image` or `audio`. */
  readonly media: ReadonlySet<Medium>;
}

/** A kind of content a tier declares in `media`. */
export type Medium = "image" | "audio" | "video" | "file";

/** `type` of a content part -> the medium it carries (OpenAI chat and responses, Anthropic). */
export const MEDIUM_OF_PART: ReadonlyMap<string, Medium> = new Map([
  ["image_url", "image"],
  ["input_image", "image"],
  ["image", "image"],
  ["input_audio", "audio"],
  ["audio_url", "audio"],
  ["video_url", "video"],
  ["input_file", "file"],
  ["document", "file"],
  ["file", "file"],
]);

/** Top-level keys the router acts on: each may appear once. */
export const SINGLE_KEYS: ReadonlySet<string> = new Set([
  "model",
  "stream",
  "tools",
  "max_tokens",
  "max_completion_tokens",
  "max_output_tokens",
]);

/** Top-level keys under which content parts stand. */
export const CONTENT_ROOTS: ReadonlySet<string> = new Set(["messages", "input", "system"]);

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
  ["computer_screenshot", "image"],
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

/**
 * Keys of messages and parts under which further parts stand. A tool call's `input` or `arguments`
 * is none of them: what a model wrote there is data.
 */
export const CONTENT_KEYS: ReadonlySet<string> = new Set(["content", "output"]);

/** Why a body cannot be relayed. */
export type ScanCode =
  | "body_not_json"
  | "body_truncated"
  | "body_not_object"
  | "body_too_deep"
  | "duplicate_key"
  | "model_missing"
  | "model_not_string"
  | "model_too_long"
  | "field_invalid"
  | "body_not_form";

/** A scan that cannot go on. `at` is the byte offset in the body. */
export interface ScanProblem {
  readonly code: ScanCode;
  readonly detail: string;
  readonly at: number;
}

/** Scans one body as it passes. Feed every chunk in order, then call `finish`. */
export interface BodyScan {
  /** What is known after the bytes pushed so far. */
  readonly facts: BodyFacts;
  /** True once the model has been read: enough to resolve a tier. */
  readonly hasModel: boolean;
  /** Takes the next bytes. Returns the first problem, and the same one ever after. */
  push(chunk: Uint8Array): ScanProblem | null;
  /** Says whether the body was whole and named a model. */
  finish(): ScanProblem | null;
}

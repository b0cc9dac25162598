/**
 * One streamed answer of an OpenAI chat endpoint, folded as it comes: text, tokens, times, end.
 *
 *     bytes ──lines──> data ──> deltas: text, tokens, arrival times
 *                           ──> finish reason, usage
 *                           ──> [DONE]
 *     end ──> whole: the end was said and nothing is torn; otherwise the answer is an error
 *
 * Unlike the relay's watch it parses every event: it is the reader, and nobody waits behind it.
 *
 * @module
 */

import type { Json } from "../core/canonical_json.ts";

/** Most characters of one answer that are kept: more is an engine that does not stop. */
export const MOST_TEXT = 1024 * 1024;
/** Most tokens of one answer. */
export const MOST_TOKENS = 65_536;
/** Most bytes of one line. */
const MOST_LINE = 1024 * 1024;

/** Why the bytes so far are no answer. */
export type StreamFault =
  | "engine_error" // the engine reported an error in the stream
  | "stream_malformed" // a data line is not what the dialect says
  | "answer_too_large"; // more text or tokens than any prompt of ours asks for

/** What the stream said. */
export interface StreamTold {
  readonly text: string;
  /** The answer by tokens, where the engine tells every one of them; null: it does not. */
  readonly tokens: readonly string[] | null;
  /** The likeliest tokens at each place, where they were told for every token. */
  readonly top: readonly (readonly (readonly [string, number])[])[] | null;
  /** When each piece of the answer came, in milliseconds of the caller's clock. */
  readonly arrivals: readonly number[];
  readonly finish: string | null;
  readonly refused: boolean;
  readonly usage: { readonly prompt: number | null; readonly completion: number | null } | null;
  readonly fault: StreamFault | null;
  /** The end was said: `[DONE]`, or a finish reason, and no event is torn. */
  readonly whole: boolean;
}

type Place = readonly (readonly [string, number])[];

/** Folds one answer. */
export class AnswerStream {
  readonly #decoder = new TextDecoder("utf-8", { fatal: false });
  #line = "";
  #midEvent = false;
  #text = "";
  #tokens: string[] = [];
  #top: Place[] = [];
  /** Pieces of text that came without their tokens. */
  #untold = 0;
  #arrivals: number[] = [];
  #finish: string | null = null;
  #refused = false;
  #usage: StreamTold["usage"] = null;
  #done = false;
  #fault: StreamFault | null = null;

  /** Takes the next bytes, read at `at`. False when reading on is of no use. */
  push(bytes: Uint8Array, at: number): boolean {
    this.#line += this.#decoder.decode(bytes, { stream: true });
    for (let feed = this.#line.indexOf("\n"); feed >= 0; feed = this.#line.indexOf("\n")) {
      const line = this.#line.slice(0, feed).replace(/\r$/, "");
      this.#line = this.#line.slice(feed + 1);
      this.#take(line, at);
    }
    if (this.#line.length > MOST_LINE) this.#fault ??= "answer_too_large";
    return this.#fault === null;
  }

  /** What it said, should it end here. */
  told(): StreamTold {
    const told = this.#tokens.length > 0 && this.#untold === 0;
    const top = told && this.#top.every((place) => place.length > 0) ? this.#top : null;
    const torn = this.#midEvent || this.#line.trim() !== "";
    return {
      text: this.#text.toWellFormed(),
      tokens: told ? this.#tokens : null,
      top,
      arrivals: this.#arrivals,
      finish: this.#finish,
      refused: this.#refused,
      usage: this.#usage,
      fault: this.#fault,
      whole: this.#fault === null && !torn && (this.#done || this.#finish !== null),
    };
  }

  #take(line: string, at: number): void {
    if (line === "") {
      this.#midEvent = false;
      return;
    }
    if (line.startsWith(":")) return;
    this.#midEvent = true;
    if (/^event: ?error$/.test(line)) this.#fault ??= "engine_error";
    if (!line.startsWith("data:")) return;
    const data = line.slice(5).trim();
    if (data === "[DONE]") {
      this.#done = true;
      return;
    }
    let value: Json;
    try {
      value = JSON.parse(data);
    } catch {
      this.#fault ??= "stream_malformed";
      return;
    }
    this.#event(objectOf(value), at);
  }

  #event(event: Member | null, at: number): void {
    if (event === null) {
      this.#fault ??= "stream_malformed";
      return;
    }
    if (event["error"] !== undefined && event["error"] !== null || event["object"] === "error") {
      this.#fault ??= "engine_error";
      return;
    }
    const usage = objectOf(event["usage"]);
    if (usage !== null) {
      this.#usage = {
        prompt: countOf(usage["prompt_tokens"]),
        completion: countOf(usage["completion_tokens"]),
      };
    }
    const { choices } = event;
    const choice = Array.isArray(choices) ? objectOf(choices[0] ?? null) : null;
    if (choice === null) return; // a usage chunk has none
    const delta = objectOf(choice["delta"]) ?? {};
    const said = textOf(delta["content"]);
    // A model that thinks aloud has begun to answer: the first token is the first of those.
    const thought = textOf(delta["reasoning_content"]) + textOf(delta["reasoning"]);
    const refusal = textOf(delta["refusal"]);
    if (refusal !== "") this.#refused = true;
    const piece = said + refusal;
    const places = placesOf(objectOf(choice["logprobs"]));
    if (piece + thought !== "" || places.length > 0) this.#arrivals.push(at);
    this.#text += piece;
    for (const { token, top } of places) {
      this.#tokens.push(token);
      this.#top.push(top);
    }
    if (piece !== "" && places.length === 0) this.#untold++;
    const finish = choice["finish_reason"];
    if (typeof finish === "string" && finish !== "") this.#finish = finish;
    if (
      this.#text.length > MOST_TEXT || this.#arrivals.length + this.#tokens.length > 2 * MOST_TOKENS
    ) {
      this.#fault ??= "answer_too_large";
    }
  }
}

interface Member {
  readonly [key: string]: Json;
}

function objectOf(value: Json | undefined): Member | null {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? value as Member
    : null;
}

function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

function countOf(value: Json | undefined): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

/** `logprobs.content` of a chunk: a row per token. A row that cannot be read makes none of them count. */
function placesOf(
  logprobs: Member | null,
): readonly { readonly token: string; readonly top: Place }[] {
  const content = logprobs?.["content"];
  if (!Array.isArray(content)) return [];
  const places: { token: string; top: Place }[] = [];
  for (const one of content as readonly Json[]) {
    const row = objectOf(one);
    const token = row?.["token"];
    if (row === null || typeof token !== "string") return [];
    const top: (readonly [string, number])[] = [];
    const listed = row["top_logprobs"];
    for (const other of Array.isArray(listed) ? listed as readonly Json[] : []) {
      const pair = objectOf(other);
      const name = pair?.["token"];
      const value = pair?.["logprob"];
      if (typeof name === "string" && typeof value === "number" && Number.isFinite(value)) {
        top.push([name.toWellFormed(), Math.max(-1e9, Math.min(1, value))]);
      }
    }
    // Half a character is a token, and no text that JSON could keep.
    places.push({ token: token.toWellFormed(), top: top.slice(0, 20) });
  }
  return places;
}

/**
 * A client of a walk that is a program of everyday: the OpenAI or the Anthropic library, told to send
 * nothing twice, and what its caller got to see.
 *
 * @module
 */

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { generatedText } from "../fixtures/generation.ts";
import { askedBy, PATIENCE_MS, type Wish, type Words } from "./client.ts";
import { MARKER_HEADER, type Transcript } from "./facts.ts";
import { elapsed } from "./time.ts";
import type { At } from "./world.ts";

/** What a library handed to its caller. */
interface Given {
  text: string;
  /** A finish reason, or the dialect's last event. */
  finished: boolean;
}

type Told = Pick<Transcript, "end" | "status" | "code">;

/** Asks once. Never rejects for what the other side does. */
export async function askByLibrary(at: At, wish: Wish, words: Words): Promise<Transcript> {
  const began = elapsed();
  const stop = new AbortController();
  let why: "left" | "gave_up" = "left";
  const patience = setTimeout(() => {
    why = "gave_up";
    stop.abort();
  }, PATIENCE_MS);
  const leaving = wish.leavesAfter === null
    ? undefined
    : setTimeout(() => stop.abort(), wish.leavesAfter);
  const given: Given = { text: "", finished: false };
  let told: Told;
  try {
    const asked = wish.dialect === "openai" ? askOpenAi : askAnthropic;
    await asked(at, wish, words, given, stop.signal);
    // A library ends its loop without a word when it is aborted.
    const ended = given.finished ? "whole" : stop.signal.aborted ? why : "untrue";
    told = { end: ended, status: 200, code: null };
  } catch (error) {
    told = stop.signal.aborted ? { end: why, status: null, code: null } : endOf(error);
  } finally {
    clearTimeout(patience);
    clearTimeout(leaving);
  }
  return {
    ...askedBy(wish),
    began,
    ended: elapsed(),
    ...told,
    terminator: told.end === "whole",
    complete: given.text === generatedText(wish.tokens),
  };
}

async function askOpenAi(at: At, wish: Wish, words: Words, given: Given, signal: AbortSignal) {
  const client = new OpenAI({ ...common(at, "/v1"), apiKey: words.token });
  const wanted = wantedBy(wish, words);
  const options = { headers: headersOf(wish, words), signal };
  if (!wish.stream) {
    const answer = await client.chat.completions.create(wanted, options);
    given.text = answer.choices[0]?.message.content ?? "";
    given.finished = typeof answer.choices[0]?.finish_reason === "string";
    return;
  }
  const stream = await client.chat.completions.create({ ...wanted, stream: true }, options);
  for await (const { choices } of stream) {
    given.text += choices[0]?.delta.content ?? "";
    if (typeof choices[0]?.finish_reason === "string") given.finished = true;
  }
}

async function askAnthropic(at: At, wish: Wish, words: Words, given: Given, signal: AbortSignal) {
  const client = new Anthropic({ ...common(at, ""), apiKey: null, authToken: words.token });
  const wanted = wantedBy(wish, words);
  const options = { headers: headersOf(wish, words), signal };
  if (!wish.stream) {
    const answer = await client.messages.create(wanted, options);
    const [block] = answer.content;
    given.text = block?.type === "text" ? block.text : "";
    given.finished = typeof answer.stop_reason === "string";
    return;
  }
  const stream = await client.messages.create({ ...wanted, stream: true }, options);
  for await (const event of stream) {
    if (event.type === "content_block_delta" && event.delta.type === "text_delta") {
      given.text += event.delta.text;
    }
    if (event.type === "message_stop") given.finished = true;
  }
}

/** Both libraries take the same of a chat. */
function wantedBy(wish: Wish, words: Words) {
  const content = `${words.prompt} ${wish.marker}`;
  const messages = [{ role: "user" as const, content }];
  return { model: wish.alias, max_tokens: wish.tokens, messages };
}

function common({ hostname, port }: At, path: string) {
  return {
    baseURL: `http://${hostname}:${port}${path}`,
    maxRetries: 0,
    logLevel: "off",
    fetch: sentOnce,
  } as const;
}

/** The runtime sends a text again when a kept connection was closed; a Blob on a new one never. */
function sentOnce(url: string | URL | Request, init?: RequestInit): Promise<Response> {
  const headers = new Headers(init?.headers);
  headers.set("connection", "close");
  const { body } = init ?? {};
  return fetch(url, {
    ...init,
    headers,
    ...(typeof body === "string" ? { body: new Blob([body]) } : {}),
  });
}

function headersOf(wish: Wish, words: Words): Record<string, string> {
  return {
    "x-request-id": wish.marker,
    [MARKER_HEADER]: wish.marker,
    "x-canary": words.header,
    ...(wish.fault === null ? {} : { "x-fixture-fault": wish.fault }),
  };
}

/** What a thrown error says. */
function endOf(error: unknown): Told {
  // Its framing says whole, and what is in it is not.
  if (error instanceof SyntaxError) return { end: "untrue", status: 200, code: null };
  if (!(error instanceof OpenAI.APIError) && !(error instanceof Anthropic.APIError)) {
    return { end: "cut", status: null, code: null };
  }
  const { status } = error;
  if (typeof status === "number") {
    return { end: "refused", status, code: error.headers?.get("x-anvil-code") ?? null };
  }
  const code = codeIn(error.error);
  if (code !== null) return { end: "error_event", status: 200, code };
  const end = /\(Connect\)|tcp connect error/.test(reasonsOf(error)) ? "unreachable" : "cut";
  return { end, status: null, code: null };
}

/** `error.code` of an error event: one library hands out the event, one what is in it. */
function codeIn(event: unknown): string | null {
  if (typeof event !== "object" || event === null) return null;
  const { code, error } = event as { readonly code?: unknown; readonly error?: unknown };
  if (typeof code === "string") return code;
  return error === undefined ? "without_code" : codeIn(error);
}

/** The messages of an error and of everything that caused it. */
function reasonsOf(error: unknown): string {
  return error instanceof Error ? `${error.message}; ${reasonsOf(error.cause)}` : "";
}

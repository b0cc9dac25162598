/**
 * A client of a walk: one request over a connection of its own, sent once, and what it saw of the
 * answer, down to how the connection ended.
 *
 * @module
 */

import { generatedText } from "../fixtures/generation.ts";
import { join } from "../fixtures/connection.ts";
import { eventsOf, type ParsedResponse, parseResponse, postBytes } from "../fixtures/raw_client.ts";
import { type ClientEnd, MARKER_HEADER, type Transcript } from "./facts.ts";
import { elapsed } from "./time.ts";
import type { At } from "./world.ts";

/** What is asked. */
export interface Wish {
  readonly marker: string;
  readonly host: string;
  readonly alias: string;
  readonly dialect: "openai" | "anthropic";
  readonly stream: boolean;
  readonly tokens: number;
  /** Leaves after so many milliseconds; null stays. */
  readonly leavesAfter: number | null;
  /** What the engine does wrong with it, as in `x-fixture-fault`; null does it right. */
  readonly fault: string | null;
}

/** Words in every prompt and header, to be found in no record. */
export interface Words {
  readonly token: string;
  readonly prompt: string;
  readonly header: string;
}

const CONNECT_MS = 5000;
/** Longer than any fault, in milliseconds. */
export const PATIENCE_MS = 40_000;
const PATHS = { openai: "/v1/chat/completions", anthropic: "/v1/messages" } as const;

type Stop = "left" | "gave_up";

/** Asks once. Never rejects for what the other side does. */
export async function ask(at: At, wish: Wish, words: Words): Promise<Transcript> {
  const began = elapsed();
  const told = (
    end: ClientEnd,
    more: Partial<Pick<Transcript, "status" | "terminator" | "complete" | "code">> = {},
  ): Transcript => ({
    ...askedBy(wish),
    began,
    ended: elapsed(),
    end,
    status: null,
    terminator: false,
    complete: false,
    code: null,
    ...more,
  });
  const connection = await connect(at);
  if (connection === null) return told("unreachable");
  let stop: Stop | null = null;
  const leave = (why: Stop) => {
    stop ??= why;
    try {
      connection.close();
    } catch {
      // It is closed already.
    }
  };
  const patience = setTimeout(() => leave("gave_up"), PATIENCE_MS);
  const leaving = wish.leavesAfter === null
    ? undefined
    : setTimeout(() => leave("left"), wish.leavesAfter);
  const parts: Uint8Array[] = [];
  try {
    const request = requestOf(wish, words);
    for (let sent = 0; sent < request.length;) {
      sent += await connection.write(request.subarray(sent));
    }
    const buffer = new Uint8Array(16 * 1024);
    for (;;) {
      const count = await connection.read(buffer);
      if (count === null) break;
      parts.push(buffer.slice(0, count));
      if (parseResponse(join(parts))?.whole === true) break;
    }
  } catch {
    // Reset, or closed by us: what came until then is judged.
  } finally {
    clearTimeout(patience);
    clearTimeout(leaving);
    leave("left");
  }
  const response = parseResponse(join(parts));
  const seen = response === null ? {} : look(response, wish);
  // Who leaves after the end saw the end.
  if (wasStopped(stop, patienceOf(wish)) && response?.whole !== true) {
    return told(stop ?? "left", seen);
  }
  if (response === null) return told("cut");
  return told(endOf(response, wish, seen), seen);
}

/** What a transcript says of the question. */
export function askedBy({ marker, host, alias, stream, fault }: Wish) {
  return { marker, host, alias, stream, spoiled: fault !== null };
}

/** Whether we ended it, not the other side: our own closing after its end does not count. */
function wasStopped(stop: Stop | null, wanted: Stop | null): boolean {
  return stop === "gave_up" || (stop !== null && wanted === "left");
}

function patienceOf(wish: Wish): Stop | null {
  return wish.leavesAfter === null ? null : "left";
}

async function connect({ hostname, port }: At): Promise<Deno.TcpConn | null> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), CONNECT_MS);
  try {
    return await Deno.connect({ hostname, port, signal: late.signal });
  } catch {
    return null;
  } finally {
    clearTimeout(timer);
  }
}

function requestOf(wish: Wish, words: Words): Uint8Array {
  const body = {
    model: wish.alias,
    max_tokens: wish.tokens,
    stream: wish.stream,
    messages: [{ role: "user", content: `${words.prompt} ${wish.marker}` }],
  };
  return postBytes(PATHS[wish.dialect], body, {
    "authorization": `Bearer ${words.token}`,
    "x-request-id": wish.marker,
    [MARKER_HEADER]: wish.marker,
    "x-canary": words.header,
    ...(wish.fault === null ? {} : { "x-fixture-fault": wish.fault }),
    ...(wish.dialect === "anthropic" ? { "anthropic-version": "2023-06-01" } : {}),
  });
}

interface Seen {
  readonly status: number;
  readonly terminator: boolean;
  readonly complete: boolean;
  readonly code: string | null;
}

interface Event {
  readonly error?: { readonly code?: string };
  readonly type?: string;
  readonly choices?: readonly {
    readonly delta?: { readonly content?: string };
    readonly message?: { readonly content?: string };
    readonly finish_reason?: string | null;
  }[];
  readonly delta?: { readonly text?: string };
  readonly content?: readonly { readonly text?: string }[];
  readonly stop_reason?: string | null;
}

function look(response: ParsedResponse, wish: Wish): Seen {
  const { status } = response;
  const code = response.header("x-anvil-code") ?? null;
  if (status !== 200) return { status, terminator: false, complete: false, code };
  const texts = wish.stream ? eventsOf(response.text) : [response.text];
  const events = texts.flatMap((text): Event[] => {
    try {
      return [JSON.parse(text) as Event];
    } catch {
      return [];
    }
  });
  const said = events.map((event) =>
    event.choices?.[0]?.delta?.content ?? event.choices?.[0]?.message?.content ??
      event.delta?.text ?? event.content?.[0]?.text ?? ""
  ).join("");
  const error = events.find((event) => event.error !== undefined)?.error;
  const terminator = wish.stream
    ? texts.includes("[DONE]") || events.some(({ type }) => type === "message_stop")
    : events.some((event) =>
      typeof event.choices?.[0]?.finish_reason === "string" ||
      typeof event.stop_reason === "string"
    );
  return {
    status,
    terminator,
    complete: said === generatedText(wish.tokens),
    code: error === undefined ? code : error.code ?? "without_code",
  };
}

function endOf(response: ParsedResponse, wish: Wish, seen: Partial<Seen>): ClientEnd {
  if (response.status !== 200) return response.whole ? "refused" : "cut";
  if (wish.stream && seen.code !== null && seen.terminator !== true) return "error_event";
  if (!response.whole) return "cut";
  return seen.terminator === true ? "whole" : "untrue";
}

/**
 * Clients of the fleet's routers: the libraries people use, with a token of the host.
 *
 * @module
 */

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import type { FleetRig, HostId } from "../rig.ts";

/** What a stream came to. */
export interface Streamed {
  readonly text: string;
  readonly pieces: number;
  /** The library saw the end that the protocol promises. */
  readonly whole: boolean;
  /** What it threw instead; empty when it did not. */
  readonly error: string;
}

/** How many lines the engine of `serve` wrote of requests that came with this id. */
export async function arrived(
  fleet: FleetRig,
  host: HostId,
  serve: string,
  id: string,
): Promise<number> {
  const log = fleet.hosts[host].engines.find((one) => one.serve === serve)?.log ?? "";
  const text = await Deno.readTextFile(log).catch(() => "");
  return text.split("\n").filter((line) => line.includes(`"${id}"`) && line.includes('"came"'))
    .length;
}

/** Streams a chat through the router of `host` by the `openai` library. */
export async function streamOpenai(
  fleet: FleetRig,
  host: HostId,
  model: string,
  options: { readonly tokens: number; readonly id?: string; readonly token?: string },
): Promise<Streamed> {
  const { data, token } = await wayTo(fleet, host, options.token);
  const client = new OpenAI({
    ...{ apiKey: token, baseURL: `${data}/v1`, maxRetries: 0, logLevel: "off", timeout: 180_000 },
    defaultHeaders: options.id === undefined ? {} : { "x-fixture-id": options.id },
  });
  let text = "";
  let pieces = 0;
  let whole = false;
  try {
    const stream = await client.chat.completions.create({
      ...{ model, stream: true, max_tokens: options.tokens },
      messages: [{ role: "user", content: "count" }],
    });
    for await (const chunk of stream) {
      const [choice] = chunk.choices;
      text += choice?.delta.content ?? "";
      if ((choice?.delta.content ?? "") !== "") pieces++;
      whole ||= (choice?.finish_reason ?? null) !== null;
    }
    return { text, pieces, whole, error: "" };
  } catch (error) {
    return {
      text,
      pieces,
      whole: false,
      error: error instanceof Error ? error.message : `${error}`,
    };
  }
}

/** The same by `@anthropic-ai/sdk`. */
export async function streamAnthropic(
  fleet: FleetRig,
  host: HostId,
  model: string,
  tokens: number,
): Promise<Streamed> {
  const { data, token } = await wayTo(fleet, host);
  const client = new Anthropic({
    ...{ apiKey: token, baseURL: data, maxRetries: 0, logLevel: "off" },
  });
  let text = "";
  let pieces = 0;
  try {
    const stream = client.messages.stream({
      ...{ model, max_tokens: tokens, messages: [{ role: "user", content: "count" }] },
    });
    stream.on("text", (piece) => {
      text += piece;
      pieces++;
    });
    const last = await stream.finalMessage();
    return { text, pieces, whole: last.stop_reason !== null, error: "" };
  } catch (error) {
    return {
      text,
      pieces,
      whole: false,
      error: error instanceof Error ? error.message : `${error}`,
    };
  }
}

async function wayTo(fleet: FleetRig, host: HostId, file?: string) {
  const { router, tokens } = fleet.hosts[host];
  if (router === null) throw new Error(`${host} has no router`);
  const token = file ?? tokens.client ?? "";
  return { data: router.data, token: (await Deno.readTextFile(token)).trim() };
}

/**
 * Asks the demo through two real client libraries and says whether what came back is right.
 *
 * @module
 */

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

/** Where the demo listens. */
export interface Demo {
  readonly data: number;
  readonly admin: number;
  readonly alias: string;
  readonly token: string;
}

/** Streams one chat through each library, prints text and records; the exit code. */
export async function checkDemo(demo: Demo): Promise<number> {
  const prompt = [{ role: "user" as const, content: "Count for me." }];
  const chat = await text("openai", async function* () {
    const client = new OpenAI({
      apiKey: demo.token,
      baseURL: `http://127.0.0.1:${demo.data}/v1`,
      maxRetries: 0,
    });
    const stream = await client.chat.completions.create({
      model: demo.alias,
      messages: prompt,
      max_tokens: 16,
      stream: true,
      stream_options: { include_usage: true },
    });
    for await (const chunk of stream) yield chunk.choices[0]?.delta.content ?? "";
  });
  const messages = await text("@anthropic-ai/sdk", async function* () {
    const client = new Anthropic({
      apiKey: demo.token,
      baseURL: `http://127.0.0.1:${demo.data}`,
      maxRetries: 0,
    });
    const stream = client.messages.stream({ model: demo.alias, messages: prompt, max_tokens: 16 });
    for await (const event of stream) {
      if (event.type === "content_block_delta" && event.delta.type === "text_delta") {
        yield event.delta.text;
      }
    }
  });
  const records = await decisions(demo);
  for (const record of records) console.log(JSON.stringify(record));

  const expected = `Anvil token ${Array.from({ length: 14 }, (_, i) => i + 1).join(" ")}`;
  const wrong = [
    ...(chat === messages ? [] : ["the two clients got different texts"]),
    ...(chat.startsWith(expected.slice(0, 20)) ? [] : [`expected a text like "${expected}"`]),
    ...(records.length === 2 ? [] : [`expected 2 decision records, observed ${records.length}`]),
    ...records.flatMap((record) =>
      record["outcome"] === "completed" && record["dispatched"] === 1
        ? []
        : [`a record says ${record["outcome"]}, dispatched ${record["dispatched"]}`]
    ),
  ];
  for (const fault of wrong) console.error(`wrong: ${fault}`);
  console.log(wrong.length === 0 ? "demo-check: ok" : "demo-check: failed");
  return wrong.length === 0 ? 0 : 1;
}

async function text(name: string, stream: () => AsyncIterable<string>): Promise<string> {
  let whole = "";
  for await (const piece of stream()) whole += piece;
  console.log(`${name}: ${whole}`);
  return whole;
}

async function decisions(demo: Demo): Promise<readonly Record<string, unknown>[]> {
  const answer = await fetch(`http://127.0.0.1:${demo.admin}/v1/decisions`, {
    headers: { authorization: `Bearer ${demo.token}` },
  });
  const body = await answer.json() as { readonly decisions?: readonly Record<string, unknown>[] };
  return body.decisions ?? [];
}

/**
 * A small OpenAI-compatible server over one of the two engines: streamed chat with logprobs, and what
 * it serves, as its kind of engine tells it.
 *
 *     engine_main.ts llama|onnx MODULES MODEL
 *
 * @module
 */

import { type Brain, llamaBrain, onnxBrain } from "./brains.ts";
import { SHAPE, textOf, tokensOf } from "./weights.ts";

/** The model's name with every engine. */
export const MODEL = "anvil/tiny";

interface ChatBody {
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly max_tokens: number;
  readonly top_logprobs?: number;
}

/** What both engines are given for a conversation. */
export function promptOf(messages: ChatBody["messages"]): number[] {
  const text = messages.map(({ role, content }) => `${role}: ${content}\n`).join("");
  return tokensOf(`${text}assistant: `);
}

const encoder = new TextEncoder();

function event(value: object): Uint8Array<ArrayBuffer> {
  return encoder.encode(`data: ${JSON.stringify(value)}\n\n`);
}

async function* chat(brain: Brain, body: ChatBody): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const prompt = promptOf(body.messages);
  const chunk = { object: "chat.completion.chunk", model: MODEL };
  const choice = (delta: object, logprobs: object | null, finish: string | null) =>
    event({ ...chunk, choices: [{ index: 0, delta, logprobs, finish_reason: finish }] });
  const top = body.top_logprobs ?? 0;
  let made = 0;
  for await (const place of brain.answer(prompt, body.max_tokens, top)) {
    made++;
    const content = textOf(place.token);
    const logprobs = {
      content: [{
        token: content,
        logprob: place.top[0]?.[1] ?? 0,
        top_logprobs: place.top.map(([token, logprob]) => ({ token: textOf(token), logprob })),
      }],
    };
    yield choice({ content }, top > 0 ? logprobs : null, null);
  }
  yield choice({}, null, "length");
  const usage = { prompt_tokens: prompt.length, completion_tokens: made };
  yield event({ ...chunk, choices: [], usage });
  yield encoder.encode("data: [DONE]\n\n");
}

function answer(kind: string, brain: Brain) {
  // Both hold one conversation at a time.
  let turn: Promise<unknown> = Promise.resolve();
  return async (request: Request): Promise<Response> => {
    const { pathname } = new URL(request.url);
    if (pathname === "/health") return Response.json({ status: "ok" });
    if (pathname === "/props" && kind === "llama") {
      return Response.json({ model_path: "/models/tiny.gguf", model_alias: MODEL });
    }
    if (pathname === "/v1/models") return Response.json({ data: [{ id: MODEL }] });
    if (pathname !== "/v1/chat/completions") return new Response(null, { status: 404 });
    const body = await request.json() as ChatBody;
    if (promptOf(body.messages).length + body.max_tokens > SHAPE.context) {
      return Response.json({ error: { message: "too long" } }, { status: 400 });
    }
    const before = turn;
    const over = Promise.withResolvers<void>();
    turn = over.promise;
    await before;
    const stream = new ReadableStream<Uint8Array<ArrayBuffer>>({
      async start(controller) {
        try {
          for await (const bytes of chat(brain, body)) controller.enqueue(bytes);
          controller.close();
        } catch (error) {
          controller.error(error);
        } finally {
          over.resolve();
        }
      },
    });
    return new Response(stream, { headers: { "content-type": "text/event-stream" } });
  };
}

if (import.meta.main) {
  const [kind = "", modules = "", model = ""] = Deno.args;
  const brain = kind === "llama"
    ? await llamaBrain(modules, model, SHAPE.context)
    : await onnxBrain(modules, model);
  const server = Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    onListen: ({ port }) => console.log(JSON.stringify({ port, version: brain.version })),
  }, answer(kind, brain));
  await server.finished;
}

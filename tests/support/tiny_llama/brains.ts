/**
 * The tiny llama in two engines: llama.cpp and ONNX Runtime. Each gives one token after the other,
 * the likeliest one, with what else was likely.
 *
 * @module
 */

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

/** One place of an answer. */
export interface Place {
  readonly token: number;
  /** The likeliest tokens with their logprobs, likeliest first. */
  readonly top: readonly (readonly [token: number, logprob: number])[];
}

/** A model in an engine. One answer at a time. */
export interface Brain {
  /** As the engine states it. */
  readonly version: string;
  answer(prompt: readonly number[], most: number, top: number): AsyncIterable<Place>;
}

interface Next {
  readonly token?: number;
  readonly probabilities?: ReadonlyMap<number, number>;
}
type Step = number | readonly [number, { readonly generateNext: object }];
interface Sequence {
  clearHistory(): Promise<void>;
  controlledEvaluate(
    steps: readonly Step[],
  ): Promise<readonly ({ readonly next: Next } | undefined)[]>;
}
interface LlamaModule {
  getLlama(options: object): Promise<{
    readonly llamaCppRelease: { readonly release: string };
    loadModel(options: object): Promise<{
      createContext(options: object): Promise<{ getSequence(): Sequence }>;
    }>;
  }>;
}
interface Session {
  run(inputs: object): Promise<{ readonly logits: { readonly data: Float32Array } }>;
}
interface OnnxModule {
  readonly InferenceSession: { create(path: string, options: object): Promise<Session> };
  readonly Tensor: new (type: string, data: BigInt64Array, dims: readonly number[]) => object;
  readonly env: { readonly versions: { readonly node?: string } };
}

/** llama.cpp, with a cache of what it has seen. */
export async function llamaBrain(modules: string, model: string, context: number): Promise<Brain> {
  const path = `${modules}/node_modules/node-llama-cpp/dist/index.js`;
  const { getLlama } = await import(pathToFileURL(path).href) as LlamaModule;
  const llama = await getLlama({
    gpu: false,
    build: "never",
    skipDownload: true,
    progressLogs: false,
  });
  const loaded = await llama.loadModel({ modelPath: model });
  const sequence = (await loaded.createContext({
    contextSize: context,
    threads: 1,
    // Without these two it computes in halves: 0.007 nats away from ONNX Runtime instead of 0.00001.
    flashAttention: false,
    experimentalKvCacheKeyType: "F32",
    experimentalKvCacheValueType: "F32",
  })).getSequence();
  const generateNext = { token: true, probabilities: true, options: { temperature: 0 } };
  return {
    version: llama.llamaCppRelease.release,
    async *answer(prompt, most, top) {
      await sequence.clearHistory();
      let next = [...prompt];
      for (let made = 0; made < most; made++) {
        const steps = next.map((token, at): Step =>
          at === next.length - 1 ? [token, { generateNext }] : token
        );
        const last = (await sequence.controlledEvaluate(steps)).at(-1)?.next;
        const all = [...last?.probabilities ?? []].sort(([, a], [, b]) => b - a);
        const token = last?.token ?? all[0]?.[0];
        if (token === undefined) throw new Error("llama.cpp gave no token");
        yield { token, top: all.slice(0, top).map(([one, p]) => [one, Math.log(p)]) };
        next = [token];
      }
    },
  };
}

/** ONNX Runtime, which looks at everything anew for each token. */
export async function onnxBrain(modules: string, model: string): Promise<Brain> {
  const require = createRequire(`${modules}/package.json`);
  const { InferenceSession, Tensor, env } = require("onnxruntime-node") as OnnxModule;
  const session = await InferenceSession.create(model, { intraOpNumThreads: 1 });
  return {
    version: env.versions.node ?? "unknown",
    async *answer(prompt, most, top) {
      const tokens = [...prompt];
      for (let made = 0; made < most; made++) {
        const input = new Tensor("int64", BigInt64Array.from(tokens, BigInt), [tokens.length]);
        const { data } = (await session.run({ tokens: input })).logits;
        const largest = data.reduce((a, b) => Math.max(a, b));
        const sum = data.reduce((total, one) => total + Math.exp(one - largest), 0);
        const all = [...data].map((one, token) => [token, one - largest - Math.log(sum)] as const)
          .sort(([, a], [, b]) => b - a);
        const [likeliest] = all;
        if (likeliest === undefined) throw new Error("ONNX Runtime gave no logits");
        yield { token: likeliest[0], top: all.slice(0, top) };
        tokens.push(likeliest[0]);
      }
    },
  };
}

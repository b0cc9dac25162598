/**
 * The corpora that are shipped: texts of our own, each with the digest it was written with.
 *
 * Whoever changes a text changes what every figure of it means: give it another name.
 *
 * @module
 */

import type { Json } from "../core/canonical_json.ts";
import { type Refusal, refuse } from "../core/refusal.ts";
import { type Corpus, readCorpus } from "./corpus.ts";
import chat from "./corpora/chat.json" with { type: "json" };
import code from "./corpora/code.json" with { type: "json" };
import longPrompt from "./corpora/long-prompt.json" with { type: "json" };
import refusalBait from "./corpora/refusal-bait.json" with { type: "json" };

/** A shipped corpus, not checked yet. */
export interface Shipped {
  readonly document: Json;
  /** What its digest has to be. */
  readonly digest: string;
}

/** Every corpus there is, by name. */
export const CORPORA: { readonly [name: string]: Shipped } = {
  "chat": {
    document: chat,
    digest: "98da885b515b0b7e0ea1616ae95d20708892f0975defc345401e0ce5c5871eb1",
  },
  "code": {
    document: code,
    digest: "c32bbdd0d28394641c7e9c6138b9c0c09baab03b44d814b9ae7005e2253d3c3d",
  },
  "long-prompt": {
    document: longPrompt,
    digest: "39fa6a02f6eaafedbb1a8391837c298554aaa480552bf233d186256d2bfc9ea1",
  },
  "refusal-bait": {
    document: refusalBait,
    digest: "7ff55f27dd8480ef09b9613d5a195a837db77b841d5f177f2ea8125f90d98574",
  },
};

/** The corpus called `name`; `expected` is the digest the caller means, null when it is all the same. */
export async function corpusNamed(
  name: string,
  expected: string | null,
  corpora: { readonly [name: string]: Shipped } = CORPORA,
): Promise<Corpus | Refusal> {
  const shipped = Object.hasOwn(corpora, name) ? corpora[name] : undefined;
  if (shipped === undefined) {
    return refuse(
      "corpus_unknown",
      `this agent has no corpus of that name; it has ${Object.keys(corpora).join(", ")}`,
    );
  }
  if (expected !== null && expected !== shipped.digest) {
    return refuse(
      "corpus_differs",
      `${name} here is ${shipped.digest.slice(0, 12)}…, and ${expected.slice(0, 12)}… was meant`,
      "measure all hosts with one version of the agent",
    );
  }
  const corpus = await readCorpus(shipped.document, shipped.digest);
  if ("code" in corpus || corpus.name === name) return corpus;
  return refuse("corpus_invalid", `what is shipped as ${name} calls itself ${corpus.name}`);
}

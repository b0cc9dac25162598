/**
 * A corpus: prompts with the sampling they are asked with, named by the digest of what it says.
 *
 * @module
 */

import { z } from "zod";
import { canonicalJson, type Json } from "../core/canonical_json.ts";
import { ID_PATTERN } from "../core/ids.ts";
import { type Refusal, refuse } from "../core/refusal.ts";
import { digestOf } from "../evidence/evidence.ts";
import { samplingShape } from "../evidence/evidence_shape.ts";

const id = z.string().regex(ID_PATTERN, "expected lower-case letters, digits and `-`");

/** The file of a corpus. */
export const corpusShape = z.strictObject({
  schema: z.literal(1),
  name: id,
  about: z.string().min(1).max(200),
  sampling: samplingShape,
  prompts: z.array(z.strictObject({
    id,
    messages: z.array(z.strictObject({
      role: z.enum(["system", "user", "assistant"]),
      content: z.string().min(1).max(256 * 1024),
    })).min(1).max(64),
  })).min(1).max(1000),
});

/** A corpus as it is asked. */
export type Corpus = z.infer<typeof corpusShape> & {
  /** SHA-256 of its canonical JSON, lower-case hex: indentation changes nothing. */
  readonly digest: string;
};

/** The digest of a corpus' file, parsed. */
export function corpusDigest(document: Json): Promise<string> {
  return digestOf(new TextEncoder().encode(canonicalJson(document)));
}

/** Reads a parsed corpus that has to be the one called `digest`. */
export async function readCorpus(document: Json, digest: string): Promise<Corpus | Refusal> {
  const read = corpusShape.safeParse(document);
  if (!read.success) return refuse("corpus_invalid", "this is not the file of a corpus");
  const { prompts, name } = read.data;
  if (new Set(prompts.map((one) => one.id)).size < prompts.length) {
    return refuse("corpus_invalid", `${name}: two prompts have one id`);
  }
  const observed = await corpusDigest(document);
  return observed === digest ? { ...read.data, digest } : refuse(
    "corpus_edited",
    `${name} is ${observed.slice(0, 12)}… and was shipped as ${digest.slice(0, 12)}…: ` +
      "figures of another corpus would pass as its own",
    "install the agent anew; a corpus that was changed needs another name",
  );
}

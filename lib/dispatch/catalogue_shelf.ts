/**
 * What operations do, by the digest of the catalogue they stand in: asked of the first agent that
 * has it, and not again. The digest is made anew here: no agent can speak for another one's catalogue.
 *
 * @module
 */

import { canonicalJson, type Json } from "../core/canonical_json.ts";
import { hex } from "../core/ids.ts";
import { readJson } from "../core/strict_json.ts";
import type { Exchanged } from "./exchange.ts";
import { objectOf } from "./reply.ts";

/** What is known of an operation before it is asked for. */
export interface ShelfEntry {
  readonly effect: "read" | "mutate";
  readonly deadlineMs: number;
}

/** Catalogues of one command. */
export class CatalogueShelf {
  readonly #sha256: (text: string) => Uint8Array;
  readonly #known = new Map<string, Promise<ReadonlyMap<string, ShelfEntry> | null>>();

  constructor(sha256: (text: string) => Uint8Array) {
    this.#sha256 = sha256;
  }

  /** The entry of an operation; null when it is not known. `ask` gets `/v1/operations`. */
  async entryOf(
    digest: Json | undefined,
    name: string,
    ask: () => Promise<Exchanged>,
  ): Promise<ShelfEntry | null> {
    if (typeof digest !== "string") return null;
    const theirs = this.#known.get(digest);
    const entries = theirs === undefined ? null : await theirs;
    if (entries !== null) return entries.get(name) ?? null;
    // Nobody asked yet, or an agent that was asked gave nothing: this one may do better.
    const known = this.#ask(digest, ask);
    this.#known.set(digest, known);
    return (await known)?.get(name) ?? null;
  }

  /** Whether a catalogue that was asked for has an operation; null when none is known. */
  async has(digest: Json | undefined, name: string): Promise<boolean | null> {
    const known = typeof digest === "string" ? await this.#known.get(digest) : null;
    return known?.has(name) ?? null;
  }

  async #ask(
    digest: string,
    ask: () => Promise<Exchanged>,
  ): Promise<ReadonlyMap<string, ShelfEntry> | null> {
    const answer = await ask();
    if (answer.kind === "failed" || answer.status !== 200) return null;
    const bounds = { bytes: answer.bytes.length, depth: 128, values: 1_000_000 };
    const read = readJson(answer.bytes, bounds);
    const operations = read.kind === "ok" ? objectOf(read.value)?.["operations"] : undefined;
    if (operations === undefined || !Array.isArray(operations)) return null;
    if (hex(this.#sha256(canonicalJson(operations))) !== digest) return null;
    return new Map(operations.flatMap((one: Json) => {
      const entry = objectOf(one);
      const { name, effect, deadline_ms } = entry as {
        readonly [key: string]: Json | undefined;
      } ?? {};
      return typeof name === "string" && (effect === "read" || effect === "mutate") &&
          typeof deadline_ms === "number" && deadline_ms > 0
        ? [[name, { effect, deadlineMs: deadline_ms }] as const]
        : [];
    }));
  }
}

/**
 * What operators want of tiers, across a crash: the intent file names the quiesced ones. It restores
 * that side only; readmission always passes a fresh probe. A file that cannot be read quiesces every
 * tier: not knowing what an operator wanted is no reason to take requests.
 *
 * @module
 */

import { z } from "zod";
import type { Files } from "../../lib/core/files.ts";
import { type Refusal, refuse } from "../../lib/core/refusal.ts";

/** What the file says at start. */
export type Restored =
  | { readonly kind: "quiesced"; readonly tiers: ReadonlySet<string> }
  /** It is there and cannot be understood: every tier starts quiesced. */
  | { readonly kind: "unreadable"; readonly detail: string };

/** Where intent is kept. */
export interface IntentStore {
  restore(): Promise<Restored>;
  /** On the disk when it resolves with null; the file as it was when it refuses. */
  save(quiesced: readonly string[]): Promise<Refusal | null>;
}

const MOST_BYTES = 256 * 1024;

const shape = z.strictObject({
  schema: z.literal(1),
  quiesced: z.array(z.string().min(1).max(256)).max(4096),
});

const encoder = new TextEncoder();

/** Intent kept in the file at `path`. One writer. */
export function intentFile(path: string, files: Files): IntentStore {
  return {
    async restore() {
      const read = await files.readBounded(path, MOST_BYTES);
      if (read.kind === "absent") return { kind: "quiesced", tiers: new Set() };
      if (read.kind === "refused") return { kind: "unreadable", detail: read.detail };
      let parsed: unknown;
      try {
        parsed = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(read.bytes));
      } catch {
        return { kind: "unreadable", detail: "the intent file is not JSON; it may be cut" };
      }
      const intent = shape.safeParse(parsed);
      return intent.success
        ? { kind: "quiesced", tiers: new Set(intent.data.quiesced) }
        : { kind: "unreadable", detail: "the intent file does not have the shape of one" };
    },
    async save(quiesced) {
      const text = `${JSON.stringify({ schema: 1, quiesced: [...quiesced].sort() })}\n`;
      const replaced = await files.replaceFile(path, encoder.encode(text), 0o600);
      return replaced.kind === "ok" ? null : refuse(
        "intent_not_kept",
        `the intent could not be written, and nothing was changed: ${replaced.detail}`,
        "make room or mend the state directory, then ask again",
      );
    },
  };
}

/** Intent of a router without a state directory: gone with the process, and said so. */
export const FORGETFUL: IntentStore = {
  restore: () => Promise.resolve({ kind: "quiesced", tiers: new Set<string>() }),
  save: () => Promise.resolve(null),
};

/**
 * Flags and positionals of commands on evidence.
 *
 * @module
 */

import { nameOf } from "../../../lib/evidence/document.ts";
import { HOME_FLAG, JSON_FLAG } from "../flags.ts";
import type { Operator } from "../operator.ts";
import { readShelf, shelfOf } from "./shelf.ts";

/** Where evidence is kept, if not in the home. */
export interface EvidenceDir {
  readonly evidenceDir?: string;
}

/** What they all take. */
export interface EvidenceFlags extends EvidenceDir {
  readonly home?: string;
  readonly json: boolean;
}

/** `--evidence-dir`. */
export const EVIDENCE_DIR_FLAG = {
  kind: "parsed",
  parse: String,
  optional: true,
  brief: "The folder of evidence (default: evidence in the home)",
  placeholder: "DIR",
} as const;

/** The flags. */
export const EVIDENCE_FLAGS = {
  json: JSON_FLAG,
  home: HOME_FLAG,
  evidenceDir: EVIDENCE_DIR_FLAG,
} as const;

/** A document by name; completed with those of the home. */
export function documentName(operator: Operator, brief: string) {
  return {
    brief,
    parse: nameOfDocument,
    proposeCompletions: async (partial: string) => {
      const folder = shelfOf(operator, {});
      const kept: Awaited<ReturnType<typeof readShelf>> = typeof folder === "string"
        ? await readShelf(operator, folder)
        : [];
      if ("kind" in kept) return [];
      return kept.flatMap(({ document }) => document === null ? [] : [nameOf(document)])
        .filter((name) => name.startsWith(partial));
    },
    placeholder: "EVIDENCE",
  } as const;
}

function nameOfDocument(text: string): string {
  if (!/^(ev-)?[0-9a-f]{4,64}$/.test(text)) {
    throw new SyntaxError("expected ev-… or a digest, or its first digits, four at least");
  }
  return text;
}

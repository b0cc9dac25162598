/**
 * Flags and positionals that several commands share.
 *
 * @module
 */

import { ID_PATTERN } from "../../lib/core/ids.ts";

/** `--json`. */
export const JSON_FLAG = {
  kind: "boolean",
  brief: "Print one JSON envelope: ok, data, problems",
  default: false,
  withNegated: false,
} as const;

/** `--home`. */
export const HOME_FLAG = {
  kind: "parsed",
  parse: String,
  optional: true,
  brief: "The operator home (default: $ANVIL_HOME, else ~/.anvil)",
  placeholder: "DIR",
} as const;

/** `--by`. */
export const BY_FLAG = {
  kind: "parsed",
  parse: name,
  optional: true,
  brief: "Who does this, for the record (default: the user)",
  placeholder: "NAME",
} as const;

/** An optional flag that takes its word as it stands. */
export const textFlag = (brief: string, placeholder: string) =>
  ({ kind: "parsed", parse: String, optional: true, brief, placeholder }) as const;

/** `[FILE]`. */
export const FILE = {
  kind: "tuple",
  parameters: [{
    brief: "A topology; without it the live one of the home",
    parse: String,
    optional: true,
    placeholder: "FILE",
  }],
} as const;

/** What most commands on a topology take. */
export interface FleetFlags {
  readonly home?: string;
  readonly json: boolean;
}

/** Reads the id of a host. */
export function hostId(text: string): string {
  if (!ID_PATTERN.test(text)) {
    throw new SyntaxError("expected lower-case letters, digits and `-`, a letter first");
  }
  return text;
}

function name(text: string): string {
  if (!/^[^\p{C}]{1,256}$/u.test(text)) {
    throw new SyntaxError("expected 1 to 256 visible characters");
  }
  return text;
}

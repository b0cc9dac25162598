/**
 * The flag that every command which prints something has.
 *
 * @module
 */

/** `--json`. */
export const JSON_FLAG = {
  kind: "boolean",
  brief: "Print one JSON envelope: ok, data, problems",
  default: false,
  withNegated: false,
} as const;

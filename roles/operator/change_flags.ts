/**
 * Flags of commands that change one host, and their words on the command line.
 *
 * @module
 */

import { DISPATCH_FLAGS, targetFlag } from "./dispatch_flags.ts";
import type { TargetFlags } from "./one_host.ts";
import type { Operator } from "./operator.ts";

/** What they all take. */
export interface ChangeFlags extends TargetFlags {
  readonly dryRun: boolean;
  readonly key?: string;
}

/** What a change takes that stops, replaces or overwrites something. */
export interface DestructiveFlags extends ChangeFlags {
  readonly confirm: boolean;
}

/** A flag that is said or not. */
export function yes(brief: string) {
  return { kind: "boolean", default: false, withNegated: false, brief } as const;
}

/** `--key`. */
export const KEY_FLAG = {
  kind: "parsed",
  parse: idempotencyKey,
  optional: true,
  brief: "The idempotency key; the one of an earlier call joins it (default: a fresh one)",
  placeholder: "KEY",
} as const;

/** Flags of a read on one host. */
export function lookFlags(operator: Operator) {
  return { ...DISPATCH_FLAGS, target: targetFlag(operator) } as const;
}

/** Flags of a change that destroys nothing. */
export function changeFlags(operator: Operator) {
  return {
    ...lookFlags(operator),
    dryRun: yes("Plan only: show what would be done, change nothing"),
    key: KEY_FLAG,
  } as const;
}

/** Flags of a change that stops, replaces or overwrites something. */
export function destructiveFlags(operator: Operator) {
  return {
    ...changeFlags(operator),
    confirm: yes("Yes to the plan; without it the plan is shown and nothing is done"),
  } as const;
}

/** `--drain`. */
export const DRAIN_FLAG = {
  kind: "parsed",
  parse: drainSeconds,
  default: "60",
  brief: "Seconds each tier may take to end what is in flight",
  placeholder: "S",
} as const;

/** The name of a serve or a mode, as a positional. */
export function namePositional(brief: string, placeholder: string) {
  return {
    kind: "tuple",
    parameters: [{ brief, parse: plainName, placeholder }],
  } as const;
}

/** Reads the name of a serve or a mode. */
export function plainName(text: string): string {
  if (!/^[a-z][a-z0-9-]{0,62}$/.test(text)) {
    throw new SyntaxError("expected lower-case letters, digits and `-`, a letter first");
  }
  return text;
}

/** Reads an idempotency key. */
export function idempotencyKey(text: string): string {
  if (!/^[A-Za-z0-9._:-]{8,128}$/.test(text)) {
    throw new SyntaxError("expected 8 to 128 of `A-Z a-z 0-9 . _ : -`");
  }
  return text;
}

function drainSeconds(text: string): number {
  if (!/^\d{1,4}$/.test(text) || Number(text) > 3600) {
    throw new SyntaxError("expected whole seconds, 0 to 3600");
  }
  return Number(text);
}

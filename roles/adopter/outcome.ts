/**
 * What a verb came to: for a person one line, for a machine a code and data.
 *
 * @module
 */

import type { Json } from "../../lib/core/canonical_json.ts";
import type { ExitCode } from "../../lib/terminal/program.ts";

/** The outcome of a verb. */
export interface Outcome {
  readonly exit: ExitCode;
  /** Stable; in the runbook. */
  readonly code: string;
  readonly detail: string;
  readonly nextStep?: string;
  readonly data: Json;
}

/** Done, nothing to do, or later. */
export function fine(code: string, detail: string, data: Json = null): Outcome {
  return { exit: 0, code, detail, data };
}

/** Refused or failed. */
export function refusedBy(code: string, detail: string, nextStep?: string): Outcome {
  const outcome = { exit: 1, code, detail, data: null } as const;
  return nextStep === undefined ? outcome : { ...outcome, nextStep };
}

/** A person must look. */
export function needsPerson(code: string, detail: string): Outcome {
  return {
    exit: 3,
    code,
    detail,
    nextStep: "look at the host, then say `anvil-adopter recovered --why ...`",
    data: null,
  };
}

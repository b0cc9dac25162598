/** Files that the command line names. @module */

import { type Refusal, refuse } from "../../../lib/core/refusal.ts";

/** Why the file that `flag` names was not read: which one, and where this program reads at all. */
export function refuseGiven(flag: string, { code, detail, nextStep }: Refusal): Refusal {
  const next = code === "file_unreadable"
    ? "put it into the current folder or into the home, ~/.anvil: nothing else is read"
    : nextStep;
  return refuse(code, `${flag}: ${detail}`, next);
}

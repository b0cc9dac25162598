/**
 * What the end of an attempt leaves: a receipt, a marker that comes or goes, an exit code.
 *
 * @module
 */

import { receiptOf } from "../../lib/adoption/receipts.ts";
import type { EndingKind, Last, Slots } from "../../lib/adoption/slots.ts";
import type { ExitCode } from "../../lib/terminal/program.ts";
import type { Adopter } from "./adopter.ts";

/** What an ending means for the marker of the activating unit, and for who asked. */
const ENDS = {
  "known-good": { marker: "clear", exit: 0 },
  "deferred": { marker: "keep", exit: 0 },
  "pending-boot": { marker: "keep", exit: 0 },
  "refused": { marker: "fail", exit: 1 },
  "failed": { marker: "fail", exit: 1 },
  "rolled-back": { marker: "fail", exit: 1 },
  "superseded": { marker: "fail", exit: 1 },
  "other-generation-booted": { marker: "fail", exit: 1 },
  "manual-recovery": { marker: "fail", exit: 3 },
} as const satisfies Record<
  EndingKind,
  { readonly marker: "clear" | "keep" | "fail"; readonly exit: ExitCode }
>;

/** What a process exits with after this attempt. */
export function exitOf(last: Last): ExitCode {
  return last.ending.code === "already_current" ? 0 : ENDS[last.ending.kind].exit;
}

/** Writes it all down. Safe to repeat: a receipt is known by its attempt. */
export async function recordEnding(adopter: Adopter, slots: Slots): Promise<void> {
  const { last } = slots;
  if (last === null) return;
  const { records, ports } = adopter;
  await records.add(receiptOf(last));
  const { kind, code, detail } = last.ending;
  ports.remarks.info("attempt {attempt} ended: {ending}", {
    attempt: last.attempt,
    ending: kind,
    code,
    path: last.path,
  });
  if (code === "already_current") return;
  // Good, and yet the next boot takes something else: nobody must think all is well.
  const marker = code === "proven_not_boot_default" ? "fail" : ENDS[kind].marker;
  if (marker === "fail") await records.fail("activate", code, detail);
  if (marker === "clear") await records.clear("activate");
}

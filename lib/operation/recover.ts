/**
 * What a start does with what an earlier process left: it is settled, on record, and never run again.
 *
 * @module
 */

import type { Audit } from "./audit.ts";
import type { Ledger } from "./ledger.ts";
import type { RunView } from "./run_record.ts";

/** Settles the runs of other epochs and ends the starts that have no end; gives those runs. */
export function recover(ledger: Ledger, audit: Audit): readonly RunView[] {
  const left = ledger.settleOthers();
  for (const run of left) {
    audit.append({
      phase: "end",
      call: run.id,
      principal: run.principal,
      operation: run.operation,
      action: "apply",
      key: run.key,
      target_digest: null,
      dry_run: false,
      outcome: "failed",
      code: run.code,
      duration_ms: null,
    }, true);
  }
  endOpenStarts(ledger, audit);
  return left;
}

/** Ends starts that a power cut left without an end, by what the ledger knows of them. */
function endOpenStarts(ledger: Ledger, audit: Audit): void {
  for (const start of audit.openStarts()) {
    const run = ledger.get(start.call);
    audit.append({
      ...start,
      phase: "end",
      // Without a row the call had not come to its claim: nothing was begun.
      outcome: run === null || run.state === "running" ? "failed" : run.state,
      code: run === null ? "operation_interrupted" : run.code,
    }, true);
  }
}

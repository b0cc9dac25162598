/** A receipt as a person reads it. @module */

import { type BootstrapReceipt, hasPassed, isSettled } from "../../../lib/bootstrap/receipt.ts";

/** Its phases, each with what led to it, what went wrong in the end, and what a person does next. */
export function receiptLines(receipt: BootstrapReceipt): string {
  const { operation_id, phases, error } = receipt;
  const lines = phases.map((one) =>
    `  ${one.at}  ${one.phase}${one.error === undefined ? "" : `, ${one.error}`}\n`
  );
  return `${operation_id}\n${lines.join("")}${error === null ? "" : `  ${error}\n`}${
    nextOf(receipt)
  }`;
}

function nextOf(receipt: BootstrapReceipt): string {
  if (!isSettled(receipt)) {
    return `  not settled; next: the same apply with --operation ${receipt.operation_id}\n`;
  }
  return hasPassed(receipt, "manual_recovery")
    ? "  next: on the host, look at the unit's journal and the receiver's log.jsonl\n"
    : "";
}

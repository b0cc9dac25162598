/**
 * The operator's receipts: one file per operation, in the home.
 *
 * @module
 */

import { type BootstrapReceipt, bootstrapReceiptShape } from "../../../lib/bootstrap/receipt.ts";
import { timestamp } from "../../../lib/core/clock.ts";
import { type Refusal, refuse } from "../../../lib/core/refusal.ts";
import { readJson } from "../../../lib/core/strict_json.ts";
import { within } from "../../../lib/host/paths.ts";
import type { Operator } from "../operator.ts";
import type { BootstrapPorts } from "./apply.ts";

const MOST_BYTES = 64 * 1024;

/** The folder of bootstraps in a home. */
export function bootstrapFolder(home: string): string {
  return within(home, "bootstrap");
}

/** Where receipts are kept, below the folder of bootstraps. */
export function receiptPorts(
  { ports }: Operator,
  folder: string,
): Pick<BootstrapPorts, "record" | "now"> {
  const receipts = within(folder, "receipts");
  return {
    record: async (receipt) => {
      const made = await ports.directories.make(receipts);
      if (made.kind === "refused") return made;
      const bytes = new TextEncoder().encode(`${JSON.stringify(receipt, null, 2)}\n`);
      const path = within(receipts, `${receipt.operation_id}.json`);
      const written = await ports.files.replaceFile(path, bytes, 0o600);
      return written.kind === "refused" ? written : null;
    },
    now: () => timestamp(ports.clock.now()),
  };
}

/** The receipt of an operation; null when this home has none. */
export async function keptReceipt(
  { ports }: Operator,
  folder: string,
  operationId: string,
): Promise<BootstrapReceipt | null | Refusal> {
  const path = within(within(folder, "receipts"), `${operationId}.json`);
  const read = await ports.files.readBounded(path, MOST_BYTES);
  if (read.kind === "absent") return null;
  if (read.kind === "refused") return read;
  const json = readJson(read.bytes);
  const parsed = json.kind === "ok" ? bootstrapReceiptShape.safeParse(json.value).data : undefined;
  return parsed ?? refuse(
    "receipt_damaged",
    "the receipt of this operation is not what was written",
    "look at it in the home, below bootstrap/receipts; move it away to begin with none",
  );
}

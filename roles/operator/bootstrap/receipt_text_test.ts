import assert from "node:assert/strict";
import type { BootstrapReceipt } from "../../../lib/bootstrap/receipt.ts";
import { receiptLines } from "./receipt_text.ts";

const AT = "2026-11-30T03:58:55.465Z";
const RECEIPT: BootstrapReceipt = {
  schema: 1,
  operation_id: "boot-48fe93c3159b316030836f5d",
  node: "gpu-a",
  plan_sha256: "1".repeat(64),
  manifest_digest: "2".repeat(64),
  build_digest: "3".repeat(64),
  phases: [{ phase: "planned", at: AT }, { phase: "accepted", at: AT }],
  error: null,
  by: "owner",
};

Deno.test("an accepted bootstrap is told by its phases alone", () => {
  assert.equal(
    receiptLines(RECEIPT),
    `boot-48fe93c3159b316030836f5d\n  ${AT}  planned\n  ${AT}  accepted\n`,
  );
});

Deno.test("who is stuck reads why it went back, and where to look", () => {
  const lines = receiptLines({
    ...RECEIPT,
    phases: [
      { phase: "activated", at: AT },
      { phase: "rollback_started", at: AT, error: "restart_failed" },
      { phase: "manual_recovery", at: AT },
      { phase: "cleanup_failed", at: AT },
    ],
    error: "no_prior_generation",
  });
  assert.match(lines, /rollback_started, restart_failed\n/);
  assert.match(
    lines,
    /\n {2}no_prior_generation\n {2}next: on the host, look at the unit's journal/,
  );
});

Deno.test("what is open names the command that goes on with it", () => {
  const lines = receiptLines({ ...RECEIPT, phases: [{ phase: "planned", at: AT }] });
  assert.match(lines, /not settled; next: the same apply with --operation boot-48fe/);
});

/**
 * An audit whose files are full after a few records.
 *
 * @module
 */

import type { AuditBounds } from "../../lib/operation/audit_files.ts";
import type { AuditEvent } from "../../lib/operation/audit_record.ts";

/** Two full files beside the live one, of a few records each. */
export const BOUNDS: AuditBounds = { fileBytes: 1200, files: 2 };

/** A record like any other. */
export const EVENT: AuditEvent = {
  phase: "start",
  call: "run-1",
  principal: "ops",
  operation: "box.put",
  action: "apply",
  key: "key-00000001",
  target_digest: null,
  dry_run: false,
  outcome: null,
  code: null,
  duration_ms: null,
};

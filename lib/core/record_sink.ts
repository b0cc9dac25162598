/**
 * The record sink port: metadata-only records, best effort, never in the way.
 *
 * Every implementation passes `lib/testing/record_sink_conformance.ts`. Losing a record is allowed;
 * losing it without counting it is not.
 *
 * @module
 */

import type { Json } from "./canonical_json.ts";

/** Takes records. */
export interface RecordSink<Item extends Json = Json> {
  /** Hands a record over. Never waits, never throws. A token in it is masked before it is kept. */
  write(record: Item): void;
  /** Resolves when every record written so far is handed to the disk or counted as lost. */
  flush(): Promise<void>;
  /** How many records were lost since the start: full queue, full disk, missing directory. */
  readonly lost: number;
}

/**
 * The journal port: an append-only record that is on the disk when `append` returns.
 *
 * @module
 */

import type { Json } from "./canonical_json.ts";

/** One append-only file of entries. One writer. */
export interface Journal<Entry extends Json> {
  /** Every entry that was appended whole, oldest first. A torn last line is dropped, not an error. */
  read(): Promise<readonly Entry[]>;
  /** Resolves once the entry is flushed to the disk. */
  append(entry: Entry): Promise<void>;
}

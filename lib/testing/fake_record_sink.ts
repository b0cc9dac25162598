/**
 * A record sink that keeps an array and can be told to fail.
 *
 * @module
 */

import type { Json } from "../core/canonical_json.ts";
import { maskText } from "../core/mask.ts";
import type { RecordSink } from "../core/record_sink.ts";

/** Keeps what reached the disk in `records`. */
export class FakeRecordSink<Item extends Json = Json> implements RecordSink<Item> {
  readonly records: Item[] = [];
  lost = 0;
  /** While true the disk says no. */
  failing = false;
  readonly #queue: string[] = [];

  write(record: Item): void {
    try {
      this.#queue.push(maskText(JSON.stringify(record)));
    } catch {
      this.lost++;
      return;
    }
    if (!this.failing) this.#settle();
  }

  flush(): Promise<void> {
    if (this.failing) this.lost += this.#queue.splice(0).length;
    else this.#settle();
    return Promise.resolve();
  }

  #settle(): void {
    for (const line of this.#queue.splice(0)) this.records.push(JSON.parse(line) as Item);
  }
}

/**
 * Digests of the views of one topology. A thousand views of a thousand hosts are half a gigabyte of
 * text that is alike but for two lines: its bytes are made once, and hashed behind each head.
 *
 * @module
 */

import { hex } from "../core/ids.ts";
import type { Refusal } from "../core/refusal.ts";
import type { Fleet } from "./shape.ts";
import { noView, viewHead, type ViewParts, viewParts } from "./view.ts";
import type { Runtime } from "./vocabulary.ts";

/** Enough for the two lines and usual leading comments; a longer head makes room once. */
const ROOM = 1024;

const encoder = new TextEncoder();

/** What makes them. */
export class ViewDigests {
  readonly #sha256: (bytes: Uint8Array) => Uint8Array;
  readonly #fleet: Fleet;
  readonly #parts: ViewParts;
  /** Room for a head that ends where the tail begins, then the tail. */
  #bytes: Uint8Array;
  #tail: number;

  /** `text` is the canonical topology that `fleet` was read from. */
  constructor(sha256: (bytes: Uint8Array) => Uint8Array, text: string, fleet: Fleet) {
    this.#sha256 = sha256;
    this.#fleet = fleet;
    this.#parts = viewParts(text);
    const tail = encoder.encode(this.#parts.tail);
    this.#bytes = new Uint8Array(ROOM + tail.length);
    this.#bytes.set(tail, ROOM);
    this.#tail = ROOM;
  }

  /** The digest, lower-case hex, of what `viewText` gives for the same. */
  of(host: string, runtime: Runtime): string | Refusal {
    const refusal = noView(this.#fleet, host);
    if (refusal !== null) return refusal;
    const head = encoder.encode(viewHead(this.#parts, host, runtime));
    if (head.length > this.#tail) this.#makeRoom(head.length);
    const start = this.#tail - head.length;
    this.#bytes.set(head, start);
    return hex(this.#sha256(this.#bytes.subarray(start)));
  }

  #makeRoom(room: number): void {
    const larger = new Uint8Array(room + this.#bytes.length - this.#tail);
    larger.set(this.#bytes.subarray(this.#tail), room);
    this.#bytes = larger;
    this.#tail = room;
  }
}

/**
 * Lets whole events of a stream pass, and keeps the beginning of the next one back until its end
 * has come. When the member breaks in the middle of an event, its client then has whole events and
 * our error event behind them, and no half one: libraries throw at that before they see the error.
 *
 * An event longer than the bound passes in parts, as nothing can be kept back without end.
 *
 * @module
 */

/** Bytes of an event that are kept back at most. */
export const HELD_MOST = 64 * 1024;

const NONE = new Uint8Array(0);

/** What is kept back of one stream. */
export class EventHold {
  /** Room for what is kept back; it grows by doubling. */
  #room: Uint8Array = NONE;
  #length = 0;
  /** The event that is being read was too long: its beginning has passed. */
  #begun = false;

  /** True while the beginning of an event is kept back, and the client has nothing of it. */
  get holds(): boolean {
    return this.#length > 0;
  }

  /**
   * What may pass now that `bytes` have come, behind what was kept back; it may be nothing. `open`
   * is how many bytes at the end of the stream so far belong to an event that has not ended. What is
   * kept back is a copy: the bytes given may be written over.
   */
  pass(bytes: Uint8Array, open: number): Uint8Array {
    if (open > bytes.length) { // no event ends here
      if (this.#begun) return bytes;
      this.#begun = this.#length + bytes.length > HELD_MOST;
      if (this.#begun) return this.#behindHeld(bytes);
      this.#keep(bytes);
      return NONE;
    }
    this.#begun = open > HELD_MOST;
    if (open === 0 || this.#begun) return this.#behindHeld(bytes);
    const end = bytes.length - open;
    const passed = this.#behindHeld(bytes.subarray(0, end));
    this.#keep(bytes.subarray(end));
    return passed;
  }

  /** `bytes` with what was kept back before them; no copy where that is nothing. */
  #behindHeld(bytes: Uint8Array): Uint8Array {
    if (this.#length === 0) return bytes;
    const both = new Uint8Array(this.#length + bytes.length);
    both.set(this.#room.subarray(0, this.#length));
    both.set(bytes, this.#length);
    this.#length = 0;
    return both;
  }

  #keep(bytes: Uint8Array): void {
    const length = this.#length + bytes.length;
    if (length > this.#room.length) {
      const larger = new Uint8Array(Math.max(length, this.#room.length * 2, 512));
      larger.set(this.#room.subarray(0, this.#length));
      this.#room = larger;
    }
    this.#room.set(bytes, this.#length);
    this.#length = length;
  }
}

/**
 * Takes the chunk framing off, in place: what is left of a read is one run of payload inside the
 * very buffer it was read into. No byte is kept back, so nothing waits and nothing is allocated.
 *
 *     size ─> extension? ─> LF ─> data ─> CR ─> LF ─┐
 *       ^                                           │
 *       └───────────────────────────────────────────┘   size 0: trailer lines, blank line, done
 *
 * @module
 */

const CR = 13;
const LF = 10;
const SEMICOLON = 59;
const TAB = 9;

/** 2^52 and less: any sum with a buffer's size is exact. */
const MOST_DIGITS = 13;
/** Bytes of extensions per chunk; they mean nothing to us. */
const MOST_EXTENSION = 1024;
/** Bytes of all trailers; they are dropped. */
const MOST_TRAILER = 16 * 1024;

type State =
  | "size"
  | "extension"
  | "size-lf"
  | "data"
  | "data-cr"
  | "data-lf"
  | "trailer"
  | "trailer-line"
  | "trailer-lf"
  | "end-lf"
  | "done"
  | "malformed";

/** One chunked body. */
export class ChunkedDecoder {
  #state: State = "size";
  #size = 0;
  #digits = 0;
  #spent = 0;
  #cause = "";
  /** The payload found by the last `decode`: `[from, to)` of the buffer given. */
  from = 0;
  to = 0;
  /** Bytes of the buffer that belong to the body; fewer than given only once it is done. */
  consumed = 0;

  get done(): boolean {
    return this.#state === "done";
  }

  /** Why the framing is not understood, or null. */
  get malformed(): string | null {
    return this.#state === "malformed" ? this.#cause : null;
  }

  /** Decodes `bytes[0, end)` in place and sets `from`, `to` and `consumed`. */
  decode(bytes: Uint8Array, end: number): void {
    this.from = this.to = 0;
    let at = 0;
    while (at < end) {
      if (this.#state === "done" || this.#state === "malformed") break;
      if (this.#state === "data") {
        const take = Math.min(this.#size, end - at);
        if (this.from === this.to) this.from = this.to = at;
        else if (this.to !== at) bytes.copyWithin(this.to, at, at + take);
        this.to += take;
        at += take;
        this.#size -= take;
        if (this.#size === 0) this.#state = "data-cr";
        continue;
      }
      this.#step(bytes[at++] as number);
    }
    this.consumed = at;
  }

  #step(byte: number): void {
    switch (this.#state) {
      case "size": {
        const digit = hexDigit(byte);
        if (digit >= 0) {
          if (++this.#digits > MOST_DIGITS) this.#refuse("a chunk size out of bounds");
          else this.#size = this.#size * 16 + digit;
        } else if (this.#digits === 0) this.#refuse("no chunk size where one was due");
        else if (byte === CR) this.#state = "size-lf";
        else if (byte === SEMICOLON) {
          this.#spent = 0;
          this.#state = "extension";
        } else this.#refuse("a chunk size that is not hexadecimal");
        return;
      }
      case "extension":
        if (byte === CR) this.#state = "size-lf";
        else this.#ignore(byte, MOST_EXTENSION, "a chunk extension");
        return;
      case "size-lf":
        this.#spent = 0;
        this.#digits = 0;
        this.#expect(byte, LF, this.#size === 0 ? "trailer" : "data");
        return;
      case "data-cr":
        return this.#expect(byte, CR, "data-lf");
      case "data-lf":
        return this.#expect(byte, LF, "size");
      case "trailer":
        if (byte === CR) this.#state = "end-lf";
        else {
          this.#state = "trailer-line";
          this.#ignore(byte, MOST_TRAILER, "a trailer");
        }
        return;
      case "trailer-line":
        if (byte === CR) this.#state = "trailer-lf";
        else this.#ignore(byte, MOST_TRAILER, "a trailer");
        return;
      case "trailer-lf":
        return this.#expect(byte, LF, "trailer");
      case "end-lf":
        return this.#expect(byte, LF, "done");
    }
  }

  #expect(byte: number, expected: number, next: State): void {
    if (byte === expected) this.#state = next;
    else this.#refuse(`byte ${byte} where CR LF was due in the chunk framing`);
  }

  #ignore(byte: number, most: number, what: string): void {
    if ((byte < 0x20 && byte !== TAB) || byte === 0x7f) {
      this.#refuse(`a control character in ${what}`);
    } else if (++this.#spent > most) this.#refuse(`${what} over ${most} bytes`);
  }

  #refuse(cause: string): void {
    this.#state = "malformed";
    this.#cause = cause;
  }
}

function hexDigit(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const lower = byte | 0x20;
  return lower >= 97 && lower <= 102 ? lower - 87 : -1;
}

/**
 * The log stream of a container without a terminal: frames of two streams, one behind the other.
 *
 *     | stream 0..2 | 0 0 0 | length, 4 bytes big-endian | payload |
 *
 * A frame is a piece of one stream's output and need not end with a line.
 *
 * @module
 */

const HEAD = 8;

/** The output of both streams, line by line in the order in which lines were completed. */
export function linesOfFrames(
  bytes: Uint8Array,
): { readonly text: string; readonly whole: boolean } {
  const open = new Map<number, string>();
  const decoders = new Map<number, TextDecoder>();
  const lines: string[] = [];
  let at = 0;
  while (at + HEAD <= bytes.length) {
    const stream = bytes[at] ?? 0;
    const view = new DataView(bytes.buffer, bytes.byteOffset + at, HEAD);
    const length = view.getUint32(4);
    if (stream > 2 || (view.getUint32(0) & 0xffffff) !== 0) {
      return { text: join(lines), whole: false };
    }
    const payload = bytes.subarray(at + HEAD, at + HEAD + length);
    const decoder = decoders.get(stream) ?? new TextDecoder();
    decoders.set(stream, decoder);
    const parts = `${open.get(stream) ?? ""}${decoder.decode(payload, { stream: true })}`.split(
      "\n",
    );
    open.set(stream, parts.pop() ?? "");
    lines.push(...parts);
    at += HEAD + length;
  }
  for (const [, rest] of open) if (rest !== "") lines.push(rest);
  return { text: join(lines), whole: at === bytes.length };
}

/**
 * Where the first whole frame of a stream that was cut in front begins: the first place from which
 * heads follow one another to the end. Null when there is none.
 */
export function firstFrame(bytes: Uint8Array): number | null {
  for (let from = 0; from + HEAD <= bytes.length; from++) {
    if (follows(bytes, from)) return from;
  }
  return null;
}

function follows(bytes: Uint8Array, from: number): boolean {
  let at = from;
  while (at + HEAD <= bytes.length) {
    if ((bytes[at] ?? 9) > 2 || bytes[at + 1] !== 0 || bytes[at + 2] !== 0 || bytes[at + 3] !== 0) {
      return false;
    }
    at += HEAD + new DataView(bytes.buffer, bytes.byteOffset + at, HEAD).getUint32(4);
  }
  return at === bytes.length;
}

function join(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join("");
}

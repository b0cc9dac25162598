/**
 * Text of one character per byte, as the heads of HTTP messages are, in both directions.
 *
 * @module
 */

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const encoder = new TextEncoder();

/** `bytes[start, end)` as text, one character per byte. */
export function byteText(bytes: Uint8Array, start: number, end: number): string {
  const part = bytes.subarray(start, end);
  // The decoder is many times faster, and right where all of it is ASCII: whatever is not comes out
  // shorter, or as a replacement character.
  const text = decoder.decode(part);
  return text.length === part.length && !text.includes("\ufffd") ? text : slowly(part);
}

function slowly(bytes: Uint8Array): string {
  const SLICE = 4096; // `apply` takes so many arguments
  let text = "";
  for (let at = 0; at < bytes.length; at += SLICE) {
    text += String.fromCharCode.apply(
      null,
      bytes.subarray(at, at + SLICE) as unknown as number[],
    );
  }
  return text;
}

/**
 * Writes `text` to `into` from `at` on, one byte per character; gives the offset behind it. A
 * character above 255 is a bug of the caller and throws.
 */
export function putByteText(text: string, into: Uint8Array, at: number): number {
  const end = at + text.length;
  const room = at === 0 ? into : into.subarray(at);
  if (encoder.encodeInto(text, room).written === text.length && isAscii(text)) return end;
  for (let from = 0; from < text.length; from++) {
    const code = text.charCodeAt(from);
    if (code > 0xff) throw new Error("text: a character that is no byte");
    into[at + from] = code;
  }
  return end;
}

/** Other text is longer as UTF-8; where the room is short that alone would not show. */
function isAscii(text: string): boolean {
  return !/[^\0-\x7f]/.test(text);
}

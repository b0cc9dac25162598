/**
 * A header of the archive: the 512 bytes of ustar, with one spelling per file.
 *
 * @module
 */

import type { BundleFile } from "./manifest.ts";

/** Headers and contents come in blocks of so many bytes. */
export const BLOCK = 512;

const NAME_BYTES = 100;
const PREFIX_BYTES = 155;

/** Zeros from the end of `size` bytes to the next block. */
export function paddingOf(size: number): number {
  return (BLOCK - size % BLOCK) % BLOCK;
}

/**
 * The header of a file: owner 0, time 0, no names. Null when ustar cannot hold the path: longer than
 * 100 bytes without a `/` at the right place.
 */
export function headerOf(
  { path, size, mode }: Pick<BundleFile, "path" | "size" | "mode">,
): Uint8Array | null {
  const split = splitPath(path);
  if (split === null) return null;
  const block = new Uint8Array(BLOCK);
  const put = (at: number, text: string) => block.set(new TextEncoder().encode(text), at);
  put(0, split.name);
  put(100, octal(Number.parseInt(mode, 8), 7));
  put(108, octal(0, 7)); // uid
  put(116, octal(0, 7)); // gid
  put(124, octal(size, 11));
  put(136, octal(0, 11)); // time
  put(156, "0"); // a file
  put(257, "ustar\0" + "00");
  put(329, octal(0, 7)); // device
  put(337, octal(0, 7));
  put(345, split.prefix);
  put(148, `${octal(sumOf(block), 6)}\0 `);
  return block;
}

/** The first `/` that leaves a name of at most 100 bytes, so that there is one way to split. */
function splitPath(path: string): { readonly prefix: string; readonly name: string } | null {
  if (path.length <= NAME_BYTES) return { prefix: "", name: path };
  const at = path.indexOf("/", path.length - NAME_BYTES - 1);
  if (at < 1 || at > PREFIX_BYTES) return null;
  return { prefix: path.slice(0, at), name: path.slice(at + 1) };
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, "0");
}

/** The sum of a header whose sum field counts as spaces. */
function sumOf(block: Uint8Array): number {
  return block.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 0x20 : byte), 0);
}

/** What a header that is not the expected one says of itself. */
export type ForeignHeader =
  | { readonly kind: "end" } // zeros
  | { readonly kind: "damaged" } // nobody's header
  | { readonly kind: "entry"; readonly type: string; readonly path: string; readonly size: number };

/** Reads a header only to say what is wrong with it; nothing is ever extracted by what it says. */
export function describeHeader(block: Uint8Array): ForeignHeader {
  if (block.every((byte) => byte === 0)) return { kind: "end" };
  const text = (from: number, length: number) =>
    String.fromCharCode(...block.subarray(from, from + length)).replace(/\0[^]*$/, "");
  const sum = /^ *([0-7]{1,7})[\0 ]*$/.exec(text(148, 8));
  const size = /^ *([0-7]{1,11})[\0 ]*$/.exec(text(124, 12));
  if (sum === null || Number.parseInt(sum[1] as string, 8) !== sumOf(block) || size === null) {
    return { kind: "damaged" };
  }
  const prefix = text(257, 6) === "ustar" ? text(345, PREFIX_BYTES) : "";
  return {
    kind: "entry",
    type: String.fromCharCode(block[156] as number),
    path: prefix === "" ? text(0, NAME_BYTES) : `${prefix}/${text(0, NAME_BYTES)}`,
    size: Number.parseInt(size[1] as string, 8),
  };
}

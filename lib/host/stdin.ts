/**
 * What somebody pipes into this program.
 *
 * @module
 */

/** Reads standard input to its end; null when there are more than `maxBytes`. */
export async function readStdin(maxBytes: number): Promise<Uint8Array | null> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const chunk = new Uint8Array(16 * 1024);
    const count = await Deno.stdin.read(chunk);
    if (count === null) break;
    size += count;
    if (size > maxBytes) return null;
    chunks.push(chunk.subarray(0, count));
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

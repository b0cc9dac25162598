/**
 * Reads the body of a request, at most so many bytes of it.
 *
 * @module
 */

import { type Refusal, refuse } from "../core/refusal.ts";

/** What reading a body gave. */
export type BodyRead =
  | { readonly kind: "ok"; readonly bytes: Uint8Array<ArrayBuffer> }
  | Refusal<"body_too_large">
  /** The client left, or the signal was aborted, before the end. */
  | { readonly kind: "broken"; readonly cause: string };

/** Reads all of `request`'s body; stops, and lets go of the stream, at `maxBytes`. */
export async function readBodyBounded(
  request: Request,
  maxBytes: number,
  signal?: AbortSignal,
): Promise<BodyRead> {
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) return tooLarge(maxBytes);
  if (request.body === null) return { kind: "ok", bytes: new Uint8Array(0) };
  const reader = request.body.getReader();
  const onAbort = () => void reader.cancel(signal?.reason).catch(() => {});
  signal?.addEventListener("abort", onAbort, { once: true });
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  try {
    for (;;) {
      if (signal?.aborted) return { kind: "broken", cause: String(signal.reason) };
      const { value, done } = await reader.read();
      if (signal?.aborted) continue;
      if (done) break;
      length += value.length;
      if (length > maxBytes) {
        await reader.cancel().catch(() => {});
        return tooLarge(maxBytes);
      }
      chunks.push(value);
    }
  } catch (error) {
    return { kind: "broken", cause: String(error) };
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return { kind: "ok", bytes };
}

function tooLarge(maxBytes: number): Refusal<"body_too_large"> {
  return refuse("body_too_large", `observed a body of more than the ${maxBytes} bytes allowed`);
}

/**
 * One connection: one frame in, for `stage` a bundle behind it, one frame out. Whatever comes, under
 * a deadline and in bounded memory.
 *
 * @module
 */

import type { BootstrapCode } from "../../lib/bootstrap/codes.ts";
import { decodeFrame, encodeFrame, frameLength, HEAD_BYTES } from "../../lib/bootstrap/frames.ts";
import { type Answer, readRequest, type Request } from "../../lib/bootstrap/requests.ts";
import { CorruptLine } from "../../lib/core/json_lines.ts";
import { type Refusal, refuse } from "../../lib/core/refusal.ts";
import { ByteSource } from "../../lib/generation/byte_source.ts";
import type { ReceiverPorts } from "./ports.ts";
import { answerRequest, refusal } from "./receiver.ts";
import { unplaced } from "./unplaced.ts";

/** How long the frame itself may take, in milliseconds. */
const FRAME_MS = 10_000;
/** Serves one connection; the answer that was written. */
export async function serveConnection(
  world: ReceiverPorts,
  targetPath: string,
  chunks: AsyncIterable<Uint8Array>,
  write: (frame: Uint8Array) => Promise<void>,
): Promise<Answer> {
  const places = new Map([[targetPath, "target"]]);
  const ports: ReceiverPorts = {
    ...world,
    remark: (text) => world.remark(unplaced(text, places)),
    onTarget: ({ root, state }) => void places.set(root, "root").set(state, "state"),
  };
  const limit = new Limit(ports.clock, chunks);
  limit.until(FRAME_MS);
  const source = new ByteSource(limit);
  let answer: Answer;
  try {
    const request = await readFrame(source);
    if (request.kind === "refused") answer = refusal(limit.late ? tooSlow() : request);
    else {
      const bundleWithin = (seconds: number) => limit.until(seconds * 1000);
      answer = await answerRequest(ports, targetPath, request.request, source, bundleWithin);
      if (limit.late && !answer.ok) answer = { ...answer, code: "deadline_exceeded" };
    }
  } catch (error) {
    if (!(error instanceof CorruptLine)) throw error;
    ports.remark(error.message);
    answer = refusal(refuse("journal_damaged", "the receiver's journal is damaged"));
  } finally {
    limit.end();
  }
  await write(encodeFrame(answer as Parameters<typeof encodeFrame>[0]));
  return answer;
}

async function readFrame(
  source: ByteSource,
): Promise<{ readonly kind: "ok"; readonly request: Request } | Refusal<BootstrapCode>> {
  const head = await source.take(HEAD_BYTES);
  if (head.kind !== "ok") return refuse("invalid_contract", "the connection ends within a frame");
  const length = frameLength(head.bytes);
  if (typeof length !== "number") return length;
  const body = await source.take(length);
  if (body.kind !== "ok") return refuse("invalid_contract", "the connection ends within a frame");
  const frame = decodeFrame(body.bytes);
  return frame.kind === "refused" ? frame : readRequest(frame.value);
}

function tooSlow(): Refusal<BootstrapCode> {
  return refuse("deadline_exceeded", "the request did not come in time");
}

/** Chunks that stop coming at a deadline. */
class Limit implements AsyncIterable<Uint8Array> {
  late = false;
  readonly #clock: ReceiverPorts["clock"];
  readonly #chunks: AsyncIterator<Uint8Array>;
  #ends = new AbortController();
  #expired: Promise<never> = new Promise(() => {});

  constructor(clock: ReceiverPorts["clock"], chunks: AsyncIterable<Uint8Array>) {
    this.#clock = clock;
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /** From now on so many milliseconds. */
  until(ms: number): void {
    this.end();
    this.#ends = new AbortController();
    const { signal } = this.#ends;
    this.#expired = this.#clock.sleep(ms, signal).then(
      () => {
        this.late = true;
        throw new Error("the other end was too slow");
      },
      () => new Promise<never>(() => {}), // ended: nobody waits for it any more
    );
    this.#expired.catch(() => {}); // told to whoever reads next
  }

  end(): void {
    this.#ends.abort();
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return { next: () => Promise.race([this.#chunks.next(), this.#expired]) };
  }
}

/**
 * A file that never changes, sent in pieces as a client reads on.
 *
 * @module
 */

import { isAbsent } from "./os_error.ts";

/** Bytes read at once. */
const CHUNK = 64 * 1024;

/** Who is told how it went. */
export interface StreamEnd {
  readonly onEnd: () => void;
  readonly onStall: () => void;
}

/** A file that is open to be sent. */
export interface StaticFile {
  readonly kind: "open";
  /** Bytes. */
  readonly size: number;
  /**
   * The bytes from `from` to before `to`. When nobody reads on for `idleMs`, it ends and says so by
   * `onStall`. `onEnd` is called once, however it ends.
   */
  stream(from: number, to: number, idleMs: number, told: StreamEnd): ReadableStream<Uint8Array>;
  close(): void;
}

/** Opens a regular file that is no link; null when there is none. Throws what else may go wrong. */
export async function openStatic(path: string): Promise<StaticFile | null> {
  let file: Deno.FsFile;
  let size: number;
  try {
    if (!(await Deno.lstat(path)).isFile) return null;
    file = await Deno.open(path, { read: true });
    ({ size } = await file.stat());
  } catch (error) {
    if (isAbsent(error)) return null;
    throw error;
  }
  return {
    kind: "open",
    size,
    stream: (from, to, idleMs, told) => pieces(file, from, to, idleMs, told),
    close: () => file.close(),
  };
}

function pieces(
  file: Deno.FsFile,
  from: number,
  to: number,
  idleMs: number,
  { onEnd, onStall }: StreamEnd,
): ReadableStream<Uint8Array> {
  let at = from;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let over = false;
  const end = () => {
    if (over) return;
    over = true;
    clearTimeout(timer);
    file.close();
    onEnd();
  };
  const giveUp = (controller: ReadableStreamDefaultController) => {
    timer = setTimeout(() => {
      end();
      controller.error(new Error("the client does not read on"));
      onStall();
    }, idleMs);
  };
  return new ReadableStream({
    async start(controller) {
      giveUp(controller);
      await file.seek(from, Deno.SeekMode.Start);
    },
    async pull(controller) {
      clearTimeout(timer);
      try {
        const buffer = new Uint8Array(Math.min(CHUNK, to - at));
        const read = buffer.length === 0 ? 0 : await file.read(buffer) ?? 0;
        if (over) return;
        at += read;
        if (read > 0) controller.enqueue(buffer.subarray(0, read));
        if (read === 0 && at < to) {
          end();
          controller.error(new Error("the file became shorter"));
        } else if (at >= to) {
          end();
          controller.close();
        } else giveUp(controller);
      } catch (error) {
        end();
        controller.error(error);
      }
    },
    cancel: end,
  }, { highWaterMark: 0 });
}

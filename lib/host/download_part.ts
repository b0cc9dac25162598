/**
 * The unfinished half of a blob on the disk. It holds the only lock there is, on itself, and gets the
 * blob's name only when every byte of it was read back.
 *
 *     <path>.part        bytes from the first on, perhaps torn at their end by a power cut
 *     <path>.part.etag   whose bytes they are; written before the first of them
 *
 * @module
 */

import { createHash } from "node:crypto";
import { dirname } from "node:path";
import type { BlobAsk, BlobFault, DownloadRefusal } from "../core/download.ts";
import { refuse } from "../core/refusal.ts";
import { syncDirectory, systemFiles, writeAll } from "./files.ts";
import { isStillAt } from "./lock.ts";
import { causeOf, isAbsent, isNoSpace } from "./os_error.ts";

/** Bytes that are read back at once. */
const CHUNK = 256 * 1024;

/** What opening gave. */
export type PartOpened =
  | { readonly kind: "open"; readonly part: PartFile }
  | DownloadRefusal;

/** An unfinished blob. */
export class PartFile implements AsyncDisposable {
  /** Bytes that are there. */
  length = 0;
  /** The strong etag they came under; null: nobody knows, so they are not gone on with. */
  etag: string | null = null;
  /** Whether the last answer leaves hope for another attempt. */
  retryable = true;
  /** The blob itself is there, verified. */
  present = false;
  readonly #path: string;
  readonly #file: Deno.FsFile;
  #open = true;

  private constructor(path: string, file: Deno.FsFile) {
    this.#path = path;
    this.#file = file;
  }

  /** Opens and locks what an earlier run left, or an empty file. */
  static async open(ask: BlobAsk): Promise<PartOpened> {
    const name = `${ask.path}.part`;
    let file: Deno.FsFile | null = null;
    try {
      file = await Deno.open(name, { read: true, write: true, create: true, mode: 0o600 });
      if (!await file.tryLock(true) || !await isStillAt(file, name)) {
        file.close();
        const refusal = refuse("blob_busy", "another process downloads the same blob");
        return { ...refusal, cause: "locked" };
      }
      const part = new PartFile(ask.path, file);
      await part.#lookAround(ask);
      return { kind: "open", part };
    } catch (error) {
      try {
        file?.close();
      } catch {
        // closed already
      }
      return unwritable(error);
    }
  }

  async #lookAround(ask: BlobAsk): Promise<void> {
    if (await this.#isThere(ask)) {
      this.present = true;
      await this.#forget();
      return;
    }
    const read = await systemFiles.readBounded(`${this.#path}.part.etag`, 1024);
    this.etag = read.kind === "ok" ? new TextDecoder().decode(read.bytes) : null;
    this.length = (await this.#file.stat()).size;
    if (this.length > ask.size || this.etag === null) {
      await this.#file.truncate(0);
      this.length = 0;
    }
    await this.#file.seek(this.length, Deno.SeekMode.Start);
  }

  /** A blob of that name which is not what it should be is as good as none. */
  async #isThere(ask: BlobAsk): Promise<boolean> {
    try {
      using file = await Deno.open(ask.path, { read: true });
      if ((await file.stat()).size !== ask.size) return false;
      return await digestOf(file, ask, ask.signal) === ask.sha256;
    } catch (error) {
      if (isAbsent(error)) return false;
      throw error;
    }
  }

  /** From the first byte on, under `etag`. */
  async restart(etag: string | null): Promise<DownloadRefusal | null> {
    try {
      await this.#file.truncate(0);
      await this.#file.seek(0, Deno.SeekMode.Start);
      await this.#file.sync();
      this.length = 0;
      this.etag = etag;
      if (etag === null) {
        await removed(`${this.#path}.part.etag`);
        return null;
      }
      const bytes = new TextEncoder().encode(etag);
      const written = await systemFiles.replaceFile(`${this.#path}.part.etag`, bytes, 0o600);
      return written.kind === "ok" || written.code === "file_sync_unknown"
        ? null
        : blobFault(written.code === "file_no_space", written.cause);
    } catch (error) {
      return unwritable(error);
    }
  }

  /** Adds what came. */
  async append(chunk: Uint8Array): Promise<DownloadRefusal | null> {
    try {
      await writeAll(this.#file, chunk);
      this.length += chunk.length;
      return null;
    } catch (error) {
      // A write may have taken some of it.
      this.length = (await this.#file.stat()).size;
      return unwritable(error);
    }
  }

  /** Reads everything back, and only then gives it its name. */
  async finish(ask: BlobAsk, signal: AbortSignal): Promise<DownloadRefusal | null> {
    try {
      await this.#file.sync();
      await this.#file.seek(0, Deno.SeekMode.Start);
      const digest = await digestOf(this.#file, ask, signal);
      if (signal.aborted) {
        await this.#file.seek(this.length, Deno.SeekMode.Start);
        return { ...refuse("fetch-aborted", "stopped before it was verified"), cause: "aborted" };
      }
      if (digest !== ask.sha256) {
        await this.restart(null);
        const detail = "all bytes came, and they are not those that were signed";
        return { ...refuse("blob_digest_wrong", detail), cause: `sha256 ${digest}` };
      }
      await Deno.rename(`${this.#path}.part`, ask.path);
      await syncDirectory(dirname(ask.path));
      await removed(`${ask.path}.part.etag`);
      return null;
    } catch (error) {
      return unwritable(error);
    }
  }

  async #forget(): Promise<void> {
    await removed(`${this.#path}.part`);
    await removed(`${this.#path}.part.etag`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    // An empty one is of no use to anybody.
    if (this.length === 0 && !this.present) await this.#forget().catch(() => {});
    this.#file.close();
  }
}

async function digestOf(
  file: Deno.FsFile,
  ask: BlobAsk,
  signal: AbortSignal | undefined,
): Promise<string> {
  const hash = createHash("sha256");
  const buffer = new Uint8Array(CHUNK);
  for (let done = 0; !signal?.aborted;) {
    const read = await file.read(buffer);
    if (read === null) break;
    hash.update(buffer.subarray(0, read));
    done += read;
    ask.onProgress?.({ phase: "verifying", done, total: ask.size });
  }
  return hash.digest("hex");
}

async function removed(path: string): Promise<void> {
  try {
    await Deno.remove(path);
  } catch (error) {
    if (!isAbsent(error)) throw error;
  }
}

function unwritable(error: unknown): DownloadRefusal {
  return blobFault(isNoSpace(error), causeOf(error));
}

function blobFault(full: boolean, cause: string): DownloadRefusal {
  const code: BlobFault = full ? "blob_no_space" : "blob_unwritable";
  const detail = full ? "the disk or a quota is full" : "the blob cannot be written";
  return { ...refuse(code, detail), cause };
}

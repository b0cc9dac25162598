/**
 * A download port over bytes in memory, for those who call it. It keeps the promises without a
 * network: files go into a map.
 *
 * @module
 */

import type {
  BlobAsk,
  BlobFetched,
  Download,
  DownloadRefusal,
  TransferFault,
} from "../core/download.ts";
import { refuse } from "../core/refusal.ts";
import { type DownloadRig, hexDigest } from "./download_conformance.ts";

/** What the site does about one name. */
interface Served {
  bytes: Uint8Array<ArrayBuffer>;
  version: number;
  status: number;
  hangs: boolean;
  cutAfter: number;
  cuts: number;
  sent: number;
}

/** A site, a disk and a download port between them. */
export class FakeDownload implements Download, DownloadRig {
  readonly download: Download = this;
  readonly nowhere = "http://192.0.2.1/nowhere";
  /** The disk. */
  readonly files = new Map<string, Uint8Array>();
  /** What the next blobs meet on the disk; null: nothing in particular. */
  diskFault: "blob_no_space" | "blob_unwritable" | "blob_busy" | null = null;
  /** While true, nobody can be reached. */
  unreachable = false;
  readonly #site = new Map<string, Served>();
  readonly #parts = new Map<string, { readonly version: number; bytes: Uint8Array }>();

  put(name: string, bytes: Uint8Array<ArrayBuffer>): void {
    const before = this.#site.get(name);
    this.#site.set(name, {
      ...{ status: 200, hangs: false, cutAfter: 0, cuts: 0, sent: 0 },
      ...before,
      bytes,
      version: (before?.version ?? 0) + 1,
    });
  }

  cut(name: string, cutAfter: number, cuts: number): void {
    Object.assign(this.#served(name), { cutAfter, cuts });
  }

  hang(name: string): void {
    this.#served(name).hangs = true;
  }

  status(name: string, status: number): void {
    this.#served(name).status = status;
  }

  url(name: string): string {
    return `http://192.0.2.2${name}`;
  }

  path(name: string): string {
    return `/fake/${name}`;
  }

  sent(name: string): number {
    return this.#site.get(name)?.sent ?? 0;
  }

  read(path: string): Promise<Uint8Array | null> {
    return Promise.resolve(this.files.get(path) ?? null);
  }

  document: Download["document"] = (ask) => {
    const found = this.#find(ask.url, ask.signal);
    if (found === null) return Promise.resolve(no("no-candidate"));
    if ("kind" in found) return Promise.resolve(found);
    const etag = `"${found.version}"`;
    if (ask.etag === etag) return Promise.resolve({ kind: "unchanged" });
    if (found.bytes.length > ask.maxBytes) return Promise.resolve(no("fetch-too-large"));
    return Promise.resolve({ kind: "ok", bytes: found.bytes.slice(), etag });
  };

  head: Download["head"] = (ask) => {
    const found = this.#find(ask.url, ask.signal);
    if (found === null) return Promise.resolve(no("no-candidate"));
    if ("kind" in found) return Promise.resolve(found);
    return Promise.resolve({ kind: "ok", size: found.bytes.length });
  };

  async blob(ask: BlobAsk): Promise<BlobFetched> {
    if (this.diskFault !== null) return no(this.diskFault);
    const there = this.files.get(ask.path);
    if (there !== undefined && await hexDigest(Uint8Array.from(there)) === ask.sha256) {
      return { kind: "ok", received: 0, resumed: 0 };
    }
    let received = 0;
    let resumed: number | null = null;
    for (;;) {
      const found = this.#find(ask.url, ask.signal);
      if (found === null) return no("blob_absent");
      if ("kind" in found) return found;
      if (found.bytes.length > ask.size) return no("fetch-too-large");
      if (found.bytes.length < ask.size) return no("fetch-failed");
      const kept = this.#parts.get(ask.path);
      const from = kept?.version === found.version ? kept.bytes.length : 0;
      resumed ??= from;
      const cut = found.cuts > 0 && from + found.cutAfter < ask.size;
      if (cut) found.cuts--;
      const to = cut ? from + found.cutAfter : ask.size;
      found.sent += to - from;
      received += to - from;
      this.#parts.set(ask.path, { version: found.version, bytes: found.bytes.slice(0, to) });
      ask.onProgress?.({ phase: "downloading", done: to, total: ask.size });
      if (cut && to === from) return no("fetch-failed");
      if (cut) continue;
      const digest = await hexDigest(found.bytes);
      this.#parts.delete(ask.path);
      if (digest !== ask.sha256) return no("blob_digest_wrong");
      ask.onProgress?.({ phase: "verifying", done: ask.size, total: ask.size });
      this.files.set(ask.path, found.bytes.slice());
      return { kind: "ok", received, resumed };
    }
  }

  close(): void {}

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }

  #served(name: string): Served {
    const found = this.#site.get(name);
    if (found === undefined) throw new Error(`nothing was put under ${name}`);
    return found;
  }

  #find(
    url: string,
    signal: AbortSignal | undefined,
  ): Served | DownloadRefusal<TransferFault> | null {
    if (signal?.aborted) return no("fetch-aborted");
    if (this.unreachable || url === this.nowhere) return no("fetch-failed");
    const found = this.#site.get(url.slice("http://192.0.2.2".length));
    if (found === undefined) return null;
    if (found.hangs) return no("fetch-timeout");
    return found.status === 200 ? found : no("fetch-failed");
  }
}

function no<Code extends DownloadRefusal["code"] | "no-candidate">(
  code: Code,
): DownloadRefusal<Code> {
  return { ...refuse(code, `the fake site says ${code}`), cause: "fake" };
}

/**
 * What every download port promises, run on the fake and on the real one.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { BlobAsk, BlobProgress, Download } from "../core/download.ts";

/** One download port and the site it sees. */
export interface DownloadRig extends AsyncDisposable {
  readonly download: Download;
  /** What the site has under a name such as `/a`. */
  put(name: string, bytes: Uint8Array<ArrayBuffer>): void;
  /** From now on answers about `name` are cut after so many bytes, `times` times; then whole. */
  cut(name: string, bytes: number, times: number): void;
  /** From now on nothing comes for `name`. */
  hang(name: string): void;
  /** The status of `name` from now on. */
  status(name: string, status: number): void;
  /** An address nobody listens on. */
  readonly nowhere: string;
  url(name: string): string;
  /** A file in a folder of the test. */
  path(name: string): string;
  /** What is in it; null: nothing. */
  read(path: string): Promise<Uint8Array | null>;
  /** Bytes the site sent under a name so far. */
  sent(name: string): number;
}

/** One promise. */
export interface DownloadPromise {
  readonly name: string;
  readonly run: (rig: DownloadRig) => Promise<void>;
}

/** Bytes that are nowhere the same. */
export function someBytes(length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  for (let at = 0, state = 1; at < length; at++) {
    state = (state * 1103515245 + 12345) & 0x7fffffff;
    bytes[at] = state >> 16;
  }
  return bytes;
}

/** SHA-256 in hex. */
export async function hexDigest(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

const CONTENT = someBytes(300_000);

async function askFor(rig: DownloadRig, more: Partial<BlobAsk> = {}): Promise<BlobAsk> {
  return {
    url: rig.url("/blob"),
    sha256: await hexDigest(CONTENT),
    size: CONTENT.length,
    path: rig.path("blob"),
    deadlineMs: 20_000,
    idleMs: 10_000,
    ...more,
  };
}

const document = (rig: DownloadRig, name: string, maxBytes = 1000) =>
  rig.download.document({ url: rig.url(name), maxBytes, deadlineMs: 10_000 });

/** Every promise. */
export const DOWNLOAD_PROMISES: readonly DownloadPromise[] = [
  {
    name: "a document comes whole, and not again while it is unchanged",
    async run(rig) {
      rig.put("/doc", new Uint8Array([1, 2, 3]));
      const first = await document(rig, "/doc");
      assert.equal(first.kind, "ok");
      if (first.kind !== "ok" || first.etag === null) throw new Error("no etag");
      assert.deepEqual([...first.bytes], [1, 2, 3]);
      const ask = { url: rig.url("/doc"), maxBytes: 1000, deadlineMs: 10_000, etag: first.etag };
      assert.deepEqual(await rig.download.document(ask), { kind: "unchanged" });
      rig.put("/doc", new Uint8Array([4]));
      const second = await rig.download.document(ask);
      assert.deepEqual(second.kind === "ok" && [...second.bytes], [4]);
    },
  },
  {
    name: "absent, failed, late and too large are different words",
    async run(rig) {
      const code = async (name: string, maxBytes?: number) => {
        const outcome = await document(rig, name, maxBytes);
        return outcome.kind === "refused" ? outcome.code : outcome.kind;
      };
      assert.equal(await code("/absent"), "no-candidate");
      rig.put("/broken", CONTENT);
      rig.status("/broken", 503);
      assert.equal(await code("/broken"), "fetch-failed");
      rig.status("/broken", 302);
      assert.equal(await code("/broken"), "fetch-failed");
      rig.put("/large", CONTENT);
      assert.equal(await code("/large", CONTENT.length - 1), "fetch-too-large");
      assert.equal(await code("/large", CONTENT.length), "ok");
      const nobody = await rig.download.document({
        url: rig.nowhere,
        maxBytes: 1,
        deadlineMs: 10_000,
      });
      assert.equal(nobody.kind === "refused" && nobody.code, "fetch-failed");
      rig.hang("/large");
      const late = await rig.download.document({
        url: rig.url("/large"),
        maxBytes: 1e6,
        deadlineMs: 50,
      });
      assert.equal(late.kind === "refused" && late.code, "fetch-timeout");
      const gone = new AbortController();
      gone.abort();
      const aborted = await rig.download.document({
        url: rig.url("/large"),
        maxBytes: 1e6,
        deadlineMs: 10_000,
        signal: gone.signal,
      });
      assert.equal(aborted.kind === "refused" && aborted.code, "fetch-aborted");
    },
  },
  {
    name: "looking for something costs none of its bytes, and has the same words",
    async run(rig) {
      rig.put("/a", CONTENT);
      const head = (url: string) => rig.download.head({ url, deadlineMs: 10_000 });
      assert.deepEqual(await head(rig.url("/a")), { kind: "ok", size: CONTENT.length });
      const absent = await head(rig.url("/b"));
      assert.equal(absent.kind === "refused" && absent.code, "no-candidate");
      rig.status("/a", 503);
      const broken = await head(rig.url("/a"));
      assert.equal(broken.kind === "refused" && broken.code, "fetch-failed");
      const nobody = await head(rig.nowhere);
      assert.equal(nobody.kind === "refused" && nobody.code, "fetch-failed");
    },
  },
  {
    name: "a blob comes whole, tells how far it is, and does not come twice",
    async run(rig) {
      rig.put("/blob", CONTENT);
      const seen: BlobProgress[] = [];
      const ask = await askFor(rig, { onProgress: (one) => seen.push(one) });
      assert.deepEqual(await rig.download.blob(ask), {
        kind: "ok",
        received: CONTENT.length,
        resumed: 0,
      });
      assert.deepEqual(await rig.read(ask.path), CONTENT);
      assert.equal(await rig.read(`${ask.path}.part`), null);
      assert.equal(await rig.read(`${ask.path}.part.etag`), null);
      assert.ok(seen.every(({ total }) => total === CONTENT.length));
      assert.equal(seen.at(-1)?.done, CONTENT.length);
      assert.equal(seen.at(-1)?.phase, "verifying");
      const again = await rig.download.blob(ask);
      assert.deepEqual(again, { kind: "ok", received: 0, resumed: 0 });
      assert.equal(rig.sent("/blob"), CONTENT.length);
    },
  },
  {
    name: "a cut is gone on from where it was, and nothing has the blob's name until it is whole",
    async run(rig) {
      rig.put("/blob", CONTENT);
      // Cut once: a busy machine loses more of what was sent with each cut.
      rig.cut("/blob", 100_000, 1);
      const ask = await askFor(rig);
      let half = 0;
      const stop = new AbortController();
      const first = await rig.download.blob({
        ...ask,
        signal: stop.signal,
        onProgress: ({ done }) => {
          half = done;
          if (done >= 100_000) stop.abort();
        },
      });
      assert.equal(first.kind === "refused" && first.code, "fetch-aborted");
      assert.equal(await rig.read(ask.path), null);
      assert.ok(half >= 100_000 && half < CONTENT.length);
      const second = await rig.download.blob(ask);
      assert.equal(second.kind, "ok");
      if (second.kind !== "ok") return;
      assert.ok(second.resumed > 0);
      assert.equal(second.received + second.resumed, CONTENT.length);
      assert.deepEqual(await rig.read(ask.path), CONTENT);
    },
  },
  {
    name: "other bytes than the signed ones never get the blob's name, and nothing of them stays",
    async run(rig) {
      const other = CONTENT.slice();
      other[150_000] = (other[150_000] as number) ^ 1;
      rig.put("/blob", other);
      const ask = await askFor(rig);
      const outcome = await rig.download.blob(ask);
      assert.equal(outcome.kind === "refused" && outcome.code, "blob_digest_wrong");
      assert.equal(await rig.read(ask.path), null);
      assert.equal(await rig.read(`${ask.path}.part`), null);
      rig.put("/blob", CONTENT);
      assert.equal((await rig.download.blob(ask)).kind, "ok");
    },
  },
  {
    name: "changed on the server meanwhile: begins anew, and ends with the signed bytes",
    async run(rig) {
      rig.put("/blob", someBytes(300_000).reverse());
      rig.cut("/blob", 100_000, 1000);
      const ask = await askFor(rig);
      const stop = new AbortController();
      const onProgress = ({ done }: BlobProgress) => void (done >= 50_000 && stop.abort());
      await rig.download.blob({ ...ask, signal: stop.signal, onProgress });
      rig.put("/blob", CONTENT);
      rig.cut("/blob", 0, 0);
      const outcome = await rig.download.blob(ask);
      assert.equal(outcome.kind === "ok" && outcome.received, CONTENT.length);
      assert.deepEqual(await rig.read(ask.path), CONTENT);
    },
  },
  {
    name: "a blob that is absent, too long or too short is refused before or while it comes",
    async run(rig) {
      const ask = await askFor(rig);
      const code = async () => {
        const outcome = await rig.download.blob(ask);
        return outcome.kind === "refused" ? outcome.code : outcome.kind;
      };
      assert.equal(await code(), "blob_absent");
      rig.put("/blob", new Uint8Array(CONTENT.length + 1));
      assert.equal(await code(), "fetch-too-large");
      rig.put("/blob", CONTENT.slice(1));
      assert.equal(await code(), "fetch-failed");
      rig.hang("/blob");
      const late = await rig.download.blob({ ...ask, idleMs: 50 });
      assert.equal(late.kind === "refused" && late.code, "fetch-timeout");
      const whole = await rig.download.blob({ ...ask, deadlineMs: 50 });
      assert.equal(whole.kind === "refused" && whole.code, "fetch-timeout");
      assert.equal(await rig.read(ask.path), null);
    },
  },
];

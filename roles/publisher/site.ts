/**
 * What is published, over HTTP: pointers and blobs, and nothing else there may be. Read only, and
 * without a lock: a pointer is one rename, a blob never changes.
 *
 * | path                      | etag               | cache-control                     | ranges |
 * | ------------------------- | ------------------ | --------------------------------- | ------ |
 * | `/candidates/<host>.json` | digest of the text | no-store                          | no     |
 * | `/blobs/sha256/<hex>`     | the digest         | public, max-age=31536000, immutable | yes |
 *
 * @module
 */

import { MOST_ENVELOPE_BYTES } from "../../lib/adoption/envelope.ts";
import type { Files } from "../../lib/core/files.ts";
import { hex } from "../../lib/core/ids.ts";
import type { Remarks } from "../../lib/core/remarks.ts";
import { targetOf } from "../../lib/core/target.ts";
import type { ServedConnection } from "../../lib/host/serve_bounded.ts";
import type { StaticFile } from "../../lib/host/static_file.ts";
import { blobPath, pointerPath } from "./layout.ts";

/** What answers are made of. */
export interface SiteParts {
  readonly root: string;
  readonly files: Files;
  readonly openStatic: (path: string) => Promise<StaticFile | null>;
  readonly sha256: (data: Uint8Array) => Uint8Array;
  readonly remarks: Remarks;
  /** Answers at once. */
  readonly responses: number;
  /** Milliseconds a client may not read on. */
  readonly idleMs: number;
}

const POINTER = /^\/candidates\/([a-z][a-z0-9-]{0,62})\.json$/;
const BLOB = /^\/blobs\/sha256\/([0-9a-f]{64})$/;

/** Answers requests; counts those that are not over. */
export class Site {
  readonly #parts: SiteParts;
  #open = 0;

  constructor(parts: SiteParts) {
    this.#parts = parts;
  }

  /** Answers that are not over. */
  get open(): number {
    return this.#open;
  }

  readonly handle = async (request: Request, connection: ServedConnection): Promise<Response> => {
    if (request.method !== "GET" && request.method !== "HEAD") {
      return said(405, "only GET and HEAD", { allow: "GET, HEAD" });
    }
    const { path } = targetOf(request.url);
    if (path === "/livez") return said(200, "ok");
    const host = POINTER.exec(path)?.[1];
    const blob = BLOB.exec(path)?.[1];
    if (host === undefined && blob === undefined) return said(404, "nothing is published here");
    if (this.#open >= this.#parts.responses) {
      this.#parts.remarks.warn("too many answers at once: {open}", { open: this.#open });
      return said(503, "too many at once; try again", { "retry-after": "2" });
    }
    this.#open++;
    let handedOver = false;
    const over = () => void this.#open--;
    try {
      if (host !== undefined) return await this.#pointer(request, host);
      return await this.#blob(request, blob as string, () => {
        handedOver = true;
        const release = connection.hold();
        return {
          onEnd: () => {
            release();
            over();
          },
          onStall: () => connection.abort(),
        };
      });
    } finally {
      if (!handedOver) over();
    }
  };

  async #pointer(request: Request, host: string): Promise<Response> {
    const { files, root, sha256, remarks } = this.#parts;
    const read = await files.readBounded(pointerPath(root, host), MOST_ENVELOPE_BYTES);
    if (read.kind === "absent") return said(404, `no-candidate: nothing is published for ${host}`);
    if (read.kind === "refused") {
      remarks.error("the pointer of {host} cannot be read: {code}", { host, code: read.code });
      return said(500, "the pointer cannot be read");
    }
    const etag = `"${hex(sha256(read.bytes))}"`;
    const headers = { ...COMMON, "cache-control": "no-store", etag };
    if (matches(request.headers.get("if-none-match"), etag)) {
      return new Response(null, { status: 304, headers });
    }
    return new Response(request.method === "HEAD" ? null : read.bytes, {
      headers: {
        ...headers,
        "content-type": "application/json",
        "content-length": String(read.bytes.length),
      },
    });
  }

  async #blob(
    request: Request,
    digest: string,
    handOver: () => { readonly onEnd: () => void; readonly onStall: () => void },
  ): Promise<Response> {
    const { openStatic, root, remarks, idleMs } = this.#parts;
    const etag = `"${digest}"`;
    let file: StaticFile | null;
    try {
      file = await openStatic(blobPath(root, digest));
    } catch (error) {
      remarks.error("blob {digest} cannot be read: {error}", { digest, error });
      return said(500, "the blob cannot be read");
    }
    if (file === null) return said(404, "there is no such blob");
    const headers = {
      ...COMMON,
      "cache-control": "public, max-age=31536000, immutable",
      "accept-ranges": "bytes",
      etag,
    };
    if (matches(request.headers.get("if-none-match"), etag)) {
      file.close();
      return new Response(null, { status: 304, headers });
    }
    const range = rangeOf(request, etag, file.size);
    if (range === "unsatisfiable") {
      const { size } = file;
      file.close();
      return said(416, "there are not so many bytes", { "content-range": `bytes */${size}` });
    }
    const { from, to } = range ?? { from: 0, to: file.size };
    const more = {
      ...headers,
      "content-type": "application/octet-stream",
      "content-length": String(to - from),
      ...(range === null ? {} : { "content-range": `bytes ${from}-${to - 1}/${file.size}` }),
    };
    const status = range === null ? 200 : 206;
    if (request.method === "HEAD" || to === from) {
      file.close();
      return new Response(null, { status, headers: more });
    }
    return new Response(file.stream(from, to, idleMs, handOver()), { status, headers: more });
  }
}

const COMMON = { "x-content-type-options": "nosniff" };

/** One range of bytes; null: all of them. Several at once are answered with all, as may be done. */
function rangeOf(
  request: Request,
  etag: string,
  size: number,
): { readonly from: number; readonly to: number } | "unsatisfiable" | null {
  const condition = request.headers.get("if-range");
  if (condition !== null && condition !== etag) return null;
  const [, first = "", last = ""] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(
    request.headers.get("range") ?? "",
  ) ?? [];
  if (first === "" && last === "") return null;
  if (first === "") {
    const from = Math.max(0, size - Number(last));
    return Number(last) === 0 || size === 0 ? "unsatisfiable" : { from, to: size };
  }
  const from = Number(first);
  if (last !== "" && Number(last) < from) return null; // not a range
  if (from >= size) return "unsatisfiable";
  return { from, to: last === "" ? size : Math.min(size, Number(last) + 1) };
}

function matches(header: string | null, etag: string): boolean {
  if (header === null) return false;
  return header.split(",").some((one) =>
    one.trim().replace(/^W\//, "") === etag || one.trim() === "*"
  );
}

function said(status: number, text: string, more: Record<string, string> = {}): Response {
  return new Response(`${text}\n`, {
    status,
    headers: { ...COMMON, "content-type": "text/plain", "cache-control": "no-store", ...more },
  });
}

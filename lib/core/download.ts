/**
 * The download port: a small document whole, or a blob by its digest onto the disk.
 *
 * Absent, failed, late and wrong are different words. Every implementation passes
 * `lib/testing/download_conformance.ts`. Nothing here is believed for where it came from: a document
 * is verified by its signature, a blob by its digest.
 *
 * @module
 */

import type { Refusal } from "./refusal.ts";

/** Why nothing came, whatever it was. */
export type TransferFault =
  | "fetch-failed" // refused, unreachable, cut, or an answer that is none
  | "fetch-timeout" // no answer, or no more of it, in time
  | "fetch-too-large" // more bytes than were allowed, found as early as it can be
  | "fetch-aborted"; // our own signal

/** Why no document came. */
export type FetchFault =
  | TransferFault
  | "no-candidate"; // 404: the server is there and has nothing under that name

/** Why a blob is not there. */
export type BlobFault =
  | TransferFault
  | "blob_absent" // 404: the server is there and does not have this blob
  | "blob_digest_wrong" // whole, and not what was asked for; nothing of it is kept
  | "blob_no_space" // the disk or a quota is full; what came is kept for the next time
  | "blob_unwritable" // the operating system said no
  | "blob_busy"; // another process downloads the same

/** A refusal with what was said below; for the log, may hold an address or path. */
export interface DownloadRefusal<Code extends BlobFault | FetchFault = BlobFault>
  extends Refusal<Code> {
  readonly cause: string;
}

/** A small document to get. */
export interface DocumentAsk {
  readonly url: string;
  readonly maxBytes: number;
  /** From start to last byte, in milliseconds. */
  readonly deadlineMs: number;
  /** The `etag` of the copy that is there already: an unchanged one is not sent again. */
  readonly etag?: string;
  readonly signal?: AbortSignal;
}

/** What came of it. */
export type DocumentFetched =
  | {
    readonly kind: "ok";
    readonly bytes: Uint8Array<ArrayBuffer>;
    readonly etag: string | null;
  }
  | { readonly kind: "unchanged" }
  | DownloadRefusal<FetchFault>;

/** Something to look for. */
export type HeadAsk = Pick<DocumentAsk, "url" | "deadlineMs" | "signal">;

/** Whether it is there, without a byte of it. */
export type HeadFetched =
  | {
    readonly kind: "ok";
    /** Bytes; null: the server does not say. */
    readonly size: number | null;
  }
  | DownloadRefusal<FetchFault>;

/** How far a blob is. */
export interface BlobProgress {
  readonly phase: "downloading" | "verifying";
  /** Bytes. */
  readonly done: number;
  /** Bytes. */
  readonly total: number;
}

/** A blob to get. */
export interface BlobAsk {
  readonly url: string;
  /** 64 lower-case hex digits. */
  readonly sha256: string;
  /** Bytes: a server that says or sends more is refused. */
  readonly size: number;
  /**
   * The file that the blob becomes, once all of it is verified and flushed. Beside it stand, until
   * then, `<path>.part` and `<path>.part.etag`.
   */
  readonly path: string;
  /** For all attempts together, in milliseconds. */
  readonly deadlineMs: number;
  /** The longest silence, in milliseconds. */
  readonly idleMs: number;
  readonly onProgress?: (progress: BlobProgress) => void;
  readonly signal?: AbortSignal;
}

/** What came of it. */
export type BlobFetched =
  | {
    readonly kind: "ok";
    /** Bytes that came over the network now; 0 when the blob was there. */
    readonly received: number;
    /** Bytes that an earlier run had left. */
    readonly resumed: number;
  }
  | DownloadRefusal;

/** The download port. */
export interface Download {
  document(ask: DocumentAsk): Promise<DocumentFetched>;
  head(ask: HeadAsk): Promise<HeadFetched>;
  /**
   * Goes on where an earlier run stopped, when the server still has the same bytes; otherwise begins
   * anew. A cut is tried again while each attempt brings something.
   */
  blob(ask: BlobAsk): Promise<BlobFetched>;
  close(): void;
}

/**
 * Reads what a client asks: as much of its body as it takes to find the model, the rest as it is
 * sent on.
 *
 *     small, or of unknown length ──> read whole, scanned whole, every refusal before dispatch
 *     large ──> read up to `model`; the rest streams through the scan on its way to the member.
 *               What is refused then cuts the request short: the member never gets it whole.
 *
 * @module
 */

import type { BodyFacts, BodyScan } from "../../lib/relay/body_facts.ts";
import { JsonScan } from "../../lib/relay/json_scan.ts";
import { boundaryOf, MultipartScan } from "../../lib/relay/multipart_scan.ts";
import type { Route } from "../../lib/relay/dialect.ts";
import type { FailureCode } from "../../lib/relay/failure.ts";
import { growth, splice } from "../../lib/relay/splice.ts";
import type { UpstreamBody } from "../../lib/relay/upstream.ts";

/** Bodies up to this size are read whole before anything is decided. */
const WHOLE_BYTES = 1024 * 1024;

/** A refusal of the body itself. */
export interface AskRefused {
  readonly kind: "refused";
  readonly code: FailureCode;
  readonly message: string;
}

/** The body broke off: the client is gone, or we let go of it. */
export interface ClientLeft {
  readonly kind: "left";
}

/** Bytes of request bodies held by all exchanges together. */
export class BufferBudget {
  readonly #most: number;
  #held = 0;

  constructor(mostBytes: number) {
    this.#most = mostBytes;
  }

  /** Bytes held now. */
  get held(): number {
    return this.#held;
  }

  /** Takes `bytes` more; false, taking nothing, when that is too much. */
  take(bytes: number): boolean {
    if (this.#held + bytes > this.#most) return false;
    this.#held += bytes;
    return true;
  }

  /** Gives back what was taken. */
  give(bytes: number): void {
    this.#held -= bytes;
  }
}

/** What bounds a body. */
export interface AskBounds {
  readonly bodyBytes: number;
  readonly budget: BufferBudget;
}

/** Judges what is known of a body so far; null when nothing speaks against it. */
export type Judge = (facts: BodyFacts) => AskRefused | null;

/** A client's request body, found to name a model. */
export class Ask {
  readonly kind = "ask";
  readonly alias: string;
  readonly #scan: BodyScan;
  readonly #chunks: readonly Uint8Array[];
  /** The rest of the body; null when all of it is in the chunks. */
  readonly #rest: ReadableStreamDefaultReader<Uint8Array> | null;
  /** Bytes of the whole body. */
  readonly #size: number;
  #received: number;
  #refusal: AskRefused | null = null;
  readonly #release: () => void;

  constructor(parts: {
    readonly scan: BodyScan;
    readonly alias: string;
    readonly chunks: readonly Uint8Array[];
    readonly rest: ReadableStreamDefaultReader<Uint8Array> | null;
    readonly size: number;
    readonly received: number;
    readonly release: () => void;
  }) {
    this.alias = parts.alias;
    this.#scan = parts.scan;
    this.#chunks = parts.chunks;
    this.#rest = parts.rest;
    this.#size = parts.size;
    this.#received = parts.received;
    this.#release = parts.release;
  }

  /** What is known so far; everything, when the body was read whole. */
  get facts(): BodyFacts {
    return this.#scan.facts;
  }

  /** Body bytes received from the client. */
  get received(): number {
    return this.#received;
  }

  /** True when the client is still sending. */
  get arriving(): boolean {
    return this.#received < this.#size;
  }

  /** Why the body was refused after its first part had been sent on; null when it was not. */
  get refusal(): AskRefused | null {
    return this.#refusal;
  }

  /**
   * The body with the served model's name in it. Call it once. `received` is told when the client
   * has sent all of it; never, when it had before.
   */
  upstreamBody(model: Uint8Array, judge: Judge, received: () => void): UpstreamBody {
    const span = this.#scan.facts.model?.span;
    if (span === undefined) throw new Error("ask: there is no model to replace");
    const size = this.#size + growth(span, model);
    const chunks = splice(this.#chunks, span, model);
    return this.#rest === null
      ? { kind: "bytes", size, chunks }
      : { kind: "stream", size, stream: this.#stream(chunks, this.#rest, judge, received) };
  }

  /** Lets go of what is held of the body, and of the client when it is still sending. */
  drop(): void {
    this.#release();
    this.#rest?.cancel().catch(() => {});
  }

  #stream(
    head: Uint8Array[],
    rest: ReadableStreamDefaultReader<Uint8Array>,
    judge: Judge,
    received: () => void,
  ): ReadableStream<Uint8Array> {
    const refuse = (refusal: AskRefused): never => {
      this.#refusal = refusal;
      throw new Error(refusal.code);
    };
    let abandoned = false;
    return new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        const first = head.shift();
        if (first !== undefined) {
          if (head.length === 0) this.#release();
          controller.enqueue(first);
          return;
        }
        const { value, done } = await rest.read();
        // Nobody wants the rest any more: that it is short is not the client's doing.
        if (abandoned) return;
        if (done) {
          if (this.#received !== this.#size) refuse(TRUNCATED);
          controller.close();
          return;
        }
        this.#received += value.length;
        const problem = this.#scan.push(value) ??
          (this.#received === this.#size ? this.#scan.finish() : null);
        if (problem !== null) {
          refuse({ kind: "refused", code: problem.code, message: problem.detail });
        }
        const refusal = judge(this.#scan.facts);
        if (refusal !== null) refuse(refusal);
        if (this.#received === this.#size) received();
        controller.enqueue(value);
      },
      cancel: () => {
        abandoned = true;
        this.drop();
      },
    }, { highWaterMark: 0 });
  }
}

const TRUNCATED: AskRefused = {
  kind: "refused",
  code: "body_truncated",
  message: "the body ended before its content-length did",
};

const refused = (code: FailureCode, message: string): AskRefused => ({
  kind: "refused",
  code,
  message,
});

/**
 * Reads the body up to its model, or whole. `gone` aborts the reading: the exchange ended meanwhile.
 */
export async function readAsk(
  request: Request,
  form: Route["body"],
  bounds: AskBounds,
  gone: AbortSignal,
): Promise<Ask | AskRefused | ClientLeft> {
  const { headers } = request;
  const encoding = headers.get("content-encoding");
  if (encoding !== null && encoding !== "identity") {
    return refused("content_encoding_unsupported", "send the body without a content-encoding");
  }
  const transfer = headers.get("transfer-encoding");
  if (transfer !== null && transfer.toLowerCase() !== "chunked") {
    return refused(
      "transfer_encoding_unsupported",
      "no transfer-encoding but chunked is understood",
    );
  }
  const declared = headers.get("content-length");
  const length = declared === null ? null : Number(declared);
  const tooLarge = refused(
    "body_too_large",
    `the body is larger than the ${bounds.bodyBytes / 1024 / 1024} MiB this router takes`,
  );
  if (length !== null && length > bounds.bodyBytes) return tooLarge;
  if (request.body === null || length === 0) {
    return refused("model_missing", "the request has no body");
  }

  const boundary = form === "multipart" ? boundaryOf(headers.get("content-type") ?? "") : null;
  if (form === "multipart" && boundary === null) {
    return refused(
      "content_type_unsupported",
      "this path takes multipart/form-data with a boundary",
    );
  }
  const scan: BodyScan = boundary === null ? new JsonScan() : new MultipartScan(boundary);
  let held = 0;
  const hold = (bytes: number) => {
    if (!bounds.budget.take(bytes)) return false;
    held += bytes;
    return true;
  };
  const release = () => {
    bounds.budget.give(held);
    held = 0;
  };
  const saturated = refused(
    "router_saturated",
    "too many request bodies are held at once; try later",
  );

  if (length !== null && length <= WHOLE_BYTES) {
    if (!hold(length)) return saturated;
    const bytes = await request.bytes().catch(() => null);
    if (bytes === null) {
      release();
      return { kind: "left" };
    }
    const problem = scan.push(bytes) ?? scan.finish();
    const model = scan.facts.model;
    if (problem !== null || model === null) {
      release();
      return refused(problem?.code ?? "model_missing", problem?.detail ?? "no model");
    }
    const size = bytes.length;
    return new Ask({
      scan,
      alias: model.name,
      chunks: [bytes],
      rest: null,
      size,
      received: size,
      release,
    });
  }

  const reader = request.body.getReader();
  const stop = () => void reader.cancel().catch(() => {});
  gone.addEventListener("abort", stop, { once: true });
  const chunks: Uint8Array[] = [];
  let received = 0;
  const give = <Ending>(ending: Ending): Ending => {
    release();
    stop();
    return ending;
  };
  try {
    // Without a length, only the whole body says how long it is.
    while (length === null || !scan.hasModel) {
      const read = await reader.read().catch(() => null);
      if (read === null || gone.aborted) return give({ kind: "left" });
      const { value, done } = read;
      if (done) {
        if (length !== null) return give({ kind: "left" });
        const problem = scan.finish();
        if (problem !== null) return give(refused(problem.code, problem.detail));
        break;
      }
      received += value.length;
      if (received > bounds.bodyBytes) return give(tooLarge);
      if (!hold(value.length)) return give(saturated);
      chunks.push(value);
      const problem = scan.push(value);
      if (problem !== null) return give(refused(problem.code, problem.detail));
    }
  } finally {
    gone.removeEventListener("abort", stop);
  }
  const complete = length === null || received === length;
  if (complete) {
    const problem = scan.finish();
    if (problem !== null) return give(refused(problem.code, problem.detail));
    stop(); // nothing is left to read, and the runtime holds on to it until somebody says so
  }
  return new Ask({
    scan,
    alias: scan.facts.model?.name ?? "",
    chunks,
    rest: complete ? null : reader,
    size: length ?? received,
    received,
    release,
  });
}

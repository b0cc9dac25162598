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

import type { Asked, AskedBody } from "../../lib/intake/asked.ts";
import type { BodyFacts, BodyScan } from "../../lib/relay/body_facts.ts";
import { JsonScan } from "../../lib/relay/json_scan.ts";
import { boundaryOf, MultipartScan } from "../../lib/relay/multipart_scan.ts";
import type { Route } from "../../lib/relay/dialect.ts";
import type { FailureCode } from "../../lib/relay/failure.ts";
import { growth, splice } from "../../lib/relay/splice.ts";
import type { Read, UpstreamBody } from "../../lib/relay/upstream.ts";

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
  readonly #rest: AskedBody | null;
  /** Bytes of the whole body. */
  readonly #size: number;
  #received: number;
  #refusal: AskRefused | null = null;
  readonly #release: () => void;

  constructor(parts: {
    readonly scan: BodyScan;
    readonly alias: string;
    readonly chunks: readonly Uint8Array[];
    readonly rest: AskedBody | null;
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
    this.#rest?.stop();
  }

  #stream(
    head: Uint8Array[],
    rest: AskedBody,
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
        const read = await rest.read();
        // Nobody wants the rest any more: that it is short is not the client's doing.
        if (abandoned) return;
        if (read.kind === "end") return controller.close();
        if (read.kind === "broken") throw new Error(read.cause);
        const value = read.bytes;
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

function refused(code: FailureCode, message: string): AskRefused {
  return { kind: "refused", code, message };
}

/** The body broke off. What the client can be told of that, it is told. */
function broken(read: Read & { readonly kind: "broken" }): AskRefused | ClientLeft {
  return read.code === "malformed"
    ? refused("body_framing_malformed", "the body's chunks are not what RFC 9112 says they are")
    : { kind: "left" };
}

/** Reads the body up to its model, or whole. Whoever ends the exchange stops the body. */
export async function readAsk(
  { headers, body }: Asked,
  form: Route["body"],
  bounds: AskBounds,
): Promise<Ask | AskRefused | ClientLeft> {
  const encoding = headers.get("content-encoding");
  if (encoding !== null && encoding !== "identity") {
    return refused("content_encoding_unsupported", "send the body without a content-encoding");
  }
  const { length } = body;
  const tooLarge = () =>
    refused(
      "body_too_large",
      `the body is larger than the ${bounds.bodyBytes / 1024 / 1024} MiB this router takes`,
    );
  if (length !== null && length > bounds.bodyBytes) return tooLarge();
  if (length === 0) return refused("model_missing", "the request has no body");

  const boundary = form === "multipart" ? boundaryOf(headers.get("content-type") ?? "") : null;
  if (form === "multipart" && boundary === null) {
    return refused(
      "content_type_unsupported",
      "this path takes multipart/form-data with a boundary",
    );
  }
  const scan: BodyScan = boundary === null ? new JsonScan() : new MultipartScan(boundary);
  const held = new Held(bounds.budget);
  return length !== null && length <= WHOLE_BYTES
    ? await readWhole(body, length, scan, held)
    : await readPart(body, scan, held, bounds.bodyBytes, tooLarge);
}

/** What one exchange holds of the budget. */
class Held {
  readonly #budget: BufferBudget;
  #bytes = 0;

  constructor(budget: BufferBudget) {
    this.#budget = budget;
  }

  take(bytes: number): boolean {
    if (!this.#budget.take(bytes)) return false;
    this.#bytes += bytes;
    return true;
  }

  readonly release = (): void => {
    this.#budget.give(this.#bytes);
    this.#bytes = 0;
  };
}

const SATURATED = refused(
  "router_saturated",
  "too many request bodies are held at once; try later",
);

async function readWhole(
  body: AskedBody,
  size: number,
  scan: BodyScan,
  held: Held,
): Promise<Ask | AskRefused | ClientLeft> {
  if (!held.take(size)) return SATURATED;
  const now = body.whole();
  const read = now instanceof Promise ? await now : now;
  if (read.kind !== "bytes") {
    held.release();
    return read.kind === "broken" ? broken(read) : { kind: "left" };
  }
  const { bytes } = read;
  const problem = scan.push(bytes) ?? scan.finish();
  const model = scan.facts.model;
  if (problem !== null || model === null) {
    held.release();
    return refused(problem?.code ?? "model_missing", problem?.detail ?? "no model");
  }
  const { release } = held;
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

async function readPart(
  body: AskedBody,
  scan: BodyScan,
  held: Held,
  mostBytes: number,
  tooLarge: () => AskRefused,
): Promise<Ask | AskRefused | ClientLeft> {
  const { length } = body;
  const chunks: Uint8Array[] = [];
  let received = 0;
  const give = <Ending>(ending: Ending): Ending => {
    held.release();
    body.stop();
    return ending;
  };
  // Without a length, only the whole body says how long it is.
  while (length === null || !scan.hasModel) {
    const read = await body.read();
    if (read.kind === "broken") return give(broken(read));
    if (read.kind === "end") break;
    const { bytes } = read;
    received += bytes.length;
    if (received > mostBytes) return give(tooLarge());
    if (!held.take(bytes.length)) return give(SATURATED);
    chunks.push(bytes);
    const problem = scan.push(bytes);
    if (problem !== null) return give(refused(problem.code, problem.detail));
  }
  const complete = length === null || received === length;
  if (complete) {
    const problem = scan.finish();
    if (problem !== null) return give(refused(problem.code, problem.detail));
  }
  return new Ask({
    scan,
    alias: scan.facts.model?.name ?? "",
    chunks,
    rest: complete ? null : body,
    size: length ?? received,
    received,
    release: held.release,
  });
}

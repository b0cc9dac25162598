/**
 * The download port over the runtime's `fetch`. Redirects are not followed, nothing is decoded, and
 * proxy variables of the environment are not heeded.
 *
 *     .part absent or shorter ─ GET, Range + If-Range ─ append ─ … ─ flush ─ read back ─ rename
 *                 └ 200, another length or etag: from the first byte on
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import type {
  BlobAsk,
  BlobFetched,
  DocumentAsk,
  DocumentFetched,
  Download,
  DownloadRefusal,
  HeadAsk,
  HeadFetched,
  TransferFault,
} from "../core/download.ts";
import { refuse } from "../core/refusal.ts";
import { PartFile } from "./download_part.ts";
import { withoutProxies } from "./fetch_upstream.ts";
import { causeOf } from "./os_error.ts";

/** Attempts that bring nothing before we stop. */
const FRUITLESS_ATTEMPTS = 3;
/** Milliseconds between attempts. */
const PAUSE_MS = 500;

/** A download client. Needs permission to read and write the proxy variables. */
export function systemDownload(clock: Clock): Download {
  const client = withoutProxies(() => Deno.createHttpClient({ poolIdleTimeout: 3000 }));
  return {
    document: (ask) => fetchDocument(client, clock, ask),
    head: (ask) => fetchHead(client, clock, ask),
    blob: (ask) => fetchBlob(client, clock, ask),
    close: () => client.close(),
  };
}

async function fetchDocument(
  client: Deno.HttpClient,
  clock: Clock,
  ask: DocumentAsk,
): Promise<DocumentFetched> {
  await using leash = new Leash(clock, ask.deadlineMs, ask.signal);
  const headers = new Headers({ "accept-encoding": "identity" });
  if (ask.etag !== undefined) headers.set("if-none-match", ask.etag);
  const answer = await get(client, ask.url, headers, leash);
  if (!(answer instanceof Response)) return answer;
  try {
    if (answer.status === 304 && ask.etag !== undefined) return { kind: "unchanged" };
    if (answer.status !== 200) return ofStatus(answer.status, "no-candidate");
    if (saidLength(answer) > ask.maxBytes) return tooLarge(ask.maxBytes);
    const chunks: Uint8Array[] = [];
    let length = 0;
    for await (const chunk of answer.body ?? []) {
      length += chunk.length;
      if (length > ask.maxBytes) return tooLarge(ask.maxBytes);
      chunks.push(chunk);
    }
    const bytes = new Uint8Array(length);
    chunks.reduce((at, chunk) => (bytes.set(chunk, at), at + chunk.length), 0);
    return { kind: "ok", bytes, etag: answer.headers.get("etag") };
  } catch (error) {
    return leash.refusal(error);
  } finally {
    await answer.body?.cancel().catch(() => {});
  }
}

async function fetchHead(
  client: Deno.HttpClient,
  clock: Clock,
  ask: HeadAsk,
): Promise<HeadFetched> {
  await using leash = new Leash(clock, ask.deadlineMs, ask.signal);
  const headers = new Headers({ "accept-encoding": "identity" });
  const answer = await get(client, ask.url, headers, leash, "HEAD");
  if (!(answer instanceof Response)) return answer;
  await answer.body?.cancel();
  if (answer.status !== 200) return ofStatus(answer.status, "no-candidate");
  const size = saidLength(answer);
  return { kind: "ok", size: size < 0 ? null : size };
}

async function fetchBlob(
  client: Deno.HttpClient,
  clock: Clock,
  ask: BlobAsk,
): Promise<BlobFetched> {
  const opened = await PartFile.open(ask);
  if (opened.kind !== "open") return opened;
  await using part = opened.part;
  if (part.present) return { kind: "ok", received: 0, resumed: 0 };
  const resumed = part.length;
  await using leash = new Leash(clock, ask.deadlineMs, ask.signal);
  let received = 0;
  let restarted = false;
  for (let fruitless = 0;;) {
    const before = received;
    let refusal: DownloadRefusal | null = null;
    if (part.length < ask.size) {
      refusal = await attempt(client, clock, ask, part, leash, (more) => received += more);
    }
    if (refusal === null) {
      const verified = await part.finish(ask, leash.signal);
      if (verified === null) return { kind: "ok", received, resumed };
      // What an earlier run left may be torn: the bytes of this run alone decide.
      if (verified.code !== "blob_digest_wrong" || resumed === 0 || restarted) return verified;
      restarted = true;
      continue;
    }
    if (refusal.code !== "fetch-failed" || leash.signal.aborted) return refusal;
    fruitless = received > before ? 0 : fruitless + 1;
    if (fruitless >= FRUITLESS_ATTEMPTS || !part.retryable) return refusal;
    try {
      await clock.sleep(PAUSE_MS, leash.signal);
    } catch (error) {
      return leash.refusal(error);
    }
  }
}

/** One request, as far as it goes. Null when every byte is there. */
async function attempt(
  client: Deno.HttpClient,
  clock: Clock,
  ask: BlobAsk,
  part: PartFile,
  leash: Leash,
  onBytes: (more: number) => void,
): Promise<DownloadRefusal | null> {
  part.retryable = true;
  const headers = new Headers({ "accept-encoding": "identity" });
  if (part.length > 0 && part.etag !== null) {
    headers.set("range", `bytes=${part.length}-`);
    headers.set("if-range", part.etag);
  }
  await using silence = new Leash(clock, ask.idleMs, leash.signal);
  const answer = await get(client, ask.url, headers, silence);
  if (!(answer instanceof Response)) return leash.late ? leash.refusal(null) : answer;
  try {
    const refusal = await begin(answer, ask, part);
    if (refusal !== null) return refusal;
    for await (const chunk of answer.body ?? []) {
      silence.restart();
      if (part.length + chunk.length > ask.size) {
        await part.restart(null);
        return tooLarge(ask.size);
      }
      const written = await part.append(chunk);
      if (written !== null) return written;
      onBytes(chunk.length);
      ask.onProgress?.({ phase: "downloading", done: part.length, total: ask.size });
    }
    return part.length === ask.size
      ? null
      : failed("the answer ended early", `${part.length} of ${ask.size} bytes`);
  } catch (error) {
    return leash.late ? leash.refusal(error) : silence.refusal(error);
  } finally {
    await answer.body?.cancel().catch(() => {});
  }
}

/** Looks at the head of an answer: does it go on, begin anew, or neither? */
async function begin(
  answer: Response,
  ask: BlobAsk,
  part: PartFile,
): Promise<DownloadRefusal | null> {
  const etag = strongEtag(answer.headers.get("etag"));
  const said = saidLength(answer);
  if (answer.status === 206) {
    const [, from, total] = /^bytes (\d+)-\d+\/(\d+)$/.exec(
      answer.headers.get("content-range") ?? "",
    ) ?? [];
    if (Number(from) === part.length && Number(total) === ask.size && etag === part.etag) {
      return null;
    }
    await part.restart(null);
    return failed("the server went on with something else", "206 that does not fit");
  }
  if (answer.status === 416) {
    await part.restart(null);
    return failed("the server does not have what was begun", "416");
  }
  if (answer.status !== 200) {
    part.retryable = answer.status >= 500;
    return ofStatus(answer.status, "blob_absent");
  }
  if (said > ask.size) return tooLarge(ask.size);
  if (said >= 0 && said < ask.size) {
    part.retryable = false;
    return failed("the server has fewer bytes than were signed", `${said} of ${ask.size}`);
  }
  return await part.restart(etag);
}

async function get(
  client: Deno.HttpClient,
  url: string,
  headers: Headers,
  leash: Leash,
  method: "GET" | "HEAD" = "GET",
): Promise<Response | DownloadRefusal<TransferFault>> {
  try {
    return await fetch(url, { client, headers, method, redirect: "manual", signal: leash.signal });
  } catch (error) {
    return leash.refusal(error);
  }
}

/** A weak etag does not promise the same bytes. */
function strongEtag(etag: string | null): string | null {
  return etag !== null && /^"[\x21\x23-\x7e]{0,200}"$/.test(etag) ? etag : null;
}

/** What `content-length` says; -1 when it says nothing. */
function saidLength(answer: Response): number {
  const text = answer.headers.get("content-length");
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : -1;
}

function ofStatus<Absent extends "no-candidate" | "blob_absent">(
  status: number,
  absent: Absent,
): DownloadRefusal<TransferFault | Absent> {
  if (status === 404 || status === 410) {
    const detail = "the server answers, and has nothing under that name";
    return { ...refuse(absent, detail), cause: `status ${status}` };
  }
  const moved = status >= 300 && status < 400 ? "; redirects are not followed" : "";
  return failed(`observed status ${status}${moved}`, `status ${status}`);
}

function tooLarge(most: number): DownloadRefusal<TransferFault> {
  const detail = `observed more than the ${most} bytes expected`;
  return { ...refuse("fetch-too-large", detail), cause: "too large" };
}

function failed(detail: string, cause: string): DownloadRefusal<TransferFault> {
  return { ...refuse("fetch-failed", detail), cause };
}

/** A deadline that can be begun anew, below a signal of somebody else. */
class Leash implements AsyncDisposable {
  late = false;
  readonly #controller = new AbortController();
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #above: AbortSignal | undefined;
  readonly #onAbort = () => this.#controller.abort();
  #wait = new AbortController();

  constructor(clock: Clock, ms: number, above: AbortSignal | undefined) {
    this.#clock = clock;
    this.#ms = ms;
    this.#above = above;
    if (above?.aborted) this.#controller.abort();
    above?.addEventListener("abort", this.#onAbort, { once: true });
    this.#start();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  restart(): void {
    this.#wait.abort();
    this.#start();
  }

  /** What an error means that came while this leash held. */
  refusal(error: unknown): DownloadRefusal<TransferFault> {
    const cause = causeOf(error);
    if (this.late) {
      return { ...refuse("fetch-timeout", `nothing came within ${this.#ms} ms`), cause };
    }
    if (this.#controller.signal.aborted) {
      return { ...refuse("fetch-aborted", "stopped before it was done"), cause };
    }
    return failed("the server could not be reached, or broke off", cause);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#wait.abort();
    this.#above?.removeEventListener("abort", this.#onAbort);
    return Promise.resolve();
  }

  #start(): void {
    this.#wait = new AbortController();
    this.#clock.sleep(this.#ms, this.#wait.signal).then(() => {
      this.late = true;
      this.#controller.abort();
    }, () => {});
  }
}

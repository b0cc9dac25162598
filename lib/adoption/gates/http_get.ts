/**
 * One bounded GET to this host or network, for gates and probes: whole JSON, or the start of a stream.
 *
 * @module
 */

import type { Json } from "../../core/canonical_json.ts";
import type { Files } from "../../core/files.ts";
import { readJson } from "../../core/strict_json.ts";
import type { Endpoint, Upstream } from "../../relay/upstream.ts";

/** Where and how to ask. */
export interface HttpAsk {
  readonly endpoint: Endpoint;
  /** Origin form: a path, maybe a query. */
  readonly target: string;
  /** File with a bearer token, mode 0600. */
  readonly tokenFile: string | null;
}

/** What asking needs. */
export interface HttpPorts {
  readonly upstream: Upstream;
  readonly files: Files;
}

/** What came. */
export type HttpGot =
  | { readonly kind: "status"; readonly status: number; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: "none"; readonly code: string; readonly detail: string };

const MOST_BYTES = 4 * 1024 * 1024;
const CONNECT_MS = 3000;

/**
 * Asks once. `enough` may end the reading early, as a stream never ends by itself. More than 4 MiB is
 * `answer_too_large`.
 */
export async function httpGet(
  { upstream, files }: HttpPorts,
  { endpoint, target, tokenFile }: HttpAsk,
  signal: AbortSignal,
  enough: (bytes: Uint8Array) => boolean = () => false,
): Promise<HttpGot> {
  const token = tokenFile === null ? null : await tokenOf(files, tokenFile);
  if (token !== null && typeof token !== "string") return token;
  const answer = await upstream.send({
    endpoint,
    method: "GET",
    target,
    headers: [
      ["accept", "application/json, text/event-stream"],
      ...(token === null ? [] : [["authorization", `Bearer ${token}`] as const]),
    ],
    body: { kind: "none" },
    connectMs: CONNECT_MS,
    signal,
  });
  if (answer.kind === "failed") return none(answer.code, `it did not answer: ${answer.code}`);
  const whole = new Uint8Array(MOST_BYTES);
  let size = 0;
  for (;;) {
    const read = await answer.body.read(new Uint8Array(16 * 1024));
    if (read.kind === "end") break;
    if (read.kind === "broken") return none("answer_cut", "its answer was cut");
    if (size + read.bytes.length > MOST_BYTES) {
      answer.body.cancel();
      return none("answer_too_large", `it sent more than ${MOST_BYTES} bytes`);
    }
    whole.set(read.bytes, size);
    size += read.bytes.length;
    if (enough(whole.subarray(0, size))) {
      answer.body.cancel();
      break;
    }
  }
  return { kind: "status", status: answer.status, bytes: whole.slice(0, size) };
}

async function tokenOf(
  files: Files,
  path: string,
): Promise<string | Extract<HttpGot, { kind: "none" }>> {
  const privacy = await files.checkPrivate(path);
  if (privacy.kind === "refused") return none("token_unusable", privacy.detail);
  const read = await files.readBounded(path, 4096);
  if (read.kind !== "ok") return none("token_unusable", "the token file cannot be read");
  const text = new TextDecoder().decode(read.bytes).trim();
  return /^[\x21-\x7e]+$/.test(text)
    ? text
    : none("token_unusable", "the token file does not hold one token");
}

/** The JSON of a 200; the code of anything else. */
export async function getJson(
  ports: HttpPorts,
  ask: HttpAsk,
  signal: AbortSignal,
): Promise<{ readonly kind: "ok"; readonly value: Json } | Extract<HttpGot, { kind: "none" }>> {
  const got = await httpGet(ports, ask, signal);
  if (got.kind === "none") return got;
  if (got.status !== 200) return none(`status_${got.status}`, `it answered ${got.status}`);
  const json = readJson(got.bytes, { bytes: MOST_BYTES, depth: 64, values: 1_000_000 });
  return json.kind === "ok" ? json : none("not_json", "its answer is no JSON");
}

function none(code: string, detail: string): Extract<HttpGot, { kind: "none" }> {
  return { kind: "none", code, detail };
}

/** The value at `path`, as `data.models[0].state`; undefined when there is none. */
export function valueAt(value: Json, path: string): Json | undefined {
  let here: Json | undefined = value;
  for (const [, key, index] of path.matchAll(/([^.[\]]+)|\[(\d+)\]/g)) {
    if (typeof here !== "object" || here === null) return undefined;
    const name: string = key ?? index ?? "";
    here = Object.hasOwn(here, name)
      ? (here as { readonly [name: string]: Json })[name]
      : undefined;
  }
  return here;
}

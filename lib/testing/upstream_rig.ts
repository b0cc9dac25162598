/**
 * What every conformance test of the upstream port stands on: a client, a peer, an ask, a deadline.
 *
 * @module
 */

import assert from "node:assert/strict";
import type {
  ByteSource,
  Endpoint,
  HeaderList,
  Read,
  Upstream,
  UpstreamAnswer,
  UpstreamAsk,
  UpstreamBody,
} from "../relay/upstream.ts";
import { type Peer, type PeerConn, upstreamPeer } from "./upstream_peer.ts";

/** Longer than anything here takes; a hang becomes a failure. */
const DEADLINE_MS = 10_000;

/** Makes a fresh client; the rig closes it. */
export type MakeUpstream = () => Upstream;

/** One client against one peer. */
export interface Rig {
  readonly upstream: Upstream;
  readonly peer: Peer;
  /** Sends an ask to the peer: a POST without a body unless told otherwise. */
  send(parts?: Partial<UpstreamAsk>): Promise<UpstreamAnswer>;
}

/** Runs `test` with a client of `make` and a peer of `script`, and leaves nothing open. */
export async function withRig(
  make: MakeUpstream,
  script: (conn: PeerConn) => Promise<void>,
  test: (rig: Rig) => Promise<void>,
): Promise<void> {
  const peer = await upstreamPeer(script);
  const upstream = make();
  try {
    await within(test({
      upstream,
      peer,
      send: (parts = {}) => upstream.send(askOf(peer.endpoint, parts)),
    }));
  } finally {
    upstream.close();
    await peer.close();
  }
}

/** An ask for `endpoint`. */
export function askOf(endpoint: Endpoint, parts: Partial<UpstreamAsk> = {}): UpstreamAsk {
  return {
    endpoint,
    method: "POST",
    target: "/v1/chat/completions",
    headers: [["content-type", "application/json"]],
    body: { kind: "none" },
    connectMs: 2000,
    signal: new AbortController().signal,
    ...parts,
  };
}

/** Rejects when `promise` takes longer than anything should. */
export async function within<Value>(promise: Promise<Value>, ms = DEADLINE_MS): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`still waiting after ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Lets `ms` pass, so that what is on the loopback arrives. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Reads to the end, in reads of `room` bytes. */
export async function drain(
  source: ByteSource,
  room = 16 * 1024,
): Promise<{ readonly bytes: Uint8Array; readonly last: Read }> {
  const parts: Uint8Array[] = [];
  for (;;) {
    const read = await source.read(new Uint8Array(room));
    if (read.kind !== "bytes") return { bytes: joined(parts), last: read };
    assert.ok(read.bytes.length > 0 && read.bytes.length <= room, "a read gives 1 to room bytes");
    parts.push(read.bytes.slice());
  }
}

/** The text of a body that must be whole. */
export async function text(answer: UpstreamAnswer): Promise<string> {
  const { bytes, last } = await drain(answered(answer).body);
  assert.equal(last.kind, "end", JSON.stringify(last));
  return new TextDecoder().decode(bytes);
}

/** The answer, which must not be a failure. */
export function answered(
  answer: UpstreamAnswer,
): Extract<UpstreamAnswer, { readonly kind: "answered" }> {
  assert.equal(answer.kind, "answered", JSON.stringify(answer));
  assert.ok(answer.kind === "answered");
  return answer;
}

/** The failure, which must be one, and must say `code` if one is given. */
export function failure(
  answer: UpstreamAnswer,
  code?: string,
): Extract<UpstreamAnswer, { readonly kind: "failed" }> {
  if (answer.kind === "answered") answer.body.cancel();
  assert.equal(answer.kind, "failed");
  assert.ok(answer.kind === "failed");
  if (code !== undefined) assert.equal(answer.code, code, answer.cause);
  return answer;
}

/** The values of `name`. */
export function valuesOf(headers: HeaderList, name: string): string[] {
  return headers.filter(([seen]) => seen === name).map(([, value]) => value);
}

/** `size` bytes that do not repeat in a way a lost or doubled piece would hide. */
export function pattern(size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  for (let at = 0; at < size; at++) bytes[at] = (at * 31 + (at >> 8) * 7 + (at >> 16)) & 0xff;
  return bytes;
}

/** `bytes` as a body of `kind`, in pieces of 48 KiB. */
export function bodyOf(kind: "bytes" | "stream", bytes: Uint8Array): UpstreamBody {
  const chunks: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += 48 * 1024) {
    chunks.push(bytes.slice(at, at + 48 * 1024));
  }
  if (kind === "bytes") return { kind, size: bytes.length, chunks };
  return { kind, size: bytes.length, stream: ReadableStream.from(chunks) };
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

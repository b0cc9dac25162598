/**
 * Whatever a caller sends, however it comes, and whenever it stops: one answer, and nothing installed
 * or activated but what was planned.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { encodeFrame } from "../../lib/bootstrap/frames.ts";
import type { Json } from "../../lib/core/canonical_json.ts";
import { archiveOf, joined } from "../../lib/testing/bundle_rig.ts";
import { Host, ID, newDisk, ONE, TWO } from "../../tests/support/receiver_rig.ts";

const ARCHIVE = await archiveOf(TWO);
const runs = { numRuns: 150 };

/** A host with one agent installed and running. */
async function hostWithOne(): Promise<Host> {
  const host = await Host.on(newDisk());
  await host.stage(ONE, ID(1));
  await host.activate(ONE, ID(1));
  return host;
}

/** Still that one, whole, and no other. */
async function assertUntouched(host: Host): Promise<void> {
  await host.assertSound();
  assert.deepEqual(host.generations(), [host.digest(ONE)]);
  assert.deepEqual(host.running, [host.digest(ONE)]);
  assert.equal(host.pointer("current"), `${host.digest(ONE)}\n`);
}

/** `bytes` in pieces of these sizes, the last one repeated. */
async function* inPieces(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  for (let at = 0, piece = 0; at < bytes.length; piece++) {
    const size = sizes[Math.min(piece, sizes.length - 1)] ?? 1;
    yield await Promise.resolve(bytes.subarray(at, at + size));
    at += size;
  }
}

/** `bytes`, and then nothing, for ever. */
async function* stalling(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
  await new Promise(() => {});
}

const sizes = fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1, maxLength: 8 });

/** Requests that would change the host, as a caller who knows everything would send them. */
function requestsOf(host: Host): readonly Json[] {
  const config_digest = (host.stageRequest(TWO, ID(2)) as { config_digest: string }).config_digest;
  const manifest_digest = host.digest(TWO);
  return [
    host.stageRequest(TWO, ID(2)),
    { protocol: 1, verb: "activate", operation_id: ID(2), manifest_digest, config_digest },
    { protocol: 1, verb: "status", operation_id: ID(1) },
    { protocol: 1, verb: "identity", expected_node: "n1" },
  ];
}

Deno.test("connection: random bytes, in any pieces, are answered once and change nothing", async () => {
  const host = await hostWithOne();
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), sizes, async (bytes, pieces) => {
      const answer = await host.serve(inPieces(bytes, pieces));
      assert.equal(answer.ok ? "ok" : answer.code, "invalid_contract");
    }),
    runs,
  );
  await assertUntouched(host);
});

Deno.test("connection: a length that lies is never believed", async () => {
  const host = await hostWithOne();
  const body = encodeFrame({ protocol: 1, verb: "identity", expected_node: "n1" }).subarray(4);
  const lengths = fc.oneof(
    fc.integer({ min: 0, max: 0xffffffff }),
    fc.constantFrom(0, 1, body.length - 1, body.length + 1, 4096, 4097, 0x7fffffff, 0xffffffff),
  );
  await fc.assert(
    fc.asyncProperty(lengths, async (length) => {
      const frame = new Uint8Array(4 + body.length);
      new DataView(frame.buffer).setUint32(0, length);
      frame.set(body, 4);
      const answer = await host.serve(inPieces(frame, [frame.length]));
      assert.equal(answer.ok, length === body.length, `${length}`);
    }),
    runs,
  );
  await assertUntouched(host);
});

Deno.test("connection: a valid request with bytes changed, cut or added changes nothing it was not", async () => {
  const host = await hostWithOne();
  const frames = requestsOf(host).map((request, index) =>
    index === 0 ? joined([encodeFrame(request), ARCHIVE]) : encodeFrame(request)
  );
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...frames),
      fc.nat(1_000_000),
      fc.integer({ min: 1, max: 255 }),
      fc.constantFrom("flip", "cut", "add"),
      sizes,
      async (frame, place, byte, how, pieces) => {
        const at = place % frame.length;
        const mutated = how === "cut"
          ? frame.slice(0, at)
          : how === "add"
          ? joined([frame.subarray(0, at), Uint8Array.of(byte), frame.subarray(at)])
          : Uint8Array.from(frame, (one, index) => index === at ? one ^ byte : one);
        await host.serve(inPieces(mutated, pieces));
      },
    ),
    runs,
  );
  // One whose id alone was changed is another valid request, to stage the very same bundle.
  await host.assertSound();
  for (const one of host.generations()) {
    assert.ok([ONE, TWO].some((bundle) => host.digest(bundle) === one), one);
  }
  assert.deepEqual(host.running, [host.digest(ONE)]);
  assert.equal(host.pointer("current"), `${host.digest(ONE)}\n`);
});

Deno.test("connection: an early close and a slow writer, at any byte of a stage", async () => {
  const host = await hostWithOne();
  const all = joined([encodeFrame(host.stageRequest(TWO, ID(2))), ARCHIVE]);
  await fc.assert(
    fc.asyncProperty(fc.nat(all.length - 1), fc.boolean(), async (at, isSlow) => {
      const part = all.subarray(0, at);
      if (!isSlow) {
        const closed = await host.serve(inPieces(part, [at === 0 ? 1 : at]));
        assert.equal(closed.ok, false, `${at}`);
        return;
      }
      const late = host.serve(stalling(part));
      // The frame has ten seconds, the bundle what the host gives it.
      for (const ms of [10_000, 900_000]) await host.clock.advance(ms);
      const answer = await late;
      assert.equal(answer.ok ? "ok" : answer.code, "deadline_exceeded", `${at}`);
    }),
    { numRuns: 60 },
  );
  await assertUntouched(host);
  // And after all of that the host takes what it is meant to take.
  assert.ok((await host.stage(TWO, ID(3))).ok);
});

Deno.test("connection: a bundle length that lies, in either direction", async () => {
  const host = await hostWithOne();
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 2 * ARCHIVE.length }), async (bundle_length) => {
      const request = host.stageRequest(TWO, ID(2), { bundle_length });
      const answer = await host.send(request, inPieces(ARCHIVE, [4096]));
      assert.equal(answer.ok, bundle_length === ARCHIVE.length, `${bundle_length}`);
    }),
    { numRuns: 60 },
  );
  await assertUntouched(host);
});

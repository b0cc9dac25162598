import assert from "node:assert/strict";
import fc from "fast-check";
import { TEST_NOW, type TestKey, testKey, trustIn } from "../testing/candidate_rig.ts";
import type { EnvelopeFault } from "./envelope.ts";
import { type Schema1Expectations, verifySchema1 } from "./envelope_schema1.ts";

const key = await testKey();
const trust = await trustIn([key]);
const encode = (text: string) => new TextEncoder().encode(text);

const MANIFEST = {
  schema: 1,
  host: "coordinator",
  rev: "github:example/dotfiles/0123456789abcdef",
  store_path: `/nix/store/${"a".repeat(32)}-nixos-system-coordinator-26.05`,
  built_at: "2026-08-31T22:00:00Z",
  channel: "rolling",
  requires_reboot: false,
};

const expected: Schema1Expectations = {
  host: "coordinator",
  channel: "rolling",
  floorBuiltAt: null,
  now: TEST_NOW,
};

async function signature(bytes: Uint8Array<ArrayBuffer>, by: TestKey = key): Promise<string> {
  return new Uint8Array(await crypto.subtle.sign("Ed25519", by.key, bytes)).toBase64();
}

async function outcome(
  manifest: object | string,
  change: Partial<Schema1Expectations> = {},
  sign: (bytes: Uint8Array<ArrayBuffer>) => Promise<string> = signature,
): Promise<EnvelopeFault | "schema-1-offer"> {
  const bytes = encode(typeof manifest === "string" ? manifest : JSON.stringify(manifest, null, 2));
  const read = await verifySchema1(bytes, encode(await sign(bytes)), trust, {
    ...expected,
    ...change,
  });
  return read.kind === "refused" ? read.code : read.kind;
}

Deno.test("the seed's manifest is read, its signature with a key id, a newline, or neither", async () => {
  assert.equal(await outcome(MANIFEST), "schema-1-offer");
  assert.equal(
    await outcome(MANIFEST, {}, async (bytes) => `${key.id}:${await signature(bytes)}\n`),
    "schema-1-offer",
  );
});

Deno.test("the seed's manifest, refused by name", async () => {
  const stranger = await testKey();
  assert.equal(
    await outcome(
      MANIFEST,
      {},
      async (bytes) => `${stranger.id}:${await signature(bytes, stranger)}`,
    ),
    "key_unknown",
  );
  assert.equal(
    await outcome(MANIFEST, {}, (bytes) => signature(bytes, stranger)),
    "signature_wrong",
  );
  assert.equal(await outcome(MANIFEST, {}, () => Promise.resolve("AAAA")), "envelope_malformed");
  assert.equal(await outcome(MANIFEST, { host: "worker" }), "wrong_host");
  assert.equal(await outcome(MANIFEST, { channel: "slow" }), "wrong_channel");
  assert.equal(await outcome(MANIFEST, { now: Date.UTC(2026, 7, 1) }), "not_yet_valid");
  const built = Date.parse(MANIFEST.built_at);
  assert.equal(await outcome(MANIFEST, { floorBuiltAt: built + 1 }), "replayed");
  assert.equal(await outcome(MANIFEST, { floorBuiltAt: built }), "schema-1-offer");
  assert.equal(await outcome({ ...MANIFEST, schema: 2 }), "payload_malformed");
  assert.equal(await outcome({ ...MANIFEST, more: 1 }), "payload_malformed");
  assert.equal(
    await outcome({ ...MANIFEST, store_path: "/nix/store/../etc" }),
    "payload_malformed",
  );
  const twice = JSON.stringify(MANIFEST).replace("{", '{"host":"worker",');
  assert.equal(await outcome(twice), "duplicate_key");
  assert.equal(await outcome(`${" ".repeat(17_000)}{}`), "envelope_too_large");
});

Deno.test("an expired key signs nothing", async () => {
  const bytes = encode(JSON.stringify(MANIFEST));
  const gone = await trustIn([key], "2026-08-01T00:00:00Z");
  const read = await verifySchema1(bytes, encode(await signature(bytes)), gone, expected);
  assert.equal(read.kind === "refused" && read.code, "key_expired");
});

Deno.test("any flipped bit of the seed's manifest or of its signature is refused", async () => {
  const bytes = encode(JSON.stringify(MANIFEST));
  const detached = encode(await signature(bytes));
  await fc.assert(fc.asyncProperty(fc.nat(), fc.nat(7), async (at, bit) => {
    const manifest = bytes.slice();
    const sig = detached.slice();
    const place = at % (manifest.length + sig.length);
    const [hit, index] = place < manifest.length
      ? [manifest, place]
      : [sig, place - manifest.length];
    hit[index] = (hit[index] as number) ^ (1 << bit);
    assert.equal((await verifySchema1(manifest, sig, trust, expected)).kind, "refused");
  }));
});

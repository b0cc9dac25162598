import assert from "node:assert/strict";
import fc from "fast-check";
import type { SigningKey } from "../adoption/envelope_sign.ts";
import { keyIdOf, readTrust, type Trust, trustText } from "../adoption/keys.ts";
import { sampleEvidence } from "../testing/evidence_samples.ts";
import { writeEvidence } from "./evidence.ts";
import { signEvidence, verifySignature } from "./signature.ts";

const ADDED = "2026-01-01T00:00:00Z";
const NOW = Date.parse("2026-02-01T00:00:00Z");

async function pair(expires: string | null = null): Promise<{ key: SigningKey; trust: Trust }> {
  const made = await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"]);
  assert.ok("publicKey" in made);
  const raw = new Uint8Array(await crypto.subtle.exportKey("raw", made.publicKey));
  const id = await keyIdOf(raw);
  const text = trustText([{ id, public: raw.toBase64(), added_at: ADDED, expires_at: expires }]);
  const trust = await readTrust(new TextEncoder().encode(text));
  assert.ok(trust.kind === "ok");
  return { key: { id, key: made.privateKey }, trust: trust.trust };
}

/** The file of signatures; signing is not refused. */
async function signed(...asked: Parameters<typeof signEvidence>) {
  const file = await signEvidence(...asked);
  assert.ok(!("kind" in file));
  return file;
}

Deno.test("signature: whoever signed is named; others are unknown, expired or wrong", async () => {
  const { bytes } = await writeEvidence(sampleEvidence());
  const [mine, other] = [await pair(), await pair()];
  const signature = await signed(bytes, [mine.key, other.key]);
  const verdict = async (trust: Trust, document = bytes, file = signature) => {
    const found = await verifySignature(document, file, trust, NOW);
    return found.kind === "verified" ? found.by : found.code;
  };
  assert.deepEqual(await verdict(mine.trust), [mine.key.id]);
  assert.deepEqual(
    await verdict(new Map([...mine.trust, ...other.trust])),
    [
      mine.key.id,
      other.key.id,
    ].toSorted(),
  );
  assert.equal(await verdict((await pair()).trust), "signature_key_unknown");
  const old = await pair("2026-01-15T00:00:00Z");
  assert.equal(
    await verdict(old.trust, bytes, await signed(bytes, [old.key])),
    "signature_key_expired",
  );
  const changed = await writeEvidence(sampleEvidence(({ host }) => host.node = "gpu-b"));
  assert.equal(await verdict(mine.trust, changed.bytes), "signature_of_other");
  const text = new TextDecoder().decode(signature);
  const encode = (changed: string) => new TextEncoder().encode(changed);
  assert.equal(await verdict(mine.trust, bytes, encode(` ${text}`)), "signature_malformed");
  const swapped = encode(text.replace(/("keyid":")([^"]*)(".*"keyid":")([^"]*)/, "$1$4$3$2"));
  assert.equal(await verdict(mine.trust, bytes, swapped), "signature_wrong");
});

Deno.test("signature: a flipped byte of either file is never taken for a signature", async () => {
  const { bytes } = await writeEvidence(sampleEvidence());
  const { key, trust } = await pair();
  const signature = await signed(bytes, [key]);
  const flip = (of: Uint8Array<ArrayBuffer>, at: number, bits: number) => {
    const flipped = of.slice();
    flipped[at % of.length] = (flipped[at % of.length] ?? 0) ^ bits;
    return flipped;
  };
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.integer({ min: 1, max: 255 }), async (at, bits) => {
      const one = await verifySignature(bytes, flip(signature, at, bits), trust, NOW);
      assert.equal(one.kind, "refused");
      const two = await verifySignature(flip(bytes, at, bits), signature, trust, NOW);
      assert.equal(two.kind, "refused");
    }),
    { numRuns: 200 },
  );
});

Deno.test("signature: what others signed stays, and is not mixed with another document's", async () => {
  const { bytes } = await writeEvidence(sampleEvidence());
  const [one, two] = [await pair(), await pair()];
  const both = new Map([...one.trust, ...two.trust]);
  const first = await signed(bytes, [one.key]);
  const second = await signed(bytes, [two.key], first);
  const found = await verifySignature(bytes, second, both, NOW);
  assert.deepEqual(found.kind === "verified" && found.by.toSorted(), [...both.keys()].toSorted());
  assert.deepEqual(await signed(bytes, [two.key], second), second);
  const other = await writeEvidence(sampleEvidence(({ host }) => host.node = "gpu-b"));
  const no = await signEvidence(other.bytes, [two.key], first);
  assert.equal("kind" in no && no.code, "signature_of_other");
});

import assert from "node:assert/strict";
import fc from "fast-check";
import { canonicalJson, type Json } from "../core/canonical_json.ts";
import {
  candidate,
  expectations,
  signAnything,
  TEST_NOW,
  type TestKey,
  testKey,
  trustIn,
} from "../testing/candidate_rig.ts";
import {
  type EnvelopeFault,
  type Expectations,
  MOST_ENVELOPE_BYTES,
  type Offer,
  preAuthentication,
  refuseDowngrade,
  verifyEnvelope,
} from "./envelope.ts";
import { MOST_WITHDRAWN, type Payload } from "./envelope_payload.ts";
import { signEnvelope } from "./envelope_sign.ts";

const key = await testKey();
const trust = await trustIn([key]);
const encode = (text: string) => new TextEncoder().encode(text);

async function offered(bytes: Uint8Array, expected = expectations()): Promise<Offer> {
  const outcome = await verifyEnvelope(bytes, trust, expected);
  assert.equal(outcome.kind, "offer", JSON.stringify(outcome));
  return outcome as Offer;
}

async function refused(
  code: EnvelopeFault,
  bytes: Uint8Array,
  expected: Expectations = expectations(),
  believed = trust,
): Promise<Offer | null> {
  const outcome = await verifyEnvelope(bytes, believed, expected);
  assert.equal(outcome.kind === "refused" ? outcome.code : outcome.kind, code);
  return outcome.kind === "refused" ? outcome.statement : null;
}

/** Signs a payload that no publisher of ours would. */
async function signedAs(change: { readonly [key: string]: unknown }): Promise<Uint8Array> {
  const payload = { ...candidate(), signed_by: [key.id], ...change };
  return await signAnything(payload as unknown as Json, [key]);
}

Deno.test("the bytes that are signed are DSSE's own example", () => {
  assert.deepEqual(
    new TextDecoder().decode(
      preAuthentication("http://example.com/HelloWorld", encode("hello world")),
    ),
    "DSSEv1 29 http://example.com/HelloWorld 11 hello world",
  );
});

Deno.test("what was signed comes back as it was", async () => {
  const offer = await offered(await signEnvelope(candidate(), [key]));
  assert.deepEqual(offer.payload, { ...candidate(), signed_by: [key.id] });
  assert.equal(offer.target, `sha256:${"ab".repeat(32)}`);
  assert.equal(offer.floor.sequence, 7);
  assert.deepEqual(offer.verifiedBy, [key.id]);
});

Deno.test("any flipped bit is refused, one key or two", async () => {
  const second = await testKey();
  const both = await trustIn([key, second]);
  for (const keys of [[key], [key, second]]) {
    const bytes = await signEnvelope(candidate(), keys);
    assert.equal((await verifyEnvelope(bytes, both, expectations())).kind, "offer");
    await fc.assert(
      fc.asyncProperty(fc.nat(bytes.length - 1), fc.nat(7), async (at, bit) => {
        const broken = bytes.slice();
        broken[at] = (broken[at] as number) ^ (1 << bit);
        assert.equal((await verifyEnvelope(broken, both, expectations())).kind, "refused");
      }),
      { numRuns: 1500 },
    );
  }
});

Deno.test("every byte of the outer JSON, every bit of it", async () => {
  const bytes = await signEnvelope(candidate(), [key]);
  const text = new TextDecoder().decode(bytes);
  const outside = [...text].map((_, at) => at).filter((at) => {
    const payload = text.indexOf('"payload":"') + 11;
    return at < payload || at >= text.indexOf('"', payload);
  });
  for (const at of outside) {
    for (let bit = 0; bit < 8; bit++) {
      const broken = bytes.slice();
      broken[at] = (broken[at] as number) ^ (1 << bit);
      const outcome = await verifyEnvelope(broken, trust, expectations());
      assert.equal(outcome.kind, "refused", `byte ${at} bit ${bit}`);
    }
  }
});

Deno.test("cut anywhere, or longer by anything, is refused", async () => {
  const bytes = await signEnvelope(candidate(), [key]);
  await fc.assert(fc.asyncProperty(fc.nat(bytes.length - 1), async (length) => {
    const outcome = await verifyEnvelope(bytes.subarray(0, length), trust, expectations());
    assert.equal(outcome.kind, "refused");
  }));
  await fc.assert(fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 64 }), async (more) => {
    const longer = new Uint8Array([...bytes, ...more]);
    assert.equal((await verifyEnvelope(longer, trust, expectations())).kind, "refused");
  }));
  await fc.assert(fc.asyncProperty(fc.uint8Array({ maxLength: 4096 }), async (noise) => {
    assert.equal((await verifyEnvelope(noise, trust, expectations())).kind, "refused");
  }));
});

Deno.test("one who knows only one of two keys takes the offer, and the other signature is nothing to it", async () => {
  const second = await testKey();
  const bytes = await signEnvelope(candidate(), [key, second]);
  assert.deepEqual((await offered(bytes)).verifiedBy, [key.id]);
  const onlySecond = await trustIn([second]);
  assert.equal((await verifyEnvelope(bytes, onlySecond, expectations())).kind, "offer");
});

Deno.test("a believed key beside a good one must have signed, too", async () => {
  const second = await testKey();
  const both = await trustIn([key, second]);
  const envelope = JSON.parse(
    new TextDecoder().decode(await signEnvelope(candidate(), [key, second])),
  );
  const [one, other] = envelope.signatures;
  const swapped = [{ ...one, sig: other.sig }, { ...other, sig: one.sig }];
  const bytes = encode(`${canonicalJson({ ...envelope, signatures: swapped })}\n`);
  await refused("signature_wrong", bytes, expectations(), both);
});

Deno.test("a signature taken away, or one added, is noticed", async () => {
  const second = await testKey();
  const envelope = JSON.parse(
    new TextDecoder().decode(await signEnvelope(candidate(), [key, second])),
  );
  for (const { keyid } of envelope.signatures) {
    const one = envelope.signatures.filter((each: { keyid: string }) => each.keyid === keyid);
    const bytes = encode(`${canonicalJson({ ...envelope, signatures: one })}\n`);
    await refused("signature_wrong", bytes, expectations(), await trustIn([key, second]));
  }
  const payload = { ...candidate(), signed_by: [key.id] } as unknown as Json;
  await refused("signature_wrong", await signAnything(payload, [key, second]));
});

Deno.test("keys: unknown, expired, and one of two expired", async () => {
  const stranger = await testKey();
  await refused("key_unknown", await signEnvelope(candidate(), [stranger]));
  const bytes = await signEnvelope(candidate(), [key]);
  const gone = await trustIn([key], "2026-09-01T00:00:00.000Z");
  await refused("key_expired", bytes, expectations(), gone);
  const before = expectations({ now: TEST_NOW - 1 });
  assert.equal((await verifyEnvelope(bytes, gone, before)).kind, "offer");
  const mixed = new Map([...gone, ...await trustIn([stranger])]);
  const both = await signEnvelope(candidate(), [key, stranger]);
  const outcome = await verifyEnvelope(both, mixed, expectations());
  assert.deepEqual(outcome.kind === "offer" && outcome.verifiedBy, [stranger.id]);
});

Deno.test("meant for somebody else", async () => {
  const bytes = await signEnvelope(candidate(), [key]);
  await refused("wrong_host", bytes, expectations({ host: "gpu-b" }));
  await refused("wrong_backend", bytes, expectations({ backend: "nixos" }));
  await refused("wrong_channel", bytes, expectations({ channel: "slow" }));
});

Deno.test("replay: below the floor nothing, at the floor only the same payload", async () => {
  const bytes = await signEnvelope(candidate(), [key]);
  const { floor } = await offered(bytes);
  assert.equal((await offered(bytes, expectations({}, floor))).floor.sequence, 7);
  await refused("replayed", bytes, expectations({}, { ...floor, sequence: 8 }));
  const other = await signEnvelope(candidate({ requires_reboot: true }), [key]);
  await refused("sequence_reused", other, expectations({}, floor));
  await offered(await signEnvelope(candidate({ sequence: 8 }), [key]), expectations({}, floor));
});

Deno.test("time: before the build, before its time, after it", async () => {
  const bytes = await signEnvelope(candidate(), [key]);
  const at = (iso: string) => expectations({ now: Date.parse(iso) });
  await refused("clock_before_build", bytes, at("2025-12-31T23:59:59.999Z"));
  await refused("not_yet_valid", bytes, at("2026-08-31T22:54:59.999Z"));
  await offered(bytes, at("2026-08-31T22:55:00.000Z"));
  await offered(bytes, at("2026-09-07T22:59:59.999Z"));
  await refused("expired", bytes, at("2026-09-07T23:00:00.000Z"));
});

Deno.test("withdrawn by its publisher: no offer, and yet its newest word", async () => {
  const own = `sha256:${"ab".repeat(32)}`;
  const statement = await refused(
    "candidate_withdrawn",
    await signEnvelope(candidate({ withdrawn: [own] }), [key]),
  );
  assert.equal(statement?.floor.sequence, 7);
  assert.deepEqual(statement?.payload.withdrawn, [own]);
  const other = `sha256:${"cd".repeat(32)}`;
  const offer = await offered(await signEnvelope(candidate({ withdrawn: [other] }), [key]));
  assert.deepEqual(offer.payload.withdrawn, [other]);
});

Deno.test("a dirty tree is refused though its publisher signed it", async () => {
  const rev = { ...candidate().rev, dirty: true };
  await refused("rev_dirty", await signEnvelope(candidate({ rev }), [key]));
});

Deno.test("oversize, and as large as may be", async () => {
  await refused("envelope_too_large", new Uint8Array(MOST_ENVELOPE_BYTES + 1));
  const withdrawn = Array.from(
    { length: MOST_WITHDRAWN },
    (_, n) => `/nix/store/${"0".repeat(28)}${String(n).padStart(4, "0")}-${"x".repeat(211)}`,
  );
  await offered(await signEnvelope(candidate({ withdrawn }), [key]));
});

Deno.test("duplicate keys, outside and inside", async () => {
  const text = new TextDecoder().decode(await signEnvelope(candidate(), [key]));
  const twice = text.replace('{"payload":', `{"payload":"e30=","payload":`);
  await refused("duplicate_key", encode(twice));
  const payload = { ...candidate(), signed_by: [key.id] } as unknown as Json;
  const inside = canonicalJson(payload).replace('{"allow', '{"host":"gpu-b","allow');
  await refused("duplicate_key", await signAnything(null, [key], undefined, inside));
  await refused("duplicate_key", await signAnything(payload, [key, key]));
});

Deno.test("signed as something else is nothing here", async () => {
  const payload = { ...candidate(), signed_by: [key.id] } as unknown as Json;
  await refused("envelope_type_unknown", await signAnything(payload, [key], "text/plain"));
});

Deno.test("signed, and yet no candidate", async () => {
  const bad: { readonly [key: string]: unknown }[] = [
    { schema: 3 },
    { surprise: true },
    { sequence: 0 },
    { sequence: 1.5 },
    { host: "GPU" },
    { issued_at: "yesterday" },
    { issued_at: "2026-02-30T00:00:00Z" },
    { expires_at: "2026-08-31T23:00:00.000Z" },
    { expires_at: "2028-08-31T23:00:00.000Z" },
    { target: { kind: "store-path", store_path: "/etc", nar_hash: "x" } },
    {
      target: {
        kind: "store-path",
        store_path: `/nix/store/${"a".repeat(32)}-system/../../etc`,
        nar_hash: `sha256-${"A".repeat(43)}=`,
      },
    },
    {
      target: {
        kind: "store-path",
        store_path: `/nix/store/${"a".repeat(32)}-system`,
        nar_hash: `sha256-${"A".repeat(43)}=`,
      },
    }, // well formed, and not for a bundle host
    { withdrawn: ["everything"] },
    { restart_sensitive: ["a b"] },
    { restart_sensitive: Array(65).fill("a.service") },
    { signed_by: [] },
    { sizes: { download: -1, unpacked: 0 } },
  ];
  for (const change of bad) await refused("payload_malformed", await signedAs(change));
  const { rev: _gone, ...without } = candidate();
  await refused(
    "payload_malformed",
    await signAnything({ ...without, signed_by: [key.id] } as unknown as Json, [key]),
  );
});

Deno.test("no refusal quotes what came from outside before it was verified", async () => {
  const canary = "canary-31337";
  for (
    const bytes of [
      encode(`{"payload":"${canary}"}`),
      encode(canary),
      await signAnything({ [canary]: canary }, [await testKey()], canary),
    ]
  ) {
    assert.ok(!JSON.stringify(await verifyEnvelope(bytes, trust, expectations())).includes(canary));
  }
});

Deno.test("a step back needs to be meant", async () => {
  const running = { rev: "newer", committedAt: Date.parse("2026-08-31T21:00:00Z") };
  const offer = await offered(await signEnvelope(candidate(), [key]));
  assert.equal(refuseDowngrade(offer, running)?.code, "local_generation_newer");
  assert.equal(refuseDowngrade(offer, { ...running, committedAt: TEST_NOW - 4 * 3600_000 }), null);
  const meant = await signEnvelope(candidate({ allow_downgrade_from: ["newer"] }), [key]);
  assert.equal(refuseDowngrade(await offered(meant), running), null);
});

Deno.test("what nobody would take is not signed", async () => {
  const sign = (change: Partial<Payload>, keys: readonly TestKey[] = [key]) =>
    signEnvelope(candidate(change), keys);
  await assert.rejects(sign({ host: "NO" }));
  await assert.rejects(sign({}, []));
  await assert.rejects(sign({ expires_at: candidate().issued_at }), /nobody would take/);
});

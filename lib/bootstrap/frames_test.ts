import assert from "node:assert/strict";
import fc from "fast-check";
import { canonicalJson, type Json } from "../core/canonical_json.ts";
import { decodeFrame, encodeFrame, frameLength, HEAD_BYTES, MOST_FRAME_BYTES } from "./frames.ts";
import { answerShape, readRequest, type Request } from "./requests.ts";

const D = "a".repeat(64);
const ID = `boot-${"0".repeat(24)}`;
const REQUESTS: readonly Request[] = [
  { protocol: 1, verb: "identity", expected_node: "n1" },
  {
    protocol: 1,
    verb: "stage",
    expected_node: "n1",
    operation_id: ID,
    plan_sha256: D,
    config_digest: D,
    manifest_digest: D,
    bundle_length: 1024,
  },
  { protocol: 1, verb: "activate", operation_id: ID, manifest_digest: D, config_digest: D },
  { protocol: 1, verb: "status", operation_id: ID },
  {
    protocol: 1,
    verb: "rollback",
    operation_id: ID,
    config_digest: D,
    trigger_error_code: "acceptance_failed",
  },
];
const text = (value: string) => new TextEncoder().encode(value);

/** As a receiver reads a frame that came whole. */
function read(body: Uint8Array): string {
  const frame = decodeFrame(body);
  if (frame.kind === "refused") return frame.code;
  const request = readRequest(frame.value);
  return request.kind === "refused" ? request.code : request.request.verb;
}

Deno.test("frames: every request comes out as it went in", () => {
  for (const request of REQUESTS) {
    const frame = encodeFrame(request as unknown as Json);
    assert.equal(frameLength(frame.subarray(0, HEAD_BYTES)), frame.length - HEAD_BYTES);
    const decoded = decodeFrame(frame.subarray(HEAD_BYTES));
    assert.ok(decoded.kind === "ok");
    assert.deepEqual(readRequest(decoded.value), { kind: "ok", request });
  }
});

Deno.test("frames: lengths that are none, and frames that are too long", () => {
  for (
    const [length, fine] of [[0, false], [1, false], [2, true], [4096, true], [4097, false], [
      0xffffffff,
      false,
    ]] as const
  ) {
    const head = new Uint8Array(4);
    new DataView(head.buffer).setUint32(0, length);
    assert.equal(typeof frameLength(head) === "number", fine, `${length}`);
  }
  assert.throws(() => encodeFrame({ a: "x".repeat(MOST_FRAME_BYTES) }), RangeError);
});

Deno.test("frames: another spelling, a null, an unknown key, a sixth verb are no contract", () => {
  const fine = canonicalJson(REQUESTS[0] as unknown as Json);
  assert.equal(read(text(fine)), "identity");
  for (
    const body of [
      ` ${fine}`,
      `${fine}\n`,
      fine.replace('"protocol":1', '"protocol":1.0'),
      fine.replace('"protocol":1', '"protocol":2'),
      fine.replace('"protocol":1', '"protocol":1,"protocol":1'),
      fine.replace('"n1"', "null"),
      fine.replace('"n1"', '"n1","path":"/etc"'),
      fine.replace('"n1"', '"N1; rm -rf /"'),
      fine.replace("identity", "shell"),
      fine.replace("identity", "Identity"),
      "[]",
      '"identity"',
      "null",
      "",
    ]
  ) assert.equal(read(text(body)), "invalid_contract", body);
  const stage = canonicalJson(REQUESTS[1] as unknown as Json);
  for (const length of ["-1", "0", "1.5", "1e300", '"1"', "9007199254740992"]) {
    const body = stage.replace('"bundle_length":1024', `"bundle_length":${length}`);
    assert.equal(read(text(body)), "invalid_contract", length);
  }
});

Deno.test("frames: random bytes, random JSON and mutated requests are a request or refused", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
    assert.equal(read(bytes), "invalid_contract");
  }));
  fc.assert(fc.property(fc.json(), (body) => assert.equal(read(text(body)), "invalid_contract")));
  const verbs = REQUESTS.map(({ verb }) => verb as string);
  const place = fc.nat(10_000);
  fc.assert(
    fc.property(fc.constantFrom(...REQUESTS), place, fc.nat(255), (request, at, byte) => {
      const body = text(canonicalJson(request as unknown as Json));
      body[at % body.length] = byte;
      const outcome = read(body);
      assert.ok(outcome === "invalid_contract" || verbs.includes(outcome), outcome);
    }),
    { numRuns: 1000 },
  );
  fc.assert(
    fc.property(fc.constantFrom(...REQUESTS), fc.jsonValue(), fc.nat(7), (request, value, at) => {
      const keys = Object.keys(request);
      const key = keys[at % keys.length] ?? "";
      const changed = { ...request, [key]: value } as unknown as Json;
      const outcome = read(text(canonicalJson(changed)));
      assert.ok(outcome === "invalid_contract" || outcome === request.verb, outcome);
    }),
  );
});

Deno.test("frames: the longest answer fits", () => {
  const longest = {
    ok: true,
    protocol: 1,
    operation_id: ID,
    phase: "rollback_started",
    error: "ownership_uncertain",
    unfinished: false,
    current: D,
    prior: D,
    identity: {
      node: "n".repeat(63),
      version: "v".repeat(64),
      build_digest: D,
      config_digest: D,
      roots_digest: D,
      platform: { os: "windows", arch: "arm64" },
      supervisor: "windows-task",
      bootstrap_authorized: false,
      generations: {
        current: { build_digest: D, version: "v".repeat(64) },
        prior: { build_digest: D, version: "v".repeat(64) },
      },
    },
  };
  assert.ok(answerShape.safeParse(longest).success);
  assert.ok(encodeFrame(longest).length < MOST_FRAME_BYTES / 2);
});

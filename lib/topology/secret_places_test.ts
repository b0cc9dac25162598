import assert from "node:assert/strict";
import * as fc from "fast-check";
import { looksRandom } from "./random_text.ts";
import { findSecretPlaces, type IsKnown } from "./secret_places.ts";

/** Made by a seed: nothing in this file is a secret of anybody. */
function madeUp(alphabet: string, length: number, seed: number): string {
  let state = seed * 2654435761 >>> 0;
  return Array.from({ length }, () => {
    state = Math.imul(state ^ state >>> 15, 2246822519) + 3266489917 >>> 0;
    return alphabet[(state >>> 9) % alphabet.length];
  }).join("");
}

const BASE62 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const BASE64URL = `${BASE62}-_`;
const HEX = "0123456789abcdef";

function told(text: string, isKnown?: IsKnown): readonly string[] {
  return findSecretPlaces(text, isKnown).map(({ line, column, key, what }) =>
    `${line}:${column} ${key} ${what}`
  );
}

Deno.test("a secret in a file: where it stands, and never what it is", () => {
  const token = `anvil_${madeUp(BASE64URL, 43, 1)}`;
  const random = madeUp(BASE62, 40, 2);
  const text = [
    "# the router",
    "[listen]",
    'data = "127.0.0.1:8080"',
    `  key = "${token}"`,
    "",
    "[[tiers]]",
    'id = "primary"',
    `header = "Bearer ${madeUp(BASE62, 20, 3)}"`,
    `salt = "${random}"`,
    `# was: ${madeUp(HEX, 64, 4)}`,
    'password = "hunter2hunter2"',
  ].join("\n");
  assert.deepEqual(told(text), [
    "4:10 listen.key a token of this software",
    "8:11 tiers[0].header an authorization header",
    "9:9 tiers[0].salt a random value",
    "10:8 null a random value",
    "11:13 tiers[0].password the value of a key that names a secret",
  ]);
  const said = JSON.stringify(findSecretPlaces(text));
  for (const secret of [token, random, "hunter2"]) assert.ok(!said.includes(secret));
});

Deno.test("a block with a private key: every line of it", () => {
  const block = [
    "-----BEGIN OPENSSH PRIVATE KEY-----",
    "AAAA",
    "-----END OPENSSH PRIVATE KEY-----",
  ];
  assert.deepEqual(told(["x = 1", ...block, "y = 2"].join("\n")), [
    "2:1 null a private key",
    "3:1 null a private key",
    "4:1 null a private key",
  ]);
});

Deno.test("a value that escapes hide is found where its key stands", () => {
  const text = 'schema = 1\nkey = "\\u0061nvil_AAAABBBBCCCCDDDDEEEE1"\n';
  assert.deepEqual(told(text), ["2:1 key a token of this software"]);
});

Deno.test("a value that is known by its hash is found, quoted, bare or in a comment", () => {
  const isKnown = (value: string) => value === "plain horse" || value === "plain-horse-battery";
  assert.deepEqual(told('a = "x"\nb = "plain horse"\n', isKnown), [
    "2:6 b a credential that is known here",
  ]);
  assert.deepEqual(told("# was plain-horse-battery once\n", isKnown), [
    "1:7 null a credential that is known here",
  ]);
  assert.deepEqual(told("# was plain-horse-battery once\n"), []);
});

Deno.test("a key that is itself a secret is not told", () => {
  const random = madeUp(BASE62, 43, 5);
  const places = findSecretPlaces(`[${random}]\nx = "anvil_AAAABBBBCCCCDDDDEEEE1"\n`);
  assert.ok(places.length > 0);
  assert.ok(!JSON.stringify(places).includes(random));
});

Deno.test("names, templates, public values and everyday words are no secrets", () => {
  const text = [
    'image = "registry.example/engine@sha256:' + madeUp(HEX, 64, 6) + '"',
    'revision = "' + madeUp(HEX, 40, 7) + '"',
    'topology = "' + madeUp(HEX, 64, 8) + '"',
    'token = "gpu-a"',
    'token_file = "router.token"',
    'api_key = "${ENGINE_KEY}"',
    'model = "example-org/Example-Model-3.5-70B-Instruct-GPTQ-Int4"',
    'path = "/srv/models/Example70B/Instruct-AWQ-Marlin-2024/snapshots"',
    'uuid = "GPU-0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"',
    'args = ["--max-model-len", "131072", "--gpu-memory-utilization", "0.92"]',
    "max_output_tokens = 4096",
    'url = "http://192.0.2.10:8765/v1/chat/completions"',
  ].join("\n");
  assert.deepEqual(told(text), []);
});

Deno.test("random texts in four alphabets are found; at most one in fifty slips through", () => {
  const alphabets = [BASE62, BASE64URL, HEX, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"];
  for (const alphabet of alphabets) {
    let found = 0;
    for (let seed = 1; seed <= 500; seed++) if (looksRandom(madeUp(alphabet, 43, seed))) found++;
    assert.ok(found >= 490, `${alphabet.length} letters: ${found} of 500`);
  }
});

Deno.test("any text: no place quotes its value", () => {
  fc.assert(fc.property(fc.string({ maxLength: 200 }), fc.nat(1000), (around, seed) => {
    const token = `anvil_${madeUp(BASE64URL, 43, seed + 1)}`;
    const places = findSecretPlaces(`${around.replaceAll("\n", " ")}\nx = "${token}"\n`);
    assert.ok(places.some(({ line }) => line === 2));
    assert.ok(!JSON.stringify(places).includes(token));
  }));
});

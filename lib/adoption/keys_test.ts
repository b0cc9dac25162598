import assert from "node:assert/strict";
import { testKey, trustIn } from "../testing/candidate_rig.ts";
import { fromBase64, MOST_KEYS, readTrust, type TrustFault, trustText } from "./keys.ts";

const first = await testKey();
const second = await testKey();
const row = (one: typeof first, change: object = {}) => ({
  id: one.id,
  public: one.public,
  added_at: "2026-01-01T00:00:00Z",
  expires_at: null,
  ...change,
});

async function refused(code: TrustFault, file: unknown): Promise<void> {
  const text = typeof file === "string" ? file : JSON.stringify(file);
  const read = await readTrust(new TextEncoder().encode(text));
  assert.equal(read.kind === "refused" ? read.code : read.kind, code);
}

Deno.test("a trust file comes back as it was written", async () => {
  const text = trustText([row(first), row(second, { expires_at: "2026-12-01T00:00:00.000Z" })]);
  const read = await readTrust(new TextEncoder().encode(text));
  assert.equal(read.kind, "ok");
  if (read.kind !== "ok") return;
  assert.deepEqual([...read.trust.keys()].sort(), [first.id, second.id].sort());
  assert.equal(read.trust.get(first.id)?.expiresAt, null);
  assert.equal(read.trust.get(second.id)?.expiresAt, Date.UTC(2026, 11, 1));
});

Deno.test("a trust file with any fault is refused whole", async () => {
  const good = { schema: 1, keys: [row(first)] };
  await refused("trust_malformed", "");
  await refused("trust_malformed", { ...good, schema: 2 });
  await refused("trust_malformed", { ...good, comment: "mine" });
  await refused("trust_malformed", { ...good, keys: [] });
  await refused("trust_malformed", { ...good, keys: Array(MOST_KEYS + 1).fill(row(first)) });
  await refused("trust_malformed", '{"schema":1,"schema":1,"keys":[]}');
  await refused("trust_malformed", { schema: 1, keys: [row(first, { added_at: "today" })] });
  await refused("trust_malformed", { schema: 1, keys: [row(first, { public: "short" })] });
  await refused("trust_malformed", " ".repeat(70_000));
  await refused("trust_duplicate_key", { schema: 1, keys: [row(first), row(first)] });
  await refused("trust_key_id_wrong", { schema: 1, keys: [row(first, { id: second.id })] });
  await refused("trust_key_id_wrong", {
    schema: 1,
    keys: [row(first, { public: first.public.replace(/.=$/, "B=") })],
  });
});

Deno.test("base64 has one spelling", () => {
  assert.deepEqual(fromBase64("AAE="), new Uint8Array([0, 1]));
  for (const text of ["AAE", "AAF=", "AAE=\n", " AAE=", "AA-_", "A"]) {
    assert.equal(fromBase64(text), null, text);
  }
});

Deno.test("trust in nothing verifies nothing", async () => {
  assert.equal((await trustIn([first])).has(second.id), false);
});

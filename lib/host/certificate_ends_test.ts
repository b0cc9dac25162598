import assert from "node:assert/strict";
import { selfSigned } from "../../tests/fixtures/certificate.ts";
import { endShownAt, endsOf } from "./certificate_ends.ts";
import { freeBytes } from "./disk_space.ts";

const DAY = 86_400_000;

function isTomorrow(end: number | null): boolean {
  return end !== null && Math.abs(end - Date.now() - DAY) < 60_000;
}

Deno.test("ends of certificates: of every one in a text, and of the one an address shows", async () => {
  const { cert, key } = await selfSigned("127.0.0.1");
  const broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  const ends = endsOf(`# authorities\n${cert}\n${broken}${cert}`);
  assert.deepEqual(ends.map((end) => end === null ? null : isTomorrow(end)), [true, null, true]);
  assert.deepEqual(endsOf("none"), []);

  const listener = Deno.listenTls({ hostname: "127.0.0.1", port: 0, cert, key });
  const accepted = (async () => {
    using conn = await listener.accept();
    await conn.handshake().catch(() => {});
  })();
  const { hostname, port } = listener.addr as Deno.NetAddr;
  const shown = await endShownAt({ hostname, port }, 5000);
  assert.ok(shown.kind === "seen" && isTomorrow(shown.endsAt), JSON.stringify(shown));
  await accepted;
  listener.close();
  const gone = await endShownAt({ hostname, port }, 5000);
  assert.equal(gone.kind, "refused");
});

Deno.test("ends of certificates: an address that speaks no TLS, or nothing, is told in time", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const accepted = listener.accept();
  const { hostname, port } = listener.addr as Deno.NetAddr;
  const mute = await endShownAt({ hostname, port }, 200);
  assert.equal(mute.kind, "refused");
  (await accepted).close();
});

Deno.test("free space: a number for a folder that is there, a refusal for one that is not", async () => {
  const here = await freeBytes(".");
  assert.ok(here.kind === "seen" && here.bytes > 0);
  assert.equal((await freeBytes("/nonexistent/folder")).kind, "refused");
});

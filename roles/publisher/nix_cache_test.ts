import assert from "node:assert/strict";
import fc from "fast-check";
import { testKey } from "../../lib/testing/candidate_rig.ts";
import { FakeDownload } from "../../lib/testing/fake_download.ts";
import { publishAsk, publisherRig } from "../../tests/fixtures/publisher_rig.ts";
import { isSigned, readNarInfo, sriOf, toNix32 } from "./narinfo.ts";
import { findClosure } from "./nix_cache.ts";
import { publish } from "./publish.ts";

const encode = (text: string) => new TextEncoder().encode(text);
const key = await testKey();
const KEYS = [`test-1:${key.public}`];

/** Three paths: the system, what it needs, what that needs. */
const [SYSTEM, TOOL, LIB] = ["nixos-system-nas", "tool-1.0", "lib-2.0"].map((name, n) =>
  `/nix/store/${"0123456789abcdfghijklmnpqrsvwxyz".slice(n)}${"a".repeat(n)}-${name}`
) as [string, string, string];

const NEEDS: { readonly [path: string]: readonly string[] } = {
  [SYSTEM]: [TOOL, SYSTEM],
  [TOOL]: [LIB],
  [LIB]: [],
};

async function narInfo(path: string, by = key, change: (text: string) => string = (t) => t) {
  const hash = toNix32(new Uint8Array(32).fill(path.length));
  const references = NEEDS[path] ?? [];
  const fingerprint = `1;${path};sha256:${hash};1000;${references.join(",")}`;
  const sig = new Uint8Array(await crypto.subtle.sign("Ed25519", by.key, encode(fingerprint)));
  const names = references.map((one) => one.slice("/nix/store/".length)).join(" ");
  return encode(change(
    `StorePath: ${path}\nURL: nar/${hash}.nar.xz\nCompression: xz\nFileHash: sha256:${hash}\n` +
      `FileSize: 400\nNarHash: sha256:${hash}\nNarSize: 1000\nReferences: ${names}\n` +
      `Sig: test-1:${sig.toBase64()}\n`,
  ));
}

/** A cache with all three. */
async function cache() {
  const download = new FakeDownload();
  for (const path of [SYSTEM, TOOL, LIB]) {
    const info = await narInfo(path);
    download.put(`/${path.slice(11, 43)}.narinfo`, info);
    download.put(`/${readNarInfo(info)?.url}`, new Uint8Array(400));
  }
  return download;
}

const find = (download: FakeDownload, most_paths = 10) =>
  findClosure(
    download,
    { cache: download.url("/"), cache_keys: KEYS, most_paths },
    SYSTEM,
    () => {},
  );

async function refused(download: FakeDownload, code: string, most?: number) {
  const outcome = await find(download, most);
  assert.equal(outcome.kind === "refused" ? outcome.code : outcome.kind, code);
}

Deno.test("a closure that is whole in its cache", async () => {
  assert.deepEqual(await find(await cache()), {
    kind: "cached",
    narHash: sriOf(new Uint8Array(32).fill(SYSTEM.length)),
    paths: 3,
    download: 1200,
    unpacked: 3000,
  });
});

Deno.test("missing, unsigned, strange and down are different words", async () => {
  const place = `/${LIB.slice(11, 43)}.narinfo`;
  const other = await testKey();
  let download = await cache();
  download.put(place, await narInfo(LIB, other));
  await refused(download, "cache_unsigned");
  download = await cache();
  download.put(
    place,
    await narInfo(LIB, key, (text) => text.replace("NarSize: 1000", "NarSize: 999")),
  );
  await refused(download, "cache_unsigned");
  download = await cache();
  download.put(place, await narInfo(TOOL));
  await refused(download, "cache_malformed");
  download.put(place, encode("<html>"));
  await refused(download, "cache_malformed");
  download = await cache();
  download.status(place, 503);
  await refused(download, "cache_unreachable");
  download = await cache();
  download.unreachable = true;
  await refused(download, "cache_unreachable");
  await refused(await cache(), "closure_too_large", 2);
  download = new FakeDownload();
  await refused(download, "cache_missing_path");
  download = await cache();
  download.put(`/${readNarInfo(await narInfo(LIB))?.url}`, new Uint8Array(399));
  await refused(download, "cache_malformed");
  download = new FakeDownload();
  for (const path of [SYSTEM, TOOL, LIB]) {
    download.put(`/${path.slice(11, 43)}.narinfo`, await narInfo(path));
  }
  await refused(download, "cache_missing_path"); // said to be there, and its bytes are not
});

Deno.test("a hash has one meaning in each of its spellings", () => {
  // From Nix's own manual: `nix hash convert`.
  const hex = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
  const bytes = Uint8Array.fromHex(hex);
  assert.equal(toNix32(bytes), "094qif9n4cq4fdg459qzbhg1c6wywawwaaivx0k0x8xhbyx4vwic");
  fc.assert(fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (one) => {
    for (const spelled of [`sha256:${toNix32(one)}`, `sha256:${one.toHex()}`, sriOf(one)]) {
      const text =
        `StorePath: ${SYSTEM}\nURL: nar/x\nNarHash: ${spelled}\nNarSize: 1\nReferences: \n`;
      assert.deepEqual(readNarInfo(encode(text))?.narHash, Uint8Array.from(one));
    }
  }));
});

Deno.test("what is no narinfo is none", async () => {
  const bad: readonly ((text: string) => string)[] = [
    (text) => text.replace("StorePath: ", "StorePath: /etc"),
    (text) => text.replace("URL: nar/", "URL: ../../nar/"),
    (text) => text.replace("URL: ", "URL: http://elsewhere/"),
    (text) => text.replace("NarSize: 1000", "NarSize: -1"),
    (text) => text.replace("NarHash: sha256:", "NarHash: md5:"),
    (text) => text.replace("NarHash:", "NarHash: x\nNarHash:"),
    (text) => text.replace("References: ", "References: ../x "),
    (text) => `${text}nonsense\n`,
  ];
  for (const change of bad) {
    assert.equal(readNarInfo(await narInfo(TOOL, key, change)), null, change.toString());
  }
  const info = readNarInfo(await narInfo(TOOL));
  assert.ok(info !== null);
  assert.equal(await isSigned(info, []), false);
  assert.equal(await isSigned(info, [`other:${key.public}`]), false);
  assert.equal(await isSigned(info, KEYS), true);
});

Deno.test("a closure is published by its path; its own revision decides", async () => {
  await using rig = await publisherRig();
  const download = await cache();
  const { nix } = rig.config;
  assert.ok(nix !== undefined);
  const config = { ...rig.config, nix: { ...nix, cache: download.url("/"), cache_keys: KEYS } };
  const revision = JSON.stringify({ rev: "abc", dirty: false, committed_at: 1_767_225_600 });
  const ports = {
    ...rig.ports,
    download,
    files: {
      ...rig.ports.files,
      readBounded: (path: string, most: number) =>
        path === `${SYSTEM}/anvil-revision.json`
          ? Promise.resolve({ kind: "ok", bytes: encode(revision) } as const)
          : rig.ports.files.readBounded(path, most),
    },
  };
  const ask = publishAsk("", "abc", { host: "nas", source: { kind: "store-path", path: SYSTEM } });
  const done = await publish(ports, config, ask);
  if (done.kind === "refused") throw new Error(JSON.stringify(done));
  assert.deepEqual(done.payload.target, {
    kind: "store-path",
    store_path: SYSTEM,
    nar_hash: sriOf(new Uint8Array(32).fill(SYSTEM.length)),
  });
  assert.deepEqual(done.payload.sizes, { download: 1200, unpacked: 3000 });
  const wrong = await publish(ports, config, { ...ask, rev: "abd" });
  assert.equal(wrong.kind === "refused" && wrong.code, "rev_differs");
  const file = { kind: "store-path", path: `${SYSTEM}/bin/x` } as const;
  const inside = await publish(ports, config, { ...ask, source: file });
  assert.equal(inside.kind === "refused" && inside.code, "store_path_malformed");
  download.unreachable = true;
  const down = await publish(ports, config, ask);
  assert.equal(down.kind === "refused" && down.code, "cache_unreachable");
});

import assert from "node:assert/strict";
import fc from "fast-check";
import { canonicalJson, type Json } from "../core/canonical_json.ts";
import { bundleOf } from "../testing/bundle_rig.ts";
import { checkManifest, type Manifest, manifestText, readManifest } from "./manifest.ts";
import { findCollisions } from "./path_rules.ts";

const FINE = bundleOf({ "bin/run!": "x", "lib/a.js": "y" }).manifest;
const encode = (text: string) => new TextEncoder().encode(text);
const codeOf = (outcome: { kind: string; code?: string } | null) =>
  outcome === null ? "ok" : outcome.code ?? outcome.kind;
const read = (text: string) => codeOf(readManifest(encode(text)));
const withPaths = (...paths: string[]): Manifest => ({
  ...FINE,
  files: paths.map((path) => ({ path, sha256: "a".repeat(64), size: 1, mode: "0444" })),
});

Deno.test("manifest: its canonical text is read as what it was", () => {
  const outcome = readManifest(encode(manifestText(FINE)));
  assert.deepEqual(outcome, { kind: "ok", manifest: FINE });
});

Deno.test("manifest: every other spelling, and every other shape, is refused by name", () => {
  const text = manifestText(FINE);
  for (
    const [changed, code] of [
      [`${text}\n`, "manifest_not_canonical"],
      [text.replace('"schema":1', '"schema":1.0'), "manifest_not_canonical"],
      [text.replace('"schema":1', '"schema":2'), "manifest_malformed"],
      [text.replace('"schema":1', '"schema":1,"schema":1'), "manifest_malformed"],
      [text.replace('"build":null', '"build":null,"more":1'), "manifest_malformed"],
      [text.replace('"0555"', '"0777"'), "manifest_malformed"],
      [text.replace('"size":1', '"size":-1'), "manifest_malformed"],
      [text.slice(0, -1), "manifest_malformed"],
      ["", "manifest_malformed"],
      [" ".repeat(1024 * 1024 + 1), "manifest_too_large"],
    ] as const
  ) assert.equal(read(changed), code, changed.slice(0, 200));
});

Deno.test("manifest: paths that lead away or mean something else somewhere are refused", () => {
  for (
    const path of [
      ...["/a", "../a", "a/../b", "a//b", "a/", ".", "a/./b", "a\\b", "C:a", "a\0b", "a\nb"],
      ...["con", "a/NUL.txt", "com1", "lpt9.x", "aux.", "a.", "a ", "a/b. ", "CONIN$", "x\u007f"],
      ...["\u00e9", "a\u202eb", ".x.tmp", ".git/config", `${"x".repeat(201)}`],
    ]
  ) {
    assert.equal(
      codeOf(checkManifest(withPaths(path))),
      "bundle_path_unsafe",
      JSON.stringify(path),
    );
  }
});

Deno.test("manifest: names that cannot both be are refused", () => {
  for (
    const paths of [
      ["A", "a"],
      ["a", "a"],
      ["Dir/x", "dir/y"],
      ["a", "a/b"],
      ["a/b", "a/b/c"],
      ["MANIFEST.json"],
      ["manifest.json"],
      ["manifest.json/x"],
    ]
  ) {
    assert.equal(codeOf(checkManifest(withPaths(...paths))), "bundle_path_collision", `${paths}`);
  }
  assert.equal(codeOf(checkManifest(withPaths("a", "a-b/c", "a.b/c"))), "ok");
  assert.deepEqual(findCollisions(["b/c", "B"]), [{ path: "B", first: "b" }]);
});

Deno.test("manifest: order, count and sizes are bounded", () => {
  const bounds = { files: 2, fileBytes: 10, bytes: 15, manifestBytes: 4096 };
  const sized = (...sizes: number[]): Manifest => ({
    ...FINE,
    files: sizes.map((size, at) => ({ path: `${at}`, sha256: "a".repeat(64), size, mode: "0444" })),
  });
  assert.equal(codeOf(checkManifest(sized(10, 5), bounds)), "ok");
  assert.equal(codeOf(checkManifest(sized(1, 1, 1), bounds)), "bundle_too_many_files");
  assert.equal(codeOf(checkManifest(sized(11), bounds)), "bundle_file_too_large");
  assert.equal(codeOf(checkManifest(sized(10, 6), bounds)), "bundle_too_large");
  assert.equal(codeOf(checkManifest(withPaths("b", "a"))), "manifest_not_canonical");
  assert.equal(
    codeOf(checkManifest({ ...FINE, roles: ["router", "agent"] })),
    "manifest_not_canonical",
  );
});

Deno.test("manifest: whatever a stranger writes is read as itself or refused", () => {
  fc.assert(fc.property(fc.json(), (text) => assert.notEqual(read(text), "ok")));
  fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
    assert.equal(readManifest(bytes).kind, "refused");
  }));
  // One value of a good manifest replaced by another.
  const keys = [...Object.keys(FINE), "files.path", "files.sha256", "files.size", "files.mode"];
  fc.assert(fc.property(fc.constantFrom(...keys), fc.jsonValue(), (key, value) => {
    const changed = structuredClone(FINE) as unknown as { [key: string]: Json };
    const [top = "", inner] = key.split(".");
    if (inner === undefined) changed[top] = value as Json;
    else ((changed["files"] as Json[])[0] as { [key: string]: Json })[inner] = value as Json;
    const text = canonicalJson(changed);
    const outcome = readManifest(encode(text));
    if (outcome.kind === "ok") assert.equal(manifestText(outcome.manifest), text);
  }));
});

import assert from "node:assert/strict";
import { type Json } from "../core/canonical_json.ts";
import { canonicalJson } from "../core/canonical_json.ts";
import {
  readTreeManifest,
  type TreeFault,
  type TreeManifest,
  treeManifestText,
} from "./tree_manifest.ts";

const file = (path: string, change: object = {}) => ({
  path,
  sha256: "ab".repeat(32),
  size: 3,
  mode: "0444" as const,
  ...change,
});

const tree = (files: readonly ReturnType<typeof file>[], change: object = {}): TreeManifest => ({
  schema: 1,
  version: "0.1.0",
  build: null,
  platform: null,
  roles: [],
  files: [...files],
  ...change,
});

function outcome(manifest: unknown): TreeFault | "ok" {
  const text = typeof manifest === "string" ? manifest : canonicalJson(manifest as Json);
  const read = readTreeManifest(new TextEncoder().encode(text));
  return read.kind === "refused" ? read.code : read.kind;
}

Deno.test("a manifest comes back as it was written", () => {
  const manifest = tree([file("bin/run", { mode: "0555" }), file("etc/a.toml")], {
    roles: ["agent", "router"],
    platform: { os: "linux", arch: "x64" },
    build: { digest: "cd".repeat(32), commit: "0".repeat(40) },
  });
  const read = readTreeManifest(new TextEncoder().encode(treeManifestText(manifest)));
  assert.deepEqual(read, { kind: "ok", manifest });
});

Deno.test("names that lead elsewhere, or mean something else, are refused", () => {
  for (
    const path of [
      ...["/etc/passwd", "../up", "a/../b", "a//b", "./a", "a/", ".git/config", "a/.GIT/x"],
      ...["con", "aux.txt", "a ", "a.", "a:b", "a\\b", "a*", "é", "a\u0000b", ".x.tmp"],
    ]
  ) assert.equal(outcome(tree([file(path)])), "tree_path_unsafe", path);
});

Deno.test("two files that are one somewhere are refused", () => {
  for (
    const paths of [["A", "a"], ["a", "a/b"], ["Bin/x", "bin/y"], ["MANIFEST.JSON"], [
      "manifest.json",
    ]]
  ) assert.equal(outcome(tree(paths.map((path) => file(path)))), "tree_path_collision");
});

Deno.test("one spelling only", () => {
  const text = treeManifestText(tree([file("a")]));
  assert.equal(outcome(text), "ok");
  assert.equal(outcome(` ${text}`), "manifest_not_canonical");
  assert.equal(outcome(tree([file("b"), file("a")])), "manifest_not_canonical");
  assert.equal(
    outcome(tree([file("a")], { roles: ["router", "agent"] })),
    "manifest_not_canonical",
  );
  assert.equal(outcome(text.replace("{", '{"schema":1,')), "manifest_malformed");
});

Deno.test("what is no manifest, and what is too much of one", () => {
  assert.equal(outcome(tree([])), "manifest_malformed");
  assert.equal(outcome(tree([file("a", { mode: "0777" })])), "manifest_malformed");
  assert.equal(outcome(tree([file("a", { size: -1 })])), "manifest_malformed");
  assert.equal(outcome(tree([file("a", { more: 1 })])), "manifest_malformed");
  const many = Array.from({ length: 2001 }, (_, n) => file(`f${String(n).padStart(5, "0")}`));
  assert.equal(outcome(tree(many)), "manifest_malformed");
  const large = ["a", "b", "c"].map((path) => file(path, { size: 200 * 1024 * 1024 }));
  assert.equal(outcome(tree(large)), "tree_too_large");
});

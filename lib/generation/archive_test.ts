import assert from "node:assert/strict";
import fc from "fast-check";
import { sha256 } from "../host/digest.ts";
import {
  archiveOf,
  type Bundle,
  bundleOf,
  chunksOf,
  forged,
  joined,
} from "../testing/bundle_rig.ts";
import { BLOCK, headerOf } from "./archive_header.ts";
import { type Manifest, manifestText } from "./manifest.ts";
import { readArchive } from "./read_archive.ts";
import { archiveLength, manifestHeader, writeArchive } from "./write_archive.ts";

const LONG = `${"d".repeat(90)}/${"e".repeat(60)}/file`;
const BUNDLE = bundleOf({
  "bin/run!": "#!/bin/sh\n",
  "lib/a.js": "a".repeat(BLOCK),
  "lib/b.js": "",
  [LONG]: "deep",
});

/** Reads an archive, keeping its files; what came out, as a code. */
async function outcomeOf(
  archive: Uint8Array,
  { length, chunk = 700 }: { length?: number; chunk?: number } = {},
) {
  const files = new Map<string, string>();
  const read = await readArchive(sha256, chunksOf(archive, chunk), {
    manifest: () => Promise.resolve(null),
    file: ({ path, mode }, bytes) => {
      files.set(`${path} ${mode}`, new TextDecoder().decode(bytes));
      return Promise.resolve(null);
    },
  }, length === undefined ? {} : { length });
  return { files, read, code: read.kind === "read" ? "read" : read.code };
}

const codeOf = async (archive: Uint8Array) => (await outcomeOf(archive)).code;
const padded = (text: string) => {
  const bytes = new Uint8Array(Math.ceil(text.length / BLOCK) * BLOCK);
  bytes.set(new TextEncoder().encode(text));
  return bytes;
};
const header = (path: string, size = 0) =>
  headerOf({ path, size, mode: "0444" }) as Uint8Array<ArrayBuffer>;
const END = new Uint8Array(2 * BLOCK);
/** A manifest, then whatever. */
const behind = ({ manifest }: Bundle, ...parts: Uint8Array[]) => {
  const text = manifestText(manifest);
  return joined([manifestHeader(text.length), padded(text), ...parts]);
};
const ONE = bundleOf({ "a": "x" });

Deno.test("archive: what was written is read back, however it comes in pieces", async () => {
  const archive = await archiveOf(BUNDLE);
  assert.equal(archive.length, archiveLength(BUNDLE.manifest));
  for (const chunk of [1, 511, 512, 513, archive.length]) {
    const { files, read } = await outcomeOf(archive, { chunk, length: archive.length });
    assert.ok(read.kind === "read");
    assert.equal(read.digest, sha256(manifestText(BUNDLE.manifest)).toHex());
    assert.deepEqual([...files], [
      ["bin/run 0555", "#!/bin/sh\n"],
      [`${LONG} 0444`, "deep"],
      ["lib/a.js 0444", "a".repeat(BLOCK)],
      ["lib/b.js 0444", ""],
    ]);
  }
});

Deno.test("archive: the same contents give the same bytes, in whatever order they were named", async () => {
  const one = await archiveOf(bundleOf({ "b": "1", "a!": "2" }));
  assert.deepEqual(one, await archiveOf(bundleOf({ "a!": "2", "b": "1" })));
  assert.notDeepEqual(one, await archiveOf(bundleOf({ "a": "2", "b": "1" })));
});

Deno.test({
  name: "archive: tar of this machine reads it",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    const command = new Deno.Command("tar", {
      args: ["-tvf", "-"],
      stdin: "piped",
      stdout: "piped",
    });
    await using child = command.spawn();
    const writer = child.stdin.getWriter();
    await writer.write(await archiveOf(BUNDLE) as Uint8Array<ArrayBuffer>);
    await writer.close();
    const { code, stdout } = await child.output();
    const lines = new TextDecoder().decode(stdout).trim().split("\n");
    assert.equal(code, 0);
    assert.equal(lines.length, 5);
    assert.match(lines[1] ?? "", /^-r-xr-xr-x 0\/0 +10 1970-01-01 .* bin\/run$/);
    assert.ok(lines[2]?.endsWith(LONG));
  },
});

Deno.test("archive: entries that are no plain files of the list are refused by name", async () => {
  const entry = (fields: { [at: number]: string }) => behind(ONE, forged(header("a", 1), fields));
  for (
    const [code, archive] of [
      ["archive_link", entry({ 156: "2", 157: "/etc/passwd" })],
      ["archive_link", entry({ 156: "1", 157: "manifest.json" })],
      ["archive_device", entry({ 156: "3" })],
      ["archive_device", entry({ 156: "6" })],
      ["archive_entry_unsupported", entry({ 156: "5" })],
      ["archive_entry_unsupported", entry({ 156: "x" })],
      ["archive_entry_unsupported", entry({ 156: "L" })],
      ["archive_path_unsafe", entry({ 0: "../a" })],
      ["archive_path_unsafe", entry({ 0: "/a" })],
      ["archive_path_unsafe", entry({ 345: ".." })],
      ["archive_duplicate", behind(ONE, header("manifest.json", 1))],
      ["archive_unlisted_file", behind(ONE, header("b", 1))],
      ["archive_unlisted_file", behind(ONE, header("A", 1))],
      ["archive_header_differs", entry({ 124: "00000000002" })],
      ["archive_header_differs", entry({ 100: "0000755" })],
      ["archive_header_differs", entry({ 136: "00000000001" })],
      ["archive_header_differs", entry({ 108: "0001750" })],
      ["archive_header_differs", entry({ 265: "root" })],
      ["archive_header_differs", entry({ 157: "linked" })],
      ["archive_header_differs", entry({ 2: "hidden behind NUL" })],
      ["archive_header_differs", entry({ 156: "\0" })],
      ["archive_header_damaged", behind(ONE, padded("not a header"))],
      ["archive_file_missing", behind(ONE, END)],
      ["archive_truncated", behind(ONE)],
      ["archive_truncated", behind(ONE, header("a", 1))],
      ["archive_truncated", behind(ONE, header("a", 1), padded("x"))],
      ["archive_truncated", behind(ONE, header("a", 1), padded("x"), END.subarray(1))],
      ["archive_padding", behind(ONE, header("a", 1), padded("xy"), END)],
      ["file_digest_differs", behind(ONE, header("a", 1), padded("y"), END)],
      ["archive_duplicate", behind(ONE, header("a", 1), padded("x"), header("a", 1))],
      ["archive_unlisted_file", behind(ONE, header("a", 1), padded("x"), header("b"))],
      ["archive_trailing_bytes", behind(ONE, header("a", 1), padded("x"), END, padded("z"))],
      ["archive_trailing_bytes", behind(ONE, header("a", 1), padded("x"), END, END)],
      ["read", behind(ONE, header("a", 1), padded("x"), END)],
    ] as const
  ) assert.equal(await codeOf(archive), code);
  const two = bundleOf({ "a": "x", "b": "y" });
  assert.equal(await codeOf(behind(two, header("b", 1))), "archive_out_of_order");
});

Deno.test("archive: the manifest comes first, alone decides, and is not a giant", async () => {
  const text = manifestText(ONE.manifest);
  for (
    const [code, archive] of [
      ["archive_truncated", new Uint8Array(0)],
      ["archive_truncated", header("manifest.json").subarray(1)],
      ["manifest_missing", END],
      ["manifest_missing", joined([header("a", 1), padded("x")])],
      ["archive_header_damaged", padded("no")],
      ["archive_link", forged(header("manifest.json"), { 156: "2" })],
      ["archive_header_differs", forged(header("manifest.json"), { 100: "0000777" })],
      ["archive_header_differs", forged(header("manifest.json"), { 124: "          0 " })],
      ["manifest_too_large", header("manifest.json", 0o77777777777)],
      ["manifest_malformed", joined([manifestHeader(2), padded("{}")])],
      ["manifest_not_canonical", joined([manifestHeader(text.length + 1), padded(`${text}\n`)])],
    ] as const
  ) assert.equal(await codeOf(archive), code);
  // Its digest is right, its path is not: no taker ever hears of it.
  const away = { ...ONE.manifest, files: ONE.manifest.files.map((f) => ({ ...f, path: "../a" })) };
  assert.equal(await codeOf(behind({ ...ONE, manifest: away as Manifest })), "bundle_path_unsafe");
  const { code } = await outcomeOf(await archiveOf(ONE), { length: 5 });
  assert.equal(code, "archive_length_differs");
});

Deno.test("archive: a sender that fails, and a writer that is given other contents", async () => {
  const failing = async function* () {
    yield* chunksOf((await archiveOf(ONE)).subarray(0, 600));
    throw new Error("reset by peer");
  };
  const taker = { manifest: () => Promise.resolve(null), file: () => Promise.resolve(null) };
  const read = await readArchive(sha256, failing(), taker);
  assert.ok(read.kind === "refused" && read.code === "archive_unreadable");
  assert.equal(read.cause, "reset by peer");
  const wrong = writeArchive(sha256, ONE.manifest, () => Promise.resolve(new Uint8Array(2)));
  await assert.rejects(Array.fromAsync(wrong), TypeError);
  const unfit = { ...ONE.manifest, files: [{ ...ONE.manifest.files[0], path: "x".repeat(150) }] };
  const long = writeArchive(sha256, unfit as Manifest, ONE.contentOf);
  await assert.rejects(Array.fromAsync(long), /bundle_path_unsafe/);
});

Deno.test("archive: any byte changed, cut or added is noticed", async () => {
  const archive = await archiveOf(BUNDLE);
  const at = fc.nat(archive.length - 1);
  await fc.assert(
    fc.asyncProperty(at, fc.integer({ min: 1, max: 255 }), async (place, flip) => {
      const changed = Uint8Array.from(archive);
      changed[place] = (changed[place] as number) ^ flip;
      const { read } = await outcomeOf(changed, { chunk: 4096 });
      // A manifest may be changed into another good one; then the digest says so.
      const digest = sha256(manifestText(BUNDLE.manifest)).toHex();
      assert.ok(read.kind === "refused" || read.digest !== digest, `byte ${place}`);
    }),
    { numRuns: 400 },
  );
  await fc.assert(fc.asyncProperty(at, async (place) => {
    assert.notEqual(await codeOf(archive.subarray(0, place)), "read");
  }));
  await fc.assert(fc.asyncProperty(fc.uint8Array({ minLength: 1 }), async (more) => {
    assert.equal(await codeOf(joined([archive, more])), "archive_trailing_bytes");
  }));
  await fc.assert(fc.asyncProperty(fc.uint8Array({ maxLength: 2000 }), async (noise) => {
    assert.notEqual(await codeOf(noise), "read");
  }));
});

Deno.test("archive: blocks shuffled, doubled or left out are refused", async () => {
  const archive = await archiveOf(BUNDLE);
  const blocks = archive.length / BLOCK;
  const block = (at: number) => archive.subarray(at * BLOCK, (at + 1) * BLOCK);
  const order = fc.array(fc.nat(blocks - 1), { maxLength: blocks + 3 });
  await fc.assert(fc.asyncProperty(order, async (places) => {
    const shuffled = joined(places.map(block));
    const same = shuffled.length === archive.length && archive.every((b, at) => b === shuffled[at]);
    assert.equal(await codeOf(shuffled) === "read", same);
  }));
});

/**
 * Gives an unpacked tree its name, after every byte was compared and flushed. Runs on the machine
 * that unpacks, from the tree itself.
 *
 *     publish.js UNPACKED NAMED
 *
 * @module
 */

import { basename, dirname, join } from "node:path";
import { compareTree } from "../../lib/generation/compare_tree.ts";
import {
  MANIFEST,
  manifestDigest,
  manifestText,
  readManifest,
} from "../../lib/generation/manifest.ts";
import { sha256 } from "../../lib/host/digest.ts";
import { systemDirectories } from "../../lib/host/directories.ts";
import { syncDirectory, systemFiles } from "../../lib/host/files.ts";

/** There, files have no executable bit, and one is flushed through an end that may write. */
const ON_WINDOWS = Deno.build.os === "windows";
const ports = { files: systemFiles, directories: systemDirectories, sha256 };

/** What is wrong with the tree at `unpacked` as the one called `digest`; null when nothing is. */
async function faultOf(unpacked: string, digest: string): Promise<string | null> {
  const read = readManifest(await Deno.readFile(join(unpacked, MANIFEST)));
  if (read.kind === "refused") return read.detail;
  const { manifest } = read;
  if (manifestDigest(sha256, manifest) !== digest) return "its manifest is another one";
  const text = new TextEncoder().encode(manifestText(manifest));
  const listed = [
    { path: MANIFEST, sha256: sha256(text).toHex(), size: text.length, mode: "0444" },
    ...manifest.files,
  ].map((file) => ({ ...file, executable: file.mode === "0555" }));
  const [first] = await compareTree(ports, unpacked, listed, !ON_WINDOWS);
  return first === undefined ? null : `${first.path}: ${first.state}`;
}

async function flush(folder: string): Promise<void> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = join(folder, name);
    if (isDirectory) await flush(path);
    else if (ON_WINDOWS) await flushFile(path);
    else await syncDirectory(path); // a file is flushed by the same call
  }
  await syncDirectory(folder);
}

async function flushFile(path: string): Promise<void> {
  using file = await Deno.open(path, { read: true, write: true });
  await file.sync();
}

const [unpacked = "", named = ""] = Deno.args;
const fault = await faultOf(unpacked, basename(named));
if (fault !== null) {
  console.error(fault);
  Deno.exit(1);
}
await flush(unpacked);
if (!ON_WINDOWS) await Deno.chmod(unpacked, 0o755); // mktemp made it
try {
  await Deno.rename(unpacked, named); // onto a tree that is there it fails
  await syncDirectory(dirname(named));
} catch (error) {
  const there = await Deno.lstat(join(named, MANIFEST)).then(() => true, () => false);
  if (!there) throw error; // otherwise another first run was quicker, with the same bytes
}

// needs: strace
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { missingFor } from "../../scripts/needs.ts";

const missing = missingFor(import.meta.url);

/** How often `count` mutations wait for the disk; null when nobody may be traced here. */
async function flushes(count: number): Promise<number | null> {
  await using dir = await tempDir();
  const { success, stderr } = await new Deno.Command("strace", {
    args: [
      ...["-f", "-qq", "-e", "trace=fsync,fdatasync,sync_file_range,msync", "-o", dir.at("trace")],
      ...[Deno.execPath(), "run", "-A", "--frozen", "--quiet"],
      fileURLToPath(new URL("./agent_flushes_child.ts", import.meta.url)),
      ...[dir.path, String(count)],
    ],
    cwd: fileURLToPath(new URL("../../", import.meta.url)),
    stdin: "null",
    stdout: "null",
  }).output();
  const said = new TextDecoder().decode(stderr);
  if (!success && /not permitted|ptrace/i.test(said)) return null;
  assert.ok(success, said);
  const trace = await Deno.readTextFile(dir.at("trace"));
  return [...trace.matchAll(/\b(?:fsync|fdatasync)\(/g)].length;
}

Deno.test({
  name: "real, agent: a mutation waits four times for the disk, as the kernel sees it",
  ignore: missing.length > 0 || Deno.build.os !== "linux",
  fn: async () => {
    const [few, more] = [await flushes(5), await flushes(25)];
    if (few === null || more === null) {
      console.log("skipped: this machine lets nobody trace a process");
      return;
    }
    // Audit start, claim, the step into the unknown, the end. A checkpoint of the ledger may fall
    // into either run.
    assert.equal(Math.round((more - few) / 20), 4, `${few} for 5, ${more} for 25`);
  },
});

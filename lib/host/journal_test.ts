import assert from "node:assert/strict";
import type { Json } from "../core/canonical_json.ts";
import { journalConformance } from "../testing/journal_conformance.ts";
import { tempDir } from "../testing/temp_dir.ts";
import { type OpenJournal, openJournal } from "./journal.ts";

async function opened(path: string): Promise<OpenJournal<Json>> {
  const outcome = await openJournal<Json>(path, (value) => value === false ? null : value);
  assert.ok(outcome.kind === "open");
  return outcome.journal;
}

journalConformance("real", async () => {
  const dir = await tempDir();
  let journal: OpenJournal<Json> | null = null;
  return {
    open: async () => {
      await journal?.close();
      return journal = await opened(dir.at("j"));
    },
    text: () => Deno.readTextFile(dir.at("j")),
    put: (text) => Deno.writeTextFile(dir.at("j"), text),
    [Symbol.asyncDispose]: async () => {
      await journal?.close();
      await dir[Symbol.asyncDispose]();
    },
  };
});

Deno.test("journal: one writer; a second is told busy until the first closes", async () => {
  await using dir = await tempDir();
  const first = await opened(dir.at("j"));
  assert.equal((await openJournal(dir.at("j"), (value) => value)).kind, "busy");
  await first.append(1);
  await first.close();
  await first.close();
  await using second = await opened(dir.at("j"));
  assert.deepEqual(await second.read(), [1]);
  if (Deno.build.os !== "windows") {
    assert.equal(((await Deno.stat(dir.at("j"))).mode ?? 0) & 0o777, 0o600);
  }
});

Deno.test("journal: a place where none can be is a refusal", async () => {
  await using dir = await tempDir();
  const outcome = await openJournal(dir.at("missing/j"), (value) => value);
  assert.ok(outcome.kind === "refused" && outcome.code === "journal_unavailable");
});

Deno.test({
  name: "journal: a disk that refuses makes append reject",
  ignore: Deno.build.os !== "linux",
  fn: async () => {
    await using dir = await tempDir();
    await Deno.symlink("/dev/full", dir.at("j"));
    await using journal = await opened(dir.at("j"));
    await assert.rejects(() => journal.append(1));
  },
});

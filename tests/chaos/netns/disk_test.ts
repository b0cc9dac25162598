import assert from "node:assert/strict";
import { openJournal } from "../../../lib/host/journal.ts";
import { tempDir } from "../../../lib/testing/temp_dir.ts";
import { TAILS } from "../fault.ts";
import { recordsBelow, tearTail } from "./disk.ts";

Deno.test("disk: a tail is torn behind the last whole line, and nothing whole is touched", async () => {
  for (const tail of TAILS) {
    await using dir = await tempDir();
    await Deno.mkdir(dir.at("changes/1"), { recursive: true });
    const path = dir.at("changes/1/journal.jsonl");
    const whole = '{"a":1}\n{"a":2}\n';
    await Deno.writeTextFile(path, whole);
    await Deno.writeTextFile(dir.at("other.txt"), "x");
    assert.deepEqual(await recordsBelow(dir.path), [path]);
    assert.equal(await tearTail(path, tail), true);
    const text = await Deno.readTextFile(path);
    assert.ok(text.startsWith(whole) && text.length > whole.length && !text.endsWith("\n"), tail);
    assert.equal(await tearTail(path, tail), false, "it is torn already");
    // A journal goes on behind its last whole line.
    const opened = await openJournal(path, (value) => value);
    assert.ok(opened.kind === "open");
    await using journal = opened.journal;
    assert.deepEqual(await journal.read(), [{ a: 1 }, { a: 2 }]);
    await journal.append({ a: 3 });
    assert.equal(await Deno.readTextFile(path), `${whole}{"a":3}\n`);
  }
});

Deno.test("disk: what somebody holds is not torn", async () => {
  await using dir = await tempDir();
  const opened = await openJournal<{ a: number }>(
    dir.at("journal.jsonl"),
    (value) => value as { a: number },
  );
  assert.ok(opened.kind === "open");
  await using journal = opened.journal;
  await journal.append({ a: 1 });
  assert.equal(await tearTail(dir.at("journal.jsonl"), "zeros"), false);
});

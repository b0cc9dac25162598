/**
 * What every implementation of the journal port does.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Json } from "../core/canonical_json.ts";
import type { Journal } from "../core/journal.ts";

/** One place for a journal, and hands that look at it behind its back. */
export interface JournalSubject extends AsyncDisposable {
  /** Opens the journal anew, as a restarted process does. An entry is anything but `false`. */
  open(): Promise<Journal<Json>>;
  text(): Promise<string>;
  put(text: string): Promise<void>;
}

/** Registers the suite under `name`. */
export function journalConformance(name: string, make: () => Promise<JournalSubject>): void {
  const test = (what: string, run: (subject: JournalSubject) => Promise<void>) =>
    Deno.test(`journal, ${name}: ${what}`, async () => {
      await using subject = await make();
      await run(subject);
    });

  test("gives back what was appended, in order, also after a restart", async (subject) => {
    const first = await subject.open();
    assert.deepEqual(await first.read(), []);
    await first.append({ n: 1, text: 'new\nline "ü"' });
    await first.append([2]);
    assert.deepEqual(await first.read(), [{ n: 1, text: 'new\nline "ü"' }, [2]]);
    const second = await subject.open();
    await second.append(3);
    assert.deepEqual(await second.read(), [{ n: 1, text: 'new\nline "ü"' }, [2], 3]);
  });

  test("appends without waiting come out whole and in order", async (subject) => {
    const journal = await subject.open();
    const numbers = Array.from({ length: 20 }, (_, index) => index);
    await Promise.all(numbers.map((number) => journal.append(number)));
    assert.deepEqual(await journal.read(), numbers);
  });

  for (const torn of [`{"n":"${"x".repeat(30)}`, '{"n":', '{"n":2}', "\u0000\u0000"]) {
    test(`a torn last line is dropped and not glued to: ${JSON.stringify(torn)}`, async (subject) => {
      await subject.put(`{"n":1}\n${torn}`);
      const journal = await subject.open();
      await journal.append({ n: 3 }); // without a read before
      assert.deepEqual(await journal.read(), [{ n: 1 }, { n: 3 }]);
      assert.equal(await subject.text(), '{"n":1}\n{"n":3}\n');
    });
  }

  for (const [what, line] of [["no JSON", '{"n":'], ["empty", ""], ["no entry", "false"]]) {
    test(`a corrupt line is named loudly, and nothing is appended: ${what}`, async (subject) => {
      const before = `{"n":1}\n${line}\n{"n":3}\n`;
      await subject.put(before);
      const journal = await subject.open();
      const loud = { name: "CorruptLine", line: 2 };
      await assert.rejects(() => journal.read(), loud);
      await assert.rejects(() => journal.append({ n: 4 }), loud);
      assert.equal(await subject.text(), before);
    });
  }
}

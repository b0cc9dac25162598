/**
 * What every implementation of the files port does.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Files } from "../core/files.ts";

/** One directory with the port under test, and hands that put things there behind its back. */
export interface FilesSubject extends AsyncDisposable {
  readonly files: Files;
  at(name: string): string;
  put(name: string, text: string, mode: number): Promise<void>;
  putDirectory(name: string): Promise<void>;
  putLink(name: string, target: string): Promise<void>;
  /** Something with a name that even root cannot read. */
  putUnreadable(name: string): Promise<void>;
  names(): Promise<readonly string[]>;
  /** 0600 and the like; null where the platform has no modes. */
  mode(name: string): Promise<number | null>;
}

/** Registers the suite under `name`. */
export function filesConformance(name: string, make: () => Promise<FilesSubject>): void {
  const test = (what: string, run: (subject: FilesSubject) => Promise<void>) =>
    Deno.test(`files, ${name}: ${what}`, async () => {
      await using subject = await make();
      await run(subject);
    });

  test("a read gives all bytes up to the bound, and one more is refused", async (subject) => {
    await subject.put("a", "12345", 0o600);
    const read = await subject.files.readBounded(subject.at("a"), 5);
    assert.ok(read.kind === "ok");
    assert.equal(new TextDecoder().decode(read.bytes), "12345");
    assert.equal(codeOf(await subject.files.readBounded(subject.at("a"), 4)), "file_too_large");
    await subject.put("empty", "", 0o600);
    const empty = await subject.files.readBounded(subject.at("empty"), 0);
    assert.ok(empty.kind === "ok" && empty.bytes.length === 0);
  });

  test("absent, unreadable and not a file are three answers", async (subject) => {
    await subject.putDirectory("d");
    await subject.putUnreadable("u");
    assert.equal(codeOf(await subject.files.readBounded(subject.at("none"), 9)), "absent");
    assert.equal(codeOf(await subject.files.readBounded(subject.at("d"), 9)), "file_not_regular");
    assert.equal(codeOf(await subject.files.readBounded(subject.at("u"), 9)), "file_unreadable");
  });

  test("replace makes and replaces, with its mode, and leaves nothing else", async (subject) => {
    for (const text of ["first", "second, longer", ""]) {
      const bytes = new TextEncoder().encode(text);
      assert.deepEqual(await subject.files.replaceFile(subject.at("f"), bytes, 0o600), {
        kind: "ok",
      });
      const read = await subject.files.readBounded(subject.at("f"), 99);
      assert.ok(read.kind === "ok");
      assert.equal(new TextDecoder().decode(read.bytes), text);
    }
    const mode = await subject.mode("f");
    if (mode !== null) assert.equal(mode, 0o600);
    assert.deepEqual(await subject.names(), ["f"]);
  });

  test("a replace that fails is refused, keeps the old and leaves no temp", async (subject) => {
    const bytes = new TextEncoder().encode("x");
    const into = await subject.files.replaceFile(subject.at("missing/f"), bytes, 0o600);
    assert.equal(codeOf(into), "file_unwritable");
    await subject.putDirectory("d");
    const over = await subject.files.replaceFile(subject.at("d"), bytes, 0o600);
    assert.equal(codeOf(over), "file_unwritable");
    assert.deepEqual(await subject.names(), ["d"]);
  });

  test("private is 0600 or 0400, ours, and no link", async (subject) => {
    const check = async (name: string) =>
      codeOf(await subject.files.checkPrivate(subject.at(name)));
    assert.equal(await check("none"), "absent");
    await subject.put("ok", "x", 0o600);
    if (await check("ok") === "unknown") return; // Windows: the suite has no more to say
    assert.equal(await check("ok"), "private");
    await subject.put("read-only", "x", 0o400);
    assert.equal(await check("read-only"), "private");
    for (const mode of [0o644, 0o640, 0o604, 0o660, 0o700]) {
      const name = mode.toString(8);
      await subject.put(name, "x", mode);
      assert.equal(await check(name), "file_not_private", name);
    }
    await subject.putDirectory("d");
    assert.equal(await check("d"), "file_not_regular");
    await subject.putLink("l", "ok");
    assert.equal(await check("l"), "file_is_link");
  });
}

function codeOf(answer: { readonly kind: string; readonly code?: string }): string {
  return answer.code ?? answer.kind;
}

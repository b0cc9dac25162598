import assert from "node:assert/strict";
import type { Json } from "../core/canonical_json.ts";
import { tempDir } from "../testing/temp_dir.ts";
import { openJournal } from "./journal.ts";

const ROUNDS = 5;

/** Runs the child, kills it some time after its first words, returns the last number it promised. */
async function killed(what: "journal" | "file", path: string, first: number): Promise<number> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--no-config",
      "-A",
      new URL("../testing/crash_child.ts", import.meta.url).href,
      what,
      path,
      `${first}`,
    ],
    stdout: "piped",
  }).spawn();
  let said = "";
  let timer: ReturnType<typeof setTimeout> | undefined;
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    timer ??= setTimeout(() => child.kill("SIGKILL"), Math.random() * 40);
    said += text;
  }
  clearTimeout(timer);
  assert.equal((await child.status).signal, "SIGKILL");
  const last = said.trimEnd().split("\n").at(-1);
  assert.ok(last !== undefined && last !== "", "the child promised nothing");
  return Number(last);
}

function numberIn(value: Json): number {
  const { n, filler } = value as { readonly n: number; readonly filler: string };
  assert.equal(filler.length, 10_000);
  return n;
}

Deno.test({
  name: "crash, journal: after kill -9 nothing is torn and nothing promised is lost",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    await using dir = await tempDir();
    let next = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const promised = await killed("journal", dir.at("j"), next);
      const opened = await openJournal(dir.at("j"), (value) => value);
      assert.ok(opened.kind === "open");
      await using journal = opened.journal;
      const numbers = (await journal.read()).map(numberIn);
      assert.deepEqual(numbers, numbers.map((_, index) => index));
      // One more may have been written and not yet said.
      assert.ok(numbers.length - 1 >= promised && numbers.length - 1 <= promised + 1);
      next = numbers.length;
    }
  },
});

Deno.test({
  name: "crash, replace: after kill -9 the file is whole, and not older than promised",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    await using dir = await tempDir();
    let next = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const promised = await killed("file", dir.at("f"), next);
      const n = numberIn(JSON.parse(await Deno.readTextFile(dir.at("f"))));
      assert.ok(n === promised || n === promised + 1, `promised ${promised}, found ${n}`);
      next = n + 1;
      for (const { name } of Deno.readDirSync(dir.path)) {
        assert.match(name, /^(f|\.f\.[0-9a-f]{16}\.tmp)$/);
      }
    }
  },
});

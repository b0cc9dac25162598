import assert from "node:assert/strict";
import type { Json } from "../core/canonical_json.ts";
import { decodeLines } from "../core/json_lines.ts";
import { recordSinkConformance } from "../testing/record_sink_conformance.ts";
import { type TempDir, tempDir } from "../testing/temp_dir.ts";
import { openRecordFile, type RecordFileOptions } from "./record_sink.ts";

const usual = (dir: TempDir): RecordFileOptions => ({
  path: dir.at("records/r.jsonl"),
  maxFileBytes: 1_000_000,
  keep: 2,
});

async function readAll(path: string): Promise<readonly Json[]> {
  return decodeLines(await Deno.readFile(path)).values;
}

recordSinkConformance("real", async () => {
  const dir = await tempDir();
  const { path } = usual(dir);
  await Deno.mkdir(dir.at("records"));
  const sink = openRecordFile(usual(dir));
  return {
    sink,
    records: () => readAll(path),
    fail: async (failing) => { // the directory goes away with its file, and comes back with it
      if (failing) await Deno.rename(dir.at("records"), dir.at("away"));
      else await Deno.rename(dir.at("away"), dir.at("records"));
    },
    [Symbol.asyncDispose]: async () => {
      await sink.close();
      await dir[Symbol.asyncDispose]();
    },
  };
});

Deno.test({
  name: "record sink: a full disk loses and counts, and is told once; then it recovers",
  ignore: Deno.build.os !== "linux",
  fn: async () => {
    await using dir = await tempDir();
    const path = dir.at("r.jsonl");
    await Deno.symlink("/dev/full", path);
    const troubles: (string | null)[] = [];
    await using sink = openRecordFile({
      ...usual(dir),
      path,
      onTrouble: (cause) => troubles.push(cause),
    });
    for (let round = 0; round < 2; round++) {
      sink.write({ round });
      await sink.flush();
    }
    assert.equal(sink.lost, 2);
    assert.equal(troubles.length, 1);
    assert.match(troubles[0] ?? "", /ENOSPC/);
    await Deno.remove(path);
    sink.write("after");
    await sink.flush();
    assert.deepEqual(await readAll(path), ["after"]);
    assert.deepEqual(troubles.slice(1), [null]);
  },
});

Deno.test("record sink: without a flush it tries again by itself, and loses nothing", async () => {
  await using dir = await tempDir();
  const recovered = Promise.withResolvers<void>();
  let tries = 0;
  await using sink = openRecordFile({
    ...usual(dir),
    retryMs: 5,
    onTrouble: (cause) => {
      if (cause === null) recovered.resolve();
      else if (tries++ === 0) Deno.mkdirSync(dir.at("records"));
    },
  });
  sink.write(1);
  const alive = setTimeout(() => recovered.reject(new Error("it never tried again")), 10_000);
  await recovered.promise;
  clearTimeout(alive);
  sink.write(2);
  await sink.flush();
  assert.deepEqual(await readAll(usual(dir).path), [1, 2]);
  assert.equal(sink.lost, 0);
});

Deno.test("record sink: a full queue and a closed sink lose and count", async () => {
  await using dir = await tempDir();
  const path = dir.at("r.jsonl");
  const sink = openRecordFile({ ...usual(dir), path, maxQueued: 3 });
  for (let n = 0; n < 10; n++) sink.write(n);
  assert.equal(sink.lost, 7);
  await sink.close();
  sink.write("late");
  assert.equal(sink.lost, 8);
  assert.deepEqual(await readAll(path), [0, 1, 2]);
});

Deno.test("record sink: rotates by size, keeps N, mode 0600", async () => {
  await using dir = await tempDir();
  const path = dir.at("r.jsonl");
  await using sink = openRecordFile({ path, maxFileBytes: 20, keep: 2 });
  for (let n = 0; n < 5; n++) {
    sink.write(`record ${n} ......`); // 19 bytes a line
    await sink.flush();
  }
  const names = [...Deno.readDirSync(dir.path)].map((entry) => entry.name).sort();
  assert.deepEqual(names, ["r.jsonl", "r.jsonl.1", "r.jsonl.2"]);
  assert.match(await Deno.readTextFile(path), /record 4/);
  assert.match(await Deno.readTextFile(`${path}.1`), /record 3/);
  assert.match(await Deno.readTextFile(`${path}.2`), /record 2/);
  if (Deno.build.os !== "windows") {
    assert.equal(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o600);
  }
});

Deno.test("record sink: after a torn last line a fresh one is begun", async () => {
  await using dir = await tempDir();
  const path = dir.at("r.jsonl");
  await Deno.writeTextFile(path, '{"n":1}\n{"n":');
  await using sink = openRecordFile({ ...usual(dir), path });
  sink.write({ n: 2 });
  await sink.flush();
  assert.equal(await Deno.readTextFile(path), '{"n":1}\n{"n":\n{"n":2}\n');
});

Deno.test("record sink: a file somebody moved away is not written to any longer", async () => {
  await using dir = await tempDir();
  const path = dir.at("r.jsonl");
  await using sink = openRecordFile({ ...usual(dir), path });
  sink.write(1);
  await sink.flush();
  await Deno.rename(path, dir.at("moved"));
  sink.write(2);
  await sink.flush();
  assert.deepEqual([await readAll(dir.at("moved")), await readAll(path)], [[1], [2]]);
});

Deno.test({
  name: "record sink: two that append to one file lose nothing, whoever rotates it",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    await using dir = await tempDir();
    const path = dir.at("r.jsonl");
    const options = { path, maxFileBytes: 2000, keep: 60 };
    const sinks = [openRecordFile(options), openRecordFile(options)];
    const rounds = 60;
    await Promise.all(sinks.map(async (sink, who) => {
      for (let n = 0; n < rounds; n++) {
        for (const part of [0, 1, 2]) sink.write({ who, n, part, padding: "x".repeat(60) });
        await sink.flush();
      }
    }));
    for (const sink of sinks) await sink.close();
    const seen: string[] = [];
    for await (const { name } of Deno.readDir(dir.path)) {
      for (const record of await readAll(dir.at(name))) {
        const { who, n, part } = record as { who: number; n: number; part: number };
        seen.push(`${who} ${n} ${part}`);
      }
      assert.ok((await Deno.stat(dir.at(name))).size <= 3000, `${name} was not rotated`);
    }
    assert.equal(seen.length, 2 * rounds * 3);
    assert.equal(new Set(seen).size, seen.length);
  },
});

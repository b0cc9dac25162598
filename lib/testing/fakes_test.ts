import assert from "node:assert/strict";
import type { Json } from "../core/canonical_json.ts";
import { clockConformance } from "./clock_conformance.ts";
import { everyMoment, type Flow } from "./every_moment.ts";
import { FakeClock } from "./fake_clock.ts";
import { Died, FakeDisk } from "./fake_disk.ts";
import { FakeProcesses, type FakeProgram } from "./fake_process.ts";
import { FakeRecordSink } from "./fake_record_sink.ts";
import { filesConformance } from "./files_conformance.ts";
import { journalConformance } from "./journal_conformance.ts";
import { lockConformance } from "./lock_conformance.ts";
import { processConformance } from "./process_conformance.ts";
import { recordSinkConformance } from "./record_sink_conformance.ts";

const nothing = () => Promise.resolve();
const encode = (text: string) => new TextEncoder().encode(text);

clockConformance("fake", () => {
  const clock = new FakeClock();
  return { clock, pass: (ms) => clock.advance(ms) };
});

filesConformance("fake", () => {
  const disk = new FakeDisk();
  const at = (name: string) => `/disk/${name}`;
  disk.contents.set("/disk", { kind: "directory" });
  const put = (name: string, kind: "directory" | "link" | "unreadable") => {
    disk.contents.set(at(name), { kind });
    return nothing();
  };
  return Promise.resolve({
    files: disk.files,
    at,
    put: (name, text, mode) => {
      disk.contents.set(at(name), { kind: "file", bytes: encode(text), mode });
      return nothing();
    },
    putDirectory: (name) => put(name, "directory"),
    putLink: (name) => put(name, "link"),
    putUnreadable: (name) => put(name, "unreadable"),
    names: () =>
      Promise.resolve(
        [...disk.contents.keys()].filter((path) => path !== "/disk").map((path) => path.slice(6)),
      ),
    mode: (name) => {
      const found = disk.contents.get(at(name));
      return Promise.resolve(found?.kind === "file" ? found.mode : null);
    },
    [Symbol.asyncDispose]: nothing,
  });
});

journalConformance("fake", () => {
  const disk = new FakeDisk();
  return Promise.resolve({
    open: () =>
      Promise.resolve(disk.journal<Json>("/j", (value) => value === false ? null : value)),
    text: () => {
      const found = disk.contents.get("/j");
      return Promise.resolve(found?.kind === "file" ? new TextDecoder().decode(found.bytes) : "");
    },
    put: (text) => {
      disk.contents.set("/j", { kind: "file", bytes: encode(text), mode: 0o600 });
      return nothing();
    },
    [Symbol.asyncDispose]: nothing,
  });
});

lockConformance("fake", () => {
  const disk = new FakeDisk();
  return Promise.resolve({
    tryLock: disk.tryLock,
    at: (name) => `/disk/${name}`,
    putDirectory: (name) => {
      disk.contents.set(`/disk/${name}`, { kind: "directory" });
      return nothing();
    },
    [Symbol.asyncDispose]: nothing,
  });
});

recordSinkConformance("fake", () => {
  const sink = new FakeRecordSink();
  return Promise.resolve({
    sink,
    records: () => Promise.resolve(sink.records),
    fail: (failing) => {
      sink.failing = failing;
      return nothing();
    },
    [Symbol.asyncDispose]: nothing,
  });
});

const PROGRAMS: Readonly<Record<string, FakeProgram>> = {
  speak: { stdout: "out", stderr: "err", end: 3 },
  die: { end: { signal: "SIGTERM" } },
  hang: { stdout: "begun", end: "never" },
  flood: { stdout: "x".repeat(100_000) },
  complain: { stderr: "x".repeat(100_000) },
};

processConformance("fake", {
  run: new FakeProcesses((ask) => PROGRAMS[ask.argv[0]] ?? null).run,
  program: (name) => [name],
  env: {},
});

Deno.test("fake clock: a jump of the wall clock wakes nobody and moves no duration", async () => {
  const clock = new FakeClock();
  let woke = false;
  const asleep = clock.sleep(10).then(() => woke = true);
  clock.jump(-3_600_000);
  await clock.advance(9);
  assert.deepEqual([woke, clock.monotonic(), clock.sleeping], [false, 9, 1]);
  await clock.advance(1);
  await asleep;
  assert.equal(clock.now(), Date.UTC(2026, 0, 1) - 3_600_000 + 10);
});

Deno.test("fake disk: dies before, inside and after an append, and stays dead until the restart", async () => {
  const left: string[] = [];
  for (const moment of [0, 1, 2]) {
    const disk = new FakeDisk();
    const journal = disk.journal<Json>("/j");
    disk.dieAt(moment);
    await assert.rejects(() => journal.append({ n: 1 }), Died);
    await assert.rejects(() => journal.append({ n: 2 }), Died);
    disk.restart();
    const found = disk.contents.get("/j");
    left.push(found?.kind === "file" ? new TextDecoder().decode(found.bytes) : "");
    assert.equal((await journal.read()).length, moment === 2 ? 1 : 0);
  }
  assert.deepEqual(left, ["", '{"n"', '{"n":1}\n']);
});

Deno.test("every moment: a flow that does not finish what it began is found", async () => {
  const careless: Flow = async (disk) => {
    const begun = await disk.files.readBounded("/disk/begun", 9);
    if (begun.kind === "ok") return; // "somebody did that already"
    await disk.files.replaceFile("/disk/begun", encode("1"), 0o600);
    await disk.files.replaceFile("/disk/done", encode("1"), 0o600);
  };
  const checked: Flow = async (disk, run) => {
    await careless(disk, run);
    assert.ok(disk.contents.has("/disk/done"));
  };
  await assert.rejects(() => everyMoment(checked), /after deaths at \[2\]/);
  assert.equal(await everyMoment(careless), 6);
  const swallows: Flow = (disk) => disk.effect(() => {}).catch(() => {});
  await assert.rejects(() => everyMoment(swallows), /survived its death/);
});

import assert from "node:assert/strict";
import type { Clock } from "../../lib/core/clock.ts";
import { systemClock } from "../../lib/host/clock.ts";
import { systemDirectories } from "../../lib/host/directories.ts";
import { systemFiles } from "../../lib/host/files.ts";
import { tryLock } from "../../lib/host/lock.ts";
import { removeFiles } from "../../lib/host/old_files.ts";
import { within } from "../../lib/host/paths.ts";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { staleNames, stampOf, writeReports } from "../../roles/operator/report_files.ts";
import { json as answer, nodeWith, SimulatedNode } from "../fixtures/node.ts";
import { dispatchRig } from "../support/dispatch.ts";
import { freePort } from "../support/free_port.ts";

const names = (dir: string) =>
  [...Deno.readDirSync(dir)].map(({ name }) => name).filter((name) => name !== ".lock").sort();
const ports = {
  files: systemFiles,
  directories: systemDirectories,
  tryLock,
  clock: systemClock,
  removeFiles,
};

Deno.test("fleet report: dated files with the envelope and the words; only reads are sent", async () => {
  await using node = new SimulatedNode(
    "gpu-a",
    nodeWith({
      "serves.list": () =>
        answer({ operation: "serves.list", dry_run: false, known: false, result: { serves: [] } }),
    }),
  );
  await using rig = await dispatchRig([["gpu-a", node.port], ["gone", freePort()]]);
  const dir = rig.folder.at("reports");
  const kinds = ["--kinds", "status,capability,serves"];
  const { code, out } = await rig.run("fleet", "report", "--out", dir, ...kinds);
  assert.equal(code, 0, out);
  const written = names(dir);
  assert.equal(written.length, 6);
  for (const name of written) {
    assert.match(name, /^\d{4}-\d\d-\d\dT\d{6}Z-(status|capability|serves)\.(json|txt)$/);
  }
  const json = written.find((name) => name.endsWith("status.json")) ?? "";
  const report = JSON.parse(await Deno.readTextFile(within(dir, json)));
  assert.deepEqual([report.schema, report.kind, report.exit, report.by], [
    1,
    "status",
    0,
    "tester",
  ]);
  assert.deepEqual(report.envelope.data.counts.unreachable, 1);
  assert.equal(stampOf(Date.parse(report.at)) <= json.slice(0, 18), true);
  const text = await Deno.readTextFile(within(dir, json.replace(".json", ".txt")));
  assert.match(text, /^status of the fleet at .*, exit 0\n\nHOST +OUTCOME/);
  assert.match(text, /^2 hosts: 1 done, 1 unreachable$/m);
  assert.ok(node.posts.every(({ headers }) => headers.get("x-anvil-node") === "gpu-a"));
  // Without a home there is nothing to hold drift against.
  const drift = await rig.run("fleet", "report", "--out", dir);
  assert.match(drift.err, /^drift_without_home/);
  assert.equal(names(dir).length, 6);
});

Deno.test("fleet report: never over another, only so many, and nothing else is touched", async () => {
  await using dir = await tempDir();
  const clock: Clock = {
    now: () => Date.parse("2026-11-29T20:30:00.500Z"),
    monotonic: () => 0,
    sleep: () => Promise.resolve(),
  };
  const report = { kind: "status", json: "{}\n", text: "x\n" } as const;
  const out = dir.at("reports");
  const first = await writeReports({ ...ports, clock }, out, [report], 3);
  assert.deepEqual(first, {
    kind: "written",
    names: ["2026-11-29T203000Z-status.txt", "2026-11-29T203000Z-status.json"],
  });
  // The clock does not go on: the second is taken, and stays so.
  const again = await writeReports({ ...ports, clock }, out, [{ ...report, json: "no" }], 3);
  assert.equal(again.kind === "refused" ? again.code : again.kind, "report_exists");
  assert.equal(await Deno.readTextFile(`${out}/2026-11-29T203000Z-status.json`), "{}\n");
  await Deno.writeTextFile(`${out}/notes.txt`, "mine");
  await Deno.writeTextFile(`${out}/2020-01-01T000000Z-other.json`, "mine");
  for (let day = 1; day <= 5; day++) {
    const now = () => Date.parse(`2026-12-0${day}T00:00:00Z`);
    await writeReports({ ...ports, clock: { ...clock, now } }, out, [report], 3);
  }
  assert.deepEqual(names(out), [
    "2020-01-01T000000Z-other.json",
    ...["03", "04", "05"].flatMap((day) => [
      `2026-12-${day}T000000Z-status.json`,
      `2026-12-${day}T000000Z-status.txt`,
    ]),
    "notes.txt",
  ]);
});

Deno.test("fleet report: two at once, and a disk that says no, leave whole files or none", async () => {
  await using dir = await tempDir();
  const report = { kind: "status", json: "{}\n", text: "x\n" } as const;
  const held = await tryLock(dir.at(".lock"));
  assert.ok(held.kind === "held");
  const busy = await writeReports(ports, dir.path, [report], 3);
  assert.equal(busy.kind === "refused" ? busy.code : busy.kind, "report_busy");
  await held.release();
  const full = {
    ...ports,
    files: {
      ...systemFiles,
      replaceFile: () =>
        Promise.resolve({
          ...{
            kind: "refused" as const,
            code: "file_no_space" as const,
            detail: "full",
            cause: "",
          },
        }),
    },
  };
  const refused = await writeReports(full, dir.path, [report], 1);
  assert.equal(refused.kind === "refused" ? refused.code : refused.kind, "file_no_space");
  assert.deepEqual(names(dir.path), []);
  assert.deepEqual(staleNames(["2026-11-29T203000Z-status.json", "x"], 1), []);
});

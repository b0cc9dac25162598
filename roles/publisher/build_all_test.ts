import assert from "node:assert/strict";
import type { ProcessAsk, ProcessOutcome } from "../../lib/core/process.ts";
import { publisherRig } from "../../tests/fixtures/publisher_rig.ts";
import { buildAll, type BuildReport } from "./build_all.ts";
import type { PublisherConfig } from "./config.ts";
import { buildPath } from "./layout.ts";

const nothing = { stdout: new Uint8Array(0), stderr: new Uint8Array(0) };
const ended: ProcessOutcome = { kind: "exited", code: 0, ...nothing };

type Rig = Awaited<ReturnType<typeof publisherRig>>;

/** Both bundle hosts get a build; `act` is what the child of a host does. */
async function building(
  rig: Rig,
  act: (host: string, result: string, ask: ProcessAsk) => Promise<ProcessOutcome>,
  ids: readonly string[] = [],
): Promise<readonly BuildReport[]> {
  const config: PublisherConfig = {
    ...rig.config,
    hosts: rig.config.hosts.map((host) =>
      host.backend === "nixos" ? host : { ...host, build: ["build", "{host}", "--out={result}"] }
    ),
  };
  const ports = {
    ...rig.ports,
    run: async (ask: ProcessAsk) => {
      const [, host = "", out = ""] = ask.argv;
      return await act(host, out.slice("--out=".length), ask);
    },
  };
  const reports = await buildAll(ports, config, ids, { PATH: "/bin" });
  if ("kind" in reports) throw new Error(reports.code);
  return reports;
}

const brief = (reports: readonly BuildReport[]) =>
  reports.map(({ host, outcome, code, sequence }) => [host, outcome, code ?? sequence]);

const say = (path: string, result: object) => Deno.writeTextFile(path, JSON.stringify(result));

Deno.test("every host by itself: what it is called, what it gets, what it leaves", async () => {
  await using rig = await publisherRig();
  const tree = await rig.tree("aaa", 1);
  const asks: ProcessAsk[] = [];
  const act = async (_host: string, result: string, ask: ProcessAsk) => {
    asks.push(ask);
    await say(result, { rev: "aaa", tree });
    return ended;
  };
  assert.deepEqual(brief(await building(rig, act)), [
    ["gpu-a", "published", 1],
    ["gpu-b", "published", 1],
  ]);
  assert.deepEqual(asks[0]?.argv, [
    ...["build", "gpu-a"],
    `--out=${rig.config.root}/builds/gpu-a/result.json`,
  ]);
  assert.deepEqual(asks[0]?.env, { PATH: "/bin" });
  assert.equal(asks[0]?.deadlineMs, 120 * 60_000);
  assert.deepEqual(brief(await building(rig, act, ["gpu-b"])), [["gpu-b", "refreshed", 2]]);
  const report = await Deno.readTextFile(buildPath(rig.config.root, "gpu-a", "report.json"));
  assert.equal(JSON.parse(report).outcome, "published");
  await assert.rejects(building(rig, act, ["gpu-z"]), /host_unknown/);
});

Deno.test("one host's failure, whatever it is, neither stops nor blesses another", async () => {
  await using rig = await publisherRig();
  const tree = await rig.tree("aaa", 1);
  // A good build first: what gpu-a has must stay.
  const good = async (_host: string, result: string) => {
    await say(result, { rev: "aaa", tree });
    return ended;
  };
  await building(rig, good);
  const failures: readonly [string, (result: string) => Promise<ProcessOutcome>][] = [
    ["build_failed", () => Promise.resolve({ ...ended, code: 1 })],
    ["build_failed", () => Promise.resolve({ kind: "signalled", signal: "SIGKILL", ...nothing })],
    ["build_timeout", () => Promise.resolve({ kind: "timed_out", ...nothing })],
    [
      "build_output_too_large",
      () => Promise.resolve({ kind: "output_too_large", stream: "stdout", ...nothing }),
    ],
    [
      "build_not_started",
      () => Promise.resolve({ kind: "failed_to_start", code: "program_absent", cause: "x" }),
    ],
    ["build_no_result", () => Promise.resolve(ended)], // the earlier result does not speak for it
    ["build_result_malformed", (result) => Deno.writeTextFile(result, "{").then(() => ended)],
    ["build_result_malformed", (result) => say(result, { rev: "aaa" }).then(() => ended)],
    [
      "build_result_malformed",
      (result) => say(result, { rev: "a", tree: "rel" }).then(() => ended),
    ],
    ["rev_differs", (result) => say(result, { rev: "zzz", tree }).then(() => ended)],
    [
      "source_wrong",
      (result) =>
        say(result, { rev: "aaa", store_path: `/nix/store/${"a".repeat(32)}-x` }).then(() => ended),
    ],
    [
      "build_failed",
      (result) => say(result, { rev: "aaa", tree }).then(() => ({ ...ended, code: 1 })),
    ],
  ];
  let sequence = 1;
  for (const [code, fails] of failures) {
    const reports = await building(
      rig,
      async (host, result) => host === "gpu-a" ? await fails(result) : await good(host, result),
    );
    assert.deepEqual(brief(reports), [
      ["gpu-a", "failed", code],
      ["gpu-b", "refreshed", ++sequence],
    ]);
    assert.equal((await rig.look("gpu-a"))?.floor.sequence, 1);
  }
});

Deno.test("a report keeps the end of what was printed, without our tokens", async () => {
  await using rig = await publisherRig();
  const token = `anvil_${"x".repeat(43)}`;
  const stderr = new TextEncoder().encode(`${"a".repeat(10_000)} ${token} error: no such thing\n`);
  await building(rig, () => Promise.resolve({ ...ended, code: 2, stderr }));
  const text = await Deno.readTextFile(buildPath(rig.config.root, "gpu-a", "report.json"));
  const { output, code } = JSON.parse(text);
  assert.equal(code, "build_failed");
  assert.ok(output.endsWith("error: no such thing\n") && output.length <= 4096);
  assert.ok(!text.includes(token));
});

Deno.test("a bug that one host brings to light is that host's failure", async () => {
  await using rig = await publisherRig();
  const tree = await rig.tree("aaa", 1);
  const { files } = rig.ports;
  const ports = {
    ...rig.ports,
    files: {
      ...files,
      readBounded: (path: string, most: number) => {
        if (path.endsWith("/gpu-a.json")) throw new TypeError("a bug");
        return files.readBounded(path, most);
      },
    },
  };
  const reports = await building({ ...rig, ports }, async (_host, result) => {
    await say(result, { rev: "aaa", tree });
    return ended;
  });
  assert.deepEqual(brief(reports), [
    ["gpu-a", "failed", "publisher_bug"],
    ["gpu-b", "published", 1],
  ]);
});

Deno.test({
  name:
    "real children: one that hangs and one that prints without end are killed, the next is built",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    await using rig = await publisherRig();
    const tree = await rig.tree("aaa", 1);
    const [first, second] = rig.config.hosts.filter(({ backend }) => backend === "bundle");
    assert.ok(first !== undefined && second !== undefined);
    const good = `printf '{"rev":"aaa","tree":"${tree}"}' > "$1"`;
    const outcome = async (script: string, build_minutes: number) => {
      const build = (text: string) => ["/bin/sh", "-c", text, "sh", "{result}"];
      const hosts = [
        { ...first, build: build(script), build_minutes },
        { ...second, build: build(good) },
      ];
      const reports = await buildAll(rig.ports, { ...rig.config, hosts }, [], { PATH: "/bin" });
      return "kind" in reports ? [] : reports.map(({ code }) => code);
    };
    // It wrote its result first: without exit code 0 that says nothing.
    assert.deepEqual(await outcome(`${good}; exec sleep 60`, 0.005), ["build_timeout", null]);
    assert.deepEqual(await outcome("exec yes", 1), ["build_output_too_large", null]);
    assert.equal(await rig.look("gpu-a"), null);
    assert.equal((await rig.look("gpu-b"))?.floor.sequence, 2);
  },
});

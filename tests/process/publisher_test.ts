import assert from "node:assert/strict";
import { verifyEnvelope } from "../../lib/adoption/envelope.ts";
import { readTrust } from "../../lib/adoption/keys.ts";
import { systemClock } from "../../lib/host/clock.ts";
import { systemDownload } from "../../lib/host/download.ts";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { treeFiles, writeTree } from "../fixtures/publisher_rig.ts";
import { type Finished, roleCommand, runRole } from "../support/role_process.ts";
import { until } from "../support/wait.ts";

const TOML = `schema = 1
root = "published"
keys = "keys"
listen = "127.0.0.1:0"
[[hosts]]
id = "gpu-a"
backend = "bundle"
build = ["./build-host", "{host}", "{result}"]
[[hosts]]
id = "gpu-b"
backend = "bundle"
build = ["./build-host", "{host}", "{result}"]
[[hosts]]
id = "gpu-c"
backend = "bundle"
`;

interface Envelope {
  readonly ok: boolean;
  readonly data: { readonly [key: string]: unknown };
  readonly problems: readonly { readonly code: string }[];
}

/** A folder with a config, and the program run in it; no output may hold a private key. */
async function folder() {
  const dir = await tempDir();
  await Deno.writeTextFile(dir.at("publisher.toml"), TOML);
  await writeTree(dir.at("tree"), treeFiles("aaa", 1));
  const said: string[] = [];
  const run = async (...args: readonly string[]): Promise<Finished> => {
    const ended = await runRole("publisher", dir.path, args);
    said.push(ended.stdout, ended.stderr);
    return ended;
  };
  return {
    dir,
    said,
    run,
    json: async (code: number, ...args: readonly string[]): Promise<Envelope> => {
      const ended = await run(...args, "--json");
      assert.equal(ended.code, code, ended.stdout + ended.stderr);
      const lines = ended.stdout.trimEnd().split("\n");
      assert.equal(lines.length, 1, ended.stdout);
      const envelope = JSON.parse(lines[0] as string) as Envelope;
      assert.deepEqual(Object.keys(envelope), ["ok", "data", "problems"]);
      assert.equal(envelope.ok, code === 0);
      return envelope;
    },
    /** Every private key in the folder. */
    secrets: async () => {
      const secrets: string[] = [];
      for await (const { name } of Deno.readDir(dir.at("keys"))) {
        if (!name.endsWith(".json")) continue;
        const { private: secret } = JSON.parse(await Deno.readTextFile(dir.at(`keys/${name}`)));
        if (secret !== null) secrets.push(secret);
      }
      return secrets;
    },
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  };
}

Deno.test("publisher: from no key to a withdrawn candidate, with words and exit codes", async () => {
  await using here = await folder();
  const { json, run, dir } = here;
  const codeOf = ({ problems }: Envelope) => problems[0]?.code;
  assert.equal(codeOf(await json(1, "check", "publisher.toml")), "keys_absent");
  const publish = ["publish", "gpu-a", "--tree", "tree", "--rev", "aaa"];
  assert.equal(codeOf(await json(1, ...publish)), "keys_absent");
  const made = await json(0, "keys", "init");
  const { id } = made.data["key"] as { readonly id: string };
  assert.equal(codeOf(await json(1, "keys", "init")), "keys_exist");
  const mode = (await Deno.stat(dir.at(`keys/${id}.json`))).mode ?? 0;
  assert.equal(mode & 0o777, 0o600);
  const first = await json(0, ...publish);
  assert.deepEqual([first.data["outcome"], first.data["sequence"]], ["published", 1]);
  assert.equal((await json(0, ...publish)).data["outcome"], "refreshed");
  assert.equal(codeOf(await json(1, ...publish.with(-1, "bbb"))), "rev_differs");
  assert.equal(codeOf(await json(1, ...publish.with(1, "gpu-z"))), "host_unknown");
  assert.equal(codeOf(await json(2, "publish", "gpu-a", "--rev", "aaa")), "source_missing");
  assert.equal((await run("publish", "gpu-a", "--tree", "tree")).code, 2);
  assert.equal((await run("nonsense")).code, 2);
  const text = await run("withdraw", "gpu-a");
  assert.equal(text.code, 0, text.stderr);
  assert.match(text.stdout, /^gpu-a: withdrawn as 3 on rolling/);
  assert.equal(codeOf(await json(1, ...publish)), "target_withdrawn");
  assert.equal(codeOf(await json(1, "withdraw", "gpu-b")), "no-candidate");
  const checked = await json(0, "check", "publisher.toml");
  assert.deepEqual(checked.data["signing_keys"], [id]);
  const states = checked.data["hosts"] as readonly { readonly state: string }[];
  assert.deepEqual(states.map(({ state }) => state), ["withdrawn", "none", "none"]);
  assert.match((await run("check", "publisher.toml")).stdout, /^gpu-a +withdrawn +3 +20/m);
  const pointer = dir.at("published/public/candidates/gpu-b.json");
  await Deno.writeTextFile(pointer, "{}");
  assert.equal(codeOf(await json(1, "check", "publisher.toml")), "pointer_damaged");
  await Deno.remove(pointer);
  const rotated = (await json(0, "keys", "rotate")).data["key"] as { readonly id: string };
  const trust = await run("keys", "list", "--trust");
  const read = await readTrust(new TextEncoder().encode(trust.stdout));
  assert.ok(read.kind === "ok");
  assert.deepEqual([...read.trust.keys()].sort(), [id, rotated.id].sort());
  const before = await here.secrets();
  assert.equal(before.length, 2);
  assert.equal((await json(0, "keys", "retire", id)).ok, true);
  assert.equal(codeOf(await json(1, "keys", "retire", rotated.id)), "key_last");
  assert.equal(codeOf(await json(1, "keys", "retire", "ed25519-x")), "key_absent");
  assert.equal((await here.secrets()).length, 1);
  assert.equal((await run("keys", "list")).stdout.match(/retired/g)?.length, 1);
  for (const secret of before) {
    // Neither it, nor the half that is in no header.
    for (const part of [secret, secret.slice(24, 56)]) {
      assert.ok(here.said.every((one) => !one.includes(part)), "a private key was printed");
    }
  }
});

Deno.test("publisher: a config that is wrong exits 2 with every problem", async () => {
  await using here = await folder();
  await Deno.writeTextFile(here.dir.at("publisher.toml"), TOML.replaceAll("bundle", "docker"));
  for (const command of [["check", "publisher.toml"], ["build-all"], ["keys", "list"]]) {
    const { problems } = await here.json(2, ...command);
    assert.deepEqual(problems.map(({ code }) => code), Array(3).fill("not_allowed"));
  }
  assert.equal((await here.run("serve")).code, 2);
  assert.equal((await here.run("check", "nowhere.toml")).code, 2);
});

Deno.test("publisher: what its permissions do not name, it cannot read, write or run", async () => {
  await using here = await folder();
  const { dir, json } = here;
  assert.equal((await here.run("keys", "init")).code, 0);
  const outside = await json(1, "publish", "gpu-a", "--tree", "/etc", "--rev", "aaa");
  assert.deepEqual(outside.problems.map(({ code }) => code), ["publisher_unusable"]);
  await using other = await tempDir();
  const elsewhere = TOML.replace('"published"', `"${other.path}"`);
  await Deno.writeTextFile(dir.at("publisher.toml"), elsewhere);
  const unwritable = await json(1, "publish", "gpu-a", "--tree", "tree", "--rev", "aaa");
  assert.deepEqual(unwritable.problems.map(({ code }) => code), ["publisher_unusable"]);
  const shell = TOML.replace("./build-host", "/bin/sh");
  await Deno.writeTextFile(dir.at("publisher.toml"), shell);
  const unrun = await json(1, "build-all", "gpu-a");
  assert.deepEqual(unrun.problems.map(({ code }) => code), ["build_not_started"]);
});

Deno.test("publisher: version and schemas", async () => {
  await using here = await folder();
  assert.match((await here.run("--version")).stdout, /^anvil-publisher \d/);
  assert.equal(JSON.parse((await here.run("schema", "--of", "trust")).stdout).type, "object");
});

Deno.test({
  name:
    "publisher: build-all by real children: one fails, the other advances, nobody else is touched",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    await using here = await folder();
    const { dir, json } = here;
    await json(0, "keys", "init");
    const script = `#!/bin/sh
echo "builds $1"
if [ "$1" = "$(cat broken 2>/dev/null)" ]; then echo "no such thing" >&2; exit 3; fi
printf '{"rev":"aaa","tree":"%s/tree"}' "$PWD" > "$2"
`;
    await Deno.writeTextFile(dir.at("build-host"), script, { mode: 0o755 });
    await Deno.writeTextFile(dir.at("broken"), "gpu-a");
    const first = await json(1, "build-all");
    const brief = (envelope: Envelope) =>
      (envelope.data["hosts"] as readonly { host: string; outcome: string; code: string | null }[])
        .map(({ host, outcome, code }) => [host, outcome, code]);
    assert.deepEqual(brief(first), [
      ["gpu-a", "failed", "build_failed"],
      ["gpu-b", "published", null],
    ]);
    assert.deepEqual(first.problems.map(({ code }) => code), ["build_failed"]);
    const report = await Deno.readTextFile(dir.at("published/builds/gpu-a/report.json"));
    assert.match(JSON.parse(report).output, /no such thing/);
    await Deno.writeTextFile(dir.at("broken"), "gpu-b");
    const second = await here.run("build-all");
    assert.equal(second.code, 1);
    assert.match(second.stdout, /gpu-a +published +1 +aaa/);
    assert.match(second.stdout, /gpu-b +failed +build_failed/);
    assert.match(second.stderr, /gpu-a: builds \(1 of 2\)/);
    // Nobody asked for gpu-c: it has no build, and no candidate.
    assert.deepEqual(
      (await Array.fromAsync(Deno.readDir(dir.at("published/public/candidates"))))
        .map(({ name }) => name).sort(),
      ["gpu-a.json", "gpu-b.json"],
    );
    const pruned = await json(0, "prune", "--dry-run");
    assert.deepEqual(pruned.data, { dry_run: true, removed: 0, bytes: 0, named: 4 });
    const alone = await json(1, "build-all", "gpu-c");
    assert.deepEqual(brief(alone), [["gpu-c", "failed", "build_none"]]);
  },
});

Deno.test({
  name: "publisher: serve, asked by a host; publish beside it; SIGTERM ends it",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    await using here = await folder();
    const { dir, run } = here;
    assert.equal((await run("keys", "init")).code, 0);
    const trust = await readTrust(
      new TextEncoder().encode((await run("keys", "list", "--trust")).stdout),
    );
    assert.ok(trust.kind === "ok");
    const command = await roleCommand("publisher", dir.path, ["serve"]);
    await using child = command.spawn();
    let stderr = "";
    const follow = (async () => {
      for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) stderr += text;
    })();
    await until("it listens", () => stderr.includes("serves what is published"), 20_000);
    const { port } = JSON.parse(stderr.split("\n")[0] as string).properties;
    const download = systemDownload(systemClock);
    const url = (path: string) => `http://127.0.0.1:${port}${path}`;
    const pointer = () =>
      download.document({ url: url("/candidates/gpu-a.json"), maxBytes: 1e6, deadlineMs: 5000 });
    try {
      const none = await pointer();
      assert.equal(none.kind === "refused" && none.code, "no-candidate");
      assert.equal((await run("publish", "gpu-a", "--tree", "tree", "--rev", "aaa")).code, 0);
      const some = await pointer();
      assert.ok(some.kind === "ok");
      const offer = await verifyEnvelope(some.bytes, trust.trust, {
        ...{ host: "gpu-a", backend: "bundle", channel: "rolling", floor: null },
        ...{ now: Date.now(), builtAt: 0 },
      });
      assert.ok(offer.kind === "offer" && offer.payload.target.kind === "bundle");
      const digest = offer.target.slice(7);
      const blob = await download.blob({
        url: url(`/blobs/sha256/${digest}`),
        sha256: digest,
        size: offer.payload.target.manifest_size,
        path: dir.at("manifest"),
        deadlineMs: 5000,
        idleMs: 5000,
      });
      assert.equal(blob.kind, "ok");
    } finally {
      download.close();
      child.kill("SIGTERM");
    }
    const [{ code }] = await Promise.all([child.status, follow, child.stdout.cancel()]);
    assert.equal(code, 0, stderr);
  },
});

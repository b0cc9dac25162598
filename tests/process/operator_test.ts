import assert from "node:assert/strict";
import { z } from "zod";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { schemaFiles } from "../../scripts/schemas.ts";
import { commitFiles, gitIn, makeRepo } from "../fixtures/git_repo.ts";
import { operator, type Said } from "../fixtures/operator_cli.ts";
import { LAB } from "../fixtures/topology.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const BROKEN = `${ROOT}tests/golden/broken/topology.toml`;

interface Envelope {
  readonly ok: boolean;
  readonly data: never;
  readonly problems: readonly { readonly [key: string]: unknown }[];
}

/** The one envelope a run printed, valid by the JSON Schema of fleet/schemas. */
async function envelope({ out, err, code }: Said): Promise<Envelope> {
  const text = await Deno.readTextFile(`${ROOT}fleet/schemas/envelope.schema.json`);
  const schema = z.fromJSONSchema(JSON.parse(text));
  assert.equal(err, "");
  assert.equal(out.trimEnd().split("\n").length, 1);
  const checked = schema.safeParse(JSON.parse(out));
  assert.ok(checked.success, JSON.stringify(checked.error));
  const value = JSON.parse(out) as Envelope;
  assert.equal(value.ok, code === 0);
  return value;
}

/** Deno's cache, which would move away with HOME. */
async function denoDir(): Promise<string> {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  return JSON.parse(new TextDecoder().decode(stdout)).denoDir;
}

/** anvil-operator as a process of its own, with the flags of its task in deno.json. */
async function task(cwd: string, home: string, ...args: readonly string[]): Promise<Said> {
  const { tasks } = JSON.parse(await Deno.readTextFile(`${ROOT}deno.json`));
  const flags = [...tasks.operator.command.matchAll(/"?(--[a-z-]+(?:=[^"\s]+)?)"?/g)]
    .map(([, flag]) =>
      flag.replaceAll("$INIT_CWD", cwd).replaceAll("$HOME", home).replaceAll("$root", ROOT)
    ).filter((flag) => flag !== "--config");
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--config",
      `${ROOT}deno.json`,
      ...flags,
      `${ROOT}roles/operator/main.ts`,
      ...args,
    ],
    cwd,
    env: { HOME: home, ANVIL_HOME: "", USER: "tester", DENO_DIR: await denoDir(), NO_COLOR: "1" },
    stdin: "null",
    signal: AbortSignal.timeout(60_000),
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, out: text(stdout), err: text(stderr) };
}

Deno.test("operator: validate says every problem with file, line, column, path and code", async () => {
  const { code, out, err } = await operator("/nowhere", "topology", "validate", BROKEN);
  assert.equal(code, 2);
  assert.equal(out, "");
  const expected = await Deno.readTextFile(`${ROOT}tests/golden/broken/topology.problems`);
  const printed = err.split("\n").filter((line) => line.startsWith(BROKEN)).map((line) =>
    line.slice(BROKEN.length + 1)
  );
  const wanted = expected.trimEnd().split("\n");
  assert.equal(printed.length, wanted.length);
  for (const [index, line] of wanted.entries()) {
    const [place = "", ...rest] = line.split(" ");
    const problemCode = rest.at(-1) ?? "";
    const path = rest.slice(0, -1).join(" ");
    assert.ok(printed[index]?.startsWith(`${place}: ${path}: ${problemCode}: `), printed[index]);
  }
  assert.ok(!err.includes("hunter2") && !err.includes("AbCdEf"), "a secret is printed");
});

Deno.test("operator: validate --json prints one envelope, also for several files", async () => {
  const fine = `${ROOT}fleet/examples/reference/topology.toml`;
  const said = await operator("/nowhere", "topology", "validate", "--json", fine, BROKEN);
  assert.equal(said.code, 2);
  const { problems, data } = await envelope(said);
  assert.equal(problems.length, 51);
  assert.ok(problems.every((one) => one["file"] === BROKEN && typeof one["line"] === "number"));
  assert.deepEqual((data as { ok: boolean }[]).map(({ ok }) => ok), [true, false]);
  const ineligible = problems.find((one) => one["code"] === "promotion_ineligible");
  assert.equal(ineligible?.["reason"], "opportunistic");
});

Deno.test("operator: validate reads the serves beside a topology", async () => {
  await using dir = await tempDir();
  await Deno.mkdir(dir.at("hosts/voice"), { recursive: true });
  await Deno.writeTextFile(dir.at("topology.toml"), LAB);
  const serves =
    'schema = 1\n[[serve]]\nname = "a"\ncapability = "llm.primary"\nruntime = "docker"\n' +
    'container = "a"\n';
  await Deno.writeTextFile(dir.at("hosts/voice/serves.toml"), serves);
  const said = await operator("/nowhere", "topology", "validate", dir.at("topology.toml"));
  assert.equal(said.code, 2);
  assert.match(
    said.err,
    /hosts\/voice\/serves\.toml:4:1: serve\[0\]\.capability: serve_on_reserved: /,
  );
});

Deno.test("operator: an absent file, no file, an unknown command and flag are exit 2", async () => {
  const absent = await operator("/nowhere", "topology", "validate", "/nowhere/x.toml");
  assert.deepEqual([absent.code, absent.err], [
    2,
    "/nowhere/x.toml: $: file_absent: there is no such file\n1 problem\n",
  ]);
  for (
    const args of [
      ["topology", "validate"],
      ["topology", "valid"],
      ["topology", "show", "--colour"],
      ["topology", "resolve", "--target", "gpu-a", BROKEN],
      ["topology", "view", "--host", "GPU", BROKEN],
      ["home", "materialize", "--rev", "x"],
    ]
  ) assert.equal((await operator("/nowhere", ...args)).code, 2, args.join(" "));
});

Deno.test("operator: resolve says host, way and why, and never guesses", async () => {
  await using dir = await tempDir();
  const file = dir.at("topology.toml");
  await Deno.writeTextFile(file, LAB);
  const resolve = (...args: string[]) => operator("/nowhere", "topology", "resolve", ...args, file);
  const alone = await envelope(await resolve("--json", "--target", "role:voice", "--from", "desk"));
  assert.deepEqual((alone.data as { hosts: unknown }).hosts, [{
    host: "voice",
    way: "agent",
    endpoint: "http://192.0.2.11:8765",
    because: "voice is not the command host desk",
  }]);
  const own = await envelope(
    await resolve("--json", "--target", "role:serving", "--from", "gpu-a"),
  );
  assert.deepEqual((own.data as { hosts: { host: string; way: string }[] }).hosts[0]?.way, "local");
  const guess = await resolve("--json", "--target", "role:serving", "--from", "desk");
  assert.equal(guess.code, 1);
  const [problem] = (await envelope(guess)).problems;
  assert.equal(problem?.["code"], "target_ambiguous");
  const stranger = await resolve("--target", "all", "--from", "mars");
  assert.match(stranger.err, /^command_host_unknown: /);
});

Deno.test("operator: explain prints the rule behind a code, without a topology", async () => {
  const said = await operator("/nowhere", "topology", "explain", "--code", "promotion_ineligible");
  assert.equal(said.code, 0);
  assert.match(said.out, /^promotion_ineligible, promotion_reserved\n {2}A promotion stands on /);
  assert.equal((await operator("/nowhere", "topology", "explain", "--code", "x")).code, 1);
});

Deno.test("operator: help of every command names an example or what it does", async () => {
  for (
    const [args, word] of [
      [["--help"], "topology validate"],
      [["topology", "validate", "--help"], "Examples:"],
      [["topology", "resolve", "--help"], "--target role:serving"],
      [["home", "materialize", "--help"], "--rev"],
      [["home", "rollback", "--help"], "Examples:"],
      [["home", "diff", "--help"], "Examples:"],
      [["schema", "--help"], "Examples:"],
      [["completions", "--help"], "Examples:"],
      [["doctor", "--help"], "clock"],
    ] as const
  ) {
    const { code, out } = await operator("/nowhere", ...args);
    assert.equal(code, 0);
    assert.ok(out.includes(word), `${args.join(" ")}: ${out}`);
  }
});

Deno.test("operator: from a commit to the live set, a branch switch, and back", async () => {
  await using dir = await tempDir();
  const repo = dir.at("repo");
  const home = dir.at("home");
  const one = await makeRepo(repo, { "fleet/topology.toml": LAB, "other": "x" });
  const run = (...args: string[]) => operator(home, "home", ...args);
  const first = await envelope(
    await run("materialize", "--repo", repo, "--rev", "main", "--path", "fleet/", "--json"),
  );
  const { digest } = first.data as { digest: string };
  const status = await run("status");
  assert.match(status.out, new RegExp(`commit +${one}`));
  assert.match(status.out, /by +tester/);
  await gitIn(repo, "checkout", "-q", "-b", "other");
  const two = await commitFiles(repo, { "fleet/topology.toml": LAB.replace('"lab"', '"lob"') });
  assert.deepEqual(await run("status"), status);
  assert.equal((await run("materialize", "--repo", repo, "--rev", two, "--path", "fleet")).code, 0);
  const diff = await envelope(await run("diff", "--json"));
  assert.deepEqual(diff.data as unknown, [
    { path: "topology.toml", state: "differs", keys: ["fleet"] },
  ]);
  const shown = await operator(home, "topology", "show");
  assert.match(shown.out, /^fleet lob, operated from desk, from live [0-9a-f]{12}\n/);
  const back = await envelope(await run("rollback", "--json"));
  assert.equal((back.data as { digest: string }).digest, digest);
  assert.match((await run("verify", "--all")).out, /^2 files of 2 sets: as exported\n$/);
  const history = await run("history");
  assert.deepEqual(
    history.out.split("\n").slice(1, 4).map((line) => line.split(/ {2,}/).slice(1, 3)),
    [
      ["live", "rollback"],
      ["was live", "materialize"],
      ["was live", "materialize"],
    ],
  );
  const view = await operator(home, "topology", "view", "--host", "gpu-a");
  assert.ok(
    view.out.startsWith('command_host = "gpu-a"\ncommand_runtime = "native"\nschema = 1\n'),
  );
  await Deno.mkdir(dir.at("installed"));
  await Deno.writeTextFile(dir.at("installed/topology.toml"), view.out);
  const same = await run("diff", "--host", "gpu-a", dir.at("installed"));
  assert.deepEqual([same.code, same.out], [0, "1 files: identical\n"]);
  await Deno.writeTextFile(dir.at("installed/extra"), "x");
  await Deno.writeTextFile(dir.at("installed/topology.toml"), view.out.replace("2048 }", "4096 }"));
  const drift = await run("diff", "--host", "gpu-a", dir.at("installed"));
  assert.equal(drift.code, 1);
  assert.match(drift.out, /extra +extra\n/);
  assert.match(
    drift.out,
    /topology\.toml +differs +hosts\.gpu-a\.memory\.devices\[0\]\.reserve_mib\n/,
  );
  const doctor = await operator(home, "doctor", "--offline");
  assert.equal(doctor.code, 0, doctor.out);
  assert.match(doctor.out, /^live_set +pass /m);
  assert.doesNotMatch(doctor.out, / fail /);
});

Deno.test("operator: what is refused is said by name, and wrong files with their names", async () => {
  await using dir = await tempDir();
  const repo = dir.at("repo");
  await makeRepo(repo, { "topology.toml": LAB });
  const home = dir.at("home");
  const empty = await operator(home, "home", "status");
  assert.deepEqual([empty.code, empty.err.split(":")[0]], [1, "home_empty"]);
  await Deno.symlink("topology.toml", `${repo}/link`);
  const dirty = await operator(home, "home", "materialize", "--repo", repo, "--rev", "HEAD");
  assert.deepEqual([dirty.code, dirty.err.split(":")[0]], [1, "repo_dirty"]);
  await commitFiles(repo, {});
  const link = await operator(
    home,
    "home",
    "materialize",
    "--repo",
    repo,
    "--rev",
    "HEAD",
    "--json",
  );
  assert.equal(link.code, 2);
  const [problem] = (await envelope(link)).problems;
  assert.deepEqual([problem?.["file"], problem?.["code"]], ["link", "file_is_link"]);
  const inside = `${repo}/home`;
  const place = await operator(inside, "home", "materialize", "--repo", repo, "--rev", "HEAD~1");
  assert.deepEqual([place.code, place.err.split(":")[0]], [1, "home_in_git_tree"]);
  const doctor = await operator(inside, "doctor");
  assert.equal(doctor.code, 1);
  assert.match(doctor.out, /^live_paths +fail +.* it is inside a git repository/m);
});

Deno.test("operator: completion proposes commands, flags and values, and scripts ask for it", async () => {
  const complete = async (...words: string[]) =>
    (await operator("/nowhere", "__complete", ...words)).out.trimEnd().split("\n");
  assert.deepEqual(await complete("topology", "v"), ["validate", "view"]);
  assert.deepEqual(await complete("ho"), ["home"]);
  assert.ok((await complete("home", "materialize", "--r")).includes("--repo"));
  assert.deepEqual(await complete("completions", ""), ["bash", "zsh", "fish"]);
  assert.deepEqual(await complete("schema", "--of", "top"), ["topology"]);
  for (const shell of ["bash", "zsh", "fish"]) {
    const { code, out } = await operator("/nowhere", "completions", shell);
    assert.equal(code, 0);
    assert.ok(out.includes("anvil-operator __complete"), out);
  }
  assert.equal((await operator("/nowhere", "completions", "csh")).code, 2);
});

Deno.test("schemas: fleet/schemas is what the code says", async () => {
  for (const [path, text] of schemaFiles()) {
    assert.equal(await Deno.readTextFile(`${ROOT}${path}`), text, `deno run -A scripts/schemas.ts`);
  }
});

Deno.test("schemas: the topology's schema takes the five fleets and no broken one", async () => {
  const { parse } = await import("smol-toml");
  const text = await Deno.readTextFile(`${ROOT}fleet/schemas/topology.schema.json`);
  const schema = z.fromJSONSchema(JSON.parse(text));
  for await (const { name } of Deno.readDir(`${ROOT}fleet/examples`)) {
    const file = await Deno.readTextFile(`${ROOT}fleet/examples/${name}/topology.toml`);
    const checked = schema.safeParse(parse(file));
    assert.ok(checked.success, `${name}: ${JSON.stringify(checked.error)}`);
  }
  assert.ok(!schema.safeParse(parse(await Deno.readTextFile(BROKEN))).success);
});

Deno.test("operator: the flags of its task are enough, and narrow", async () => {
  await using dir = await tempDir();
  await makeRepo(dir.at("repo"), { "topology.toml": LAB });
  await Deno.mkdir(dir.at("user"));
  const user = dir.at("user");
  const made = await task(
    dir.at("repo"),
    user,
    "home",
    "materialize",
    "--repo",
    ".",
    "--rev",
    "main",
  );
  assert.deepEqual([made.code, made.err], [0, ""]);
  const status = await task(dir.at("repo"), user, "home", "status", "--json");
  assert.equal(status.code, 0);
  await envelope(status);
  const doctor = await task(dir.at("repo"), user, "doctor", "--offline");
  assert.equal(doctor.code, 0, doctor.out + doctor.err);
  await Deno.writeTextFile(dir.at("outside.toml"), LAB);
  const outside = await task(dir.at("repo"), user, "topology", "validate", dir.at("outside.toml"));
  assert.equal(outside.code, 2);
  assert.match(outside.err, /file_unreadable/);
});

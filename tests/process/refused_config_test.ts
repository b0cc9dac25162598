import assert from "node:assert/strict";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { runRole } from "../support/role_process.ts";
import { furnish } from "../support/router_process.ts";
import { routerTable, routerToml, type Section } from "../support/router_toml.ts";
import { stringify } from "smol-toml";

const settings = { members: [8001] };
const table = routerTable(settings);
const [tier] = table["tiers"] as readonly [Section];
const member = (id: string, endpoint: string) => ({ id, endpoint });

/** What is wrong with a file, where its problem is said to be, and under which code. */
const BROKEN: readonly (readonly [what: string, table: Section, path: string, code: string])[] = [
  ["an unknown key", { ...table, extra: 1 }, "extra", "unknown_key"],
  [
    "an unknown key in a tier",
    { ...table, tiers: [{ ...tier, modle: "x" }] },
    "tiers[0].modle",
    "unknown_key",
  ],
  ["a wrong type", { ...table, node: 7 }, "node", "wrong_type"],
  [
    "a wrong type within",
    { ...table, limits: { body_mib: "64" } },
    "limits.body_mib",
    "wrong_type",
  ],
  ["two tiers of one id", { ...table, tiers: [tier, tier] }, "tiers[1].id", "duplicate_id"],
  [
    "two members of one id",
    {
      ...table,
      tiers: [{
        ...tier,
        members: [member("a", "http://127.0.0.1:8001"), member("a", "http://127.0.0.1:8002")],
      }],
    },
    "tiers[0].members[1].id",
    "duplicate_id",
  ],
  ["an alias to nowhere", { ...table, aliases: { x: "none" } }, "aliases.x", "alias_to_nowhere"],
  [
    "17 members",
    {
      ...table,
      tiers: [{
        ...tier,
        members: [...Array(17).keys()].map((i) => member(`m${i}`, `http://127.0.0.1:${8001 + i}`)),
      }],
    },
    "tiers[0].members",
    "out_of_range",
  ],
  [
    "members on two hosts",
    {
      ...table,
      tiers: [{
        ...tier,
        members: [member("a", "http://127.0.0.1:8001"), member("b", "http://192.0.2.7:8001")],
      }],
    },
    "tiers[0].members",
    "members_on_two_hosts",
  ],
];

Deno.test("check and run refuse a broken file: path, code, exit 2, nothing started", async () => {
  await using dir = await tempDir();
  await furnish(dir.path, settings);
  // `check` on all at once, `run` on a few: a process each, and two cores.
  for (const [index, [what, broken, path, code]] of BROKEN.entries()) {
    await Deno.writeTextFile(dir.at("router.toml"), stringify(broken));
    const done = await runRole("router", dir.path, [
      index % 4 === 0 ? "run" : "check",
      "router.toml",
    ]);
    assert.equal(done.code, 2, `${what}: ${done.stderr}`);
    assert.equal(done.stdout, "", what);
    const line = done.stderr.split("\n").find((one) => one.includes(`: ${path}: `));
    assert.ok(line !== undefined, `${what}: ${path} is not named in:\n${done.stderr}`);
    assert.ok(line.startsWith("router.toml:"), what);
    assert.ok(line.includes(`: ${code}: `), `${what}: ${line}`);
  }
});

Deno.test("check names every problem at once, as text and as JSON", async () => {
  await using dir = await tempDir();
  await furnish(dir.path, settings);
  const broken = { ...table, extra: 1, node: 7, aliases: { x: "none" }, tiers: [tier, tier] };
  await Deno.writeTextFile(dir.at("router.toml"), stringify(broken));
  const done = await runRole("router", dir.path, ["check", "--json", "router.toml"]);
  assert.equal(done.code, 2);
  const envelope = JSON.parse(done.stdout) as {
    ok: boolean;
    problems: readonly { path: string; code: string; message: string; file: string }[];
  };
  assert.equal(envelope.ok, false);
  const paths = envelope.problems.map(({ path }) => path).sort();
  assert.deepEqual(paths, ["aliases.x", "extra", "node", "tiers[1].id"]);
});

Deno.test("no file, no TOML, no text: exit 2, and the place in the file", async () => {
  await using dir = await tempDir();
  const absent = await runRole("router", dir.path, ["check", "none.toml"]);
  assert.equal(absent.code, 2);
  assert.match(absent.stderr, /^none\.toml: \$: file_absent: /);
  await Deno.writeTextFile(dir.at("bad.toml"), 'schema = 1\nnode = "x\n');
  const syntax = await runRole("router", dir.path, ["run", "bad.toml"]);
  assert.equal(syntax.code, 2);
  assert.match(syntax.stderr, /^bad\.toml:2(:\d+)?: /);
  await Deno.writeFile(dir.at("bytes.toml"), Uint8Array.of(0xff, 0xfe, 0x00));
  const bytes = await runRole("router", dir.path, ["check", "bytes.toml"]);
  assert.equal(bytes.code, 2);
  assert.match(bytes.stderr, /not_utf8/);
});

Deno.test("the clients file: missing, or readable by others: exit 2, and what to do", async () => {
  await using dir = await tempDir();
  await furnish(dir.path, settings);
  await Deno.remove(dir.at("clients.toml"));
  for (const command of ["check", "run"]) {
    const missing = await runRole("router", dir.path, [command, "router.toml"]);
    assert.equal(missing.code, 2, command);
    assert.match(missing.stderr, /clients\.toml: \$: file_absent: .*tokens add/, command);
  }
  if (Deno.build.os === "windows") return;
  await furnish(dir.path, settings);
  for (const [mode, command] of [[0o644, "run"], [0o640, "check"], [0o606, "check"]] as const) {
    await Deno.chmod(dir.at("clients.toml"), mode);
    const open = await runRole("router", dir.path, [command, "router.toml"]);
    assert.equal(open.code, 2, mode.toString(8));
    assert.match(open.stderr, /clients\.toml: \$: [a-z_]+: .*chmod 600/, mode.toString(8));
  }
});

Deno.test("a port in use: exit 1, and what to do", async () => {
  await using dir = await tempDir();
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  for (const listener of ["data", "admin"]) {
    const listen = { data: "127.0.0.1:0", admin: "127.0.0.1:0" };
    const busy = { ...listen, [listener]: `127.0.0.1:${taken.addr.port}` };
    await furnish(dir.path, { ...settings, top: { listen: busy } });
    const done = await runRole("router", dir.path, ["run", "router.toml"]);
    assert.equal(done.code, 1, done.stderr);
    assert.match(done.stderr, new RegExp(`port_in_use: .*${taken.addr.port}`));
    assert.match(done.stderr, /next: .*another port/);
  }
});

Deno.test("a good file: check says so, exit 0; a wrong command line: exit 2", async () => {
  await using dir = await tempDir();
  await furnish(dir.path, settings);
  assert.ok(routerToml(settings).includes("llm.primary"));
  const good = await runRole("router", dir.path, ["check", "router.toml"]);
  assert.equal(good.code, 0, good.stderr);
  assert.match(good.stdout, /primary.*org\/model.*llm\.primary/);
  assert.match(good.stdout, /sha256 [0-9a-f]{64}/);
  for (const args of [["chekc"], ["check"], ["check", "router.toml", "more"], ["run", "--nope"]]) {
    const wrong = await runRole("router", dir.path, args);
    assert.equal(wrong.code, 2, `${args}: ${wrong.stderr}`);
    assert.notEqual(wrong.stderr, "");
  }
});

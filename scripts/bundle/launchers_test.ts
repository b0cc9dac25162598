import assert from "node:assert/strict";
import { compileFlags, whatItIs } from "../compile.ts";
import { cmdLauncher, flagsOf, shLauncher, STABLE_LAUNCHER } from "./launchers.ts";
import { type Config, permissionsOf, readRoleTasks } from "./role_tasks.ts";
import { withoutPlaces } from "./role_script.ts";
import { DENO_VERSION, programKind, TARGETS } from "./runtimes.ts";
import { describePackage, packagesIn } from "./sbom.ts";
import { readStamp, STAMP, stampOf } from "../../lib/core/version.ts";

const ROOT = new URL("../../", import.meta.url);
const config = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT))) as Config;
const TASK = (more: string) =>
  `root=$PWD && cd "$INIT_CWD" && deno run --config "$root/deno.json" --no-prompt ${more} "$root/roles/x/main.ts"`;

Deno.test("role tasks: every role with a program has its task's permissions, bounded", async () => {
  const tasks = await readRoleTasks(ROOT, config);
  assert.ok(
    ["agent", "operator", "router"].every((role) => tasks.some((one) => one.role === role)),
  );
  const names = (words: readonly string[]) =>
    words.map((word) => /^--allow-[a-z]+=/.exec(word)?.[0]);
  for (const { role, permissions } of tasks) {
    assert.deepEqual(
      names(permissions.linux),
      config.tasks[role]?.command.match(/--allow-[a-z]+=/g),
      role,
    );
    for (const words of Object.values(permissions)) assert.ok(words.length > 0, role);
  }
  const agent = tasks.find(({ role }) => role === "agent")?.permissions;
  assert.ok(agent?.darwin.some((word) => word.includes("vm_stat")), "macOS has a task of its own");
  assert.ok(agent?.windows.some((word) => word.includes("powershell")), "so has Windows");
});

Deno.test("role tasks: what a launcher cannot repeat is refused, not left out", () => {
  assert.deepEqual(permissionsOf("x", TASK('"--allow-read=$INIT_CWD,$HOME/.anvil"')), [
    "--allow-read=$HERE,$HOME/.anvil",
  ]);
  for (
    const more of [
      "-A",
      "--allow-net",
      "--allow-run",
      '"--allow-read=$OTHER"',
      '"--allow-read=$(pwd)"',
      "--unstable-ffi",
      "--allow-read=a;b",
      '"--allow-read=%PATH%"',
    ]
  ) assert.throws(() => permissionsOf("x", TASK(more)), /the x task/, more);
  assert.throws(() => permissionsOf("y", TASK("--allow-sys=uid")), /the y task/);
  assert.throws(() => permissionsOf("x", "deno task other"), /runs no deno/);
});

Deno.test("launchers: the same flags in sh and cmd, and nothing asked, fetched or cached", () => {
  const words = ["--allow-read=$HERE,$HOME/.anvil", "--allow-sys=uid"];
  const task = { role: "x", permissions: { linux: words, darwin: words, windows: words } };
  const flags = flagsOf(task, ["net"], "linux");
  for (
    const name of ["--no-prompt", "--no-remote", "--no-npm", "--cached-only", "--no-code-cache"]
  ) {
    assert.ok(flags.includes(name), name);
  }
  assert.ok(flags.includes("--unstable-net"));
  const sh = shLauncher(task, ["net"], "linux");
  assert.match(sh, /"--allow-read=\$here,\$home\/\.anvil" \\\n/);
  assert.match(sh, /unset .*HTTP_PROXY/);
  const reads = ["--allow-env=PATH,HTTP_PROXY"];
  const reader = { role: "x", permissions: { linux: reads, darwin: reads, windows: reads } };
  assert.doesNotMatch(shLauncher(reader, [], "linux"), /unset .*\bHTTP_PROXY/);
  assert.match(shLauncher(reader, [], "linux"), /unset .*\bHTTPS_PROXY/);
  const cmd = cmdLauncher(task, ["net"]);
  assert.match(cmd, /"--allow-read=%HERE%,%USERPROFILE%\/\.anvil"/);
  assert.ok(cmd.split("\n").every((line) => line === "" || line.endsWith("\r")));
  for (const flag of flags.filter((one) => !one.includes("$"))) {
    assert.ok(sh.includes(`"${flag}"`) && cmd.includes(`"${flag}"`), flag);
  }
});

Deno.test({
  name: "launchers: an account without a home gets one, which the runtime wants",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    const folder = await Deno.makeTempDir();
    try {
      for (const name of ["bin", "runtime"]) await Deno.mkdir(`${folder}/${name}`);
      const task = { role: "x", permissions: { linux: [], darwin: [], windows: [] } };
      await Deno.writeTextFile(`${folder}/bin/anvil-x`, shLauncher(task, [], "linux"));
      await Deno.writeTextFile(`${folder}/runtime/deno`, '#!/bin/sh\necho "home $HOME"\n', {
        mode: 0o755,
      });
      for (const [home, told] of [[undefined, "/var/lib/anvil"], ["/h", "/h"]] as const) {
        const { stdout } = await new Deno.Command("sh", {
          args: [`${folder}/bin/anvil-x`],
          clearEnv: true,
          env: { PATH: "/usr/bin:/bin", ...home === undefined ? {} : { HOME: home } },
          stdin: "null",
        }).output();
        assert.equal(new TextDecoder().decode(stdout), `home ${told}\n`);
      }
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

Deno.test({
  name: "launchers: sh takes them, and the stable one refuses what is no generation",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    const folder = await Deno.makeTempDir();
    try {
      const run = async (...args: string[]) => {
        const command = new Deno.Command("sh", {
          args: [`${folder}/anvil`, ...args],
          stdin: "null",
        });
        const { code, stdout, stderr } = await command.output();
        const text = new TextDecoder();
        return `${code} ${text.decode(stdout)}${text.decode(stderr)}`.trim();
      };
      await Deno.writeTextFile(`${folder}/anvil`, STABLE_LAUNCHER);
      assert.match(await run(), /^2 usage/);
      assert.match(await run("../x"), /^2 usage/);
      assert.match(await run("router"), /^1 anvil: `current` names no generation/);
      await Deno.writeTextFile(`${folder}/current`, "../../etc\n");
      assert.match(await run("router"), /^1 anvil: `current` names no generation/);
      const digest = "a".repeat(64);
      await Deno.writeTextFile(`${folder}/current`, `${digest}\n`);
      assert.match(await run("router"), /^1 anvil: the current generation has no anvil-router/);
      const bin = `${folder}/generations/${digest}/bin`;
      await Deno.mkdir(bin, { recursive: true });
      await Deno.writeTextFile(`${bin}/anvil-router`, '#!/bin/sh\necho "$#:$1"\nexit 7\n', {
        mode: 0o755,
      });
      assert.equal(await run("router", "a b"), "7 1:a b");
      const words = ["--allow-read=$HERE"];
      const permissions = { linux: words, darwin: words, windows: words };
      const script = shLauncher({ role: "x", permissions }, [], "linux");
      await Deno.writeTextFile(`${folder}/x`, script);
      const checked = await new Deno.Command("sh", { args: ["-n", `${folder}/x`] }).output();
      assert.equal(checked.code, 0);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

Deno.test("scripts: no place of the machine that built them stays in them", () => {
  const root = new URL("file:///src/tree/");
  const script = "// ../../home/u/.cache/npm/mirror.test/zod/4.6.7/a.js\n" +
    '"../../home/u/.cache/npm/registry.npmjs.org/@a/b/1.0.0/c.cjs"(x) {}\n';
  const named = withoutPlaces(script, root, "/home/u/.cache/npm");
  assert.equal(named, '// npm/zod/4.6.7/a.js\n"npm/@a/b/1.0.0/c.cjs"(x) {}\n');
  assert.deepEqual(packagesIn([named]), ["@a/b@1.0.0", "zod@4.6.7"]);
  assert.throws(() => withoutPlaces('"/src/tree/lib/a.ts"', root, "/home/u/npm"), /still names/);
});

Deno.test("scripts: a package that deno.lock does not know is refused", async () => {
  await assert.rejects(describePackage("zod@9.9.9", { npm: {} }, "/nowhere"), /not in deno\.lock/);
});

Deno.test("stamp: says the build, and from source says nothing", () => {
  const digest = "a".repeat(64);
  const commit = `${"b".repeat(40)}-dirty`;
  assert.deepEqual(readStamp(STAMP), { build_digest: null });
  assert.deepEqual(readStamp(stampOf(digest, commit, 1_790_000_000)), {
    build_digest: digest,
    commit,
    built_at: "2026-09-21T14:13:20.000Z",
  });
  assert.deepEqual(readStamp(stampOf(digest, null, null)), { build_digest: digest });
  assert.throws(() => readStamp(stampOf(digest, null, -1)), /damaged/);
  assert.throws(() => readStamp(`${STAMP}x`), /damaged/);
});

Deno.test("runtimes: pinned to the deno of this tree, and known by their first bytes", async () => {
  const pinned = /^version=(\S+)/m.exec(
    await Deno.readTextFile(new URL("scripts/deno_path", ROOT)),
  );
  assert.equal(pinned?.[1], DENO_VERSION);
  assert.equal(new Set(TARGETS.map(({ integrity }) => integrity)).size, TARGETS.length);
  assert.equal(programKind(new TextEncoder().encode("#!/bin/sh\n".repeat(20))), null);
  assert.equal(programKind(new Uint8Array(0)), null);
  if (Deno.build.os !== "linux" || Deno.build.arch !== "x86_64") return;
  using file = await Deno.open(Deno.execPath());
  const head = new Uint8Array(4096);
  await file.read(head);
  assert.equal(programKind(head), "linux-x64");
});

Deno.test("compile: the deno CLI in place of our program is noticed", async () => {
  // With DENORT_BIN at the CLI, the compiler makes a file that behaves just so.
  assert.match(await whatItIs(Deno.execPath(), "anvil-router", "a".repeat(64)) ?? "", /not our/);
  assert.deepEqual(
    compileFlags(["--quiet", "--no-npm", "--allow-read=$HERE,$HOME/.anvil,/etc/anvil"]),
    [
      "--no-npm",
      "--allow-read=.,/etc/anvil",
    ],
  );
  assert.deepEqual(compileFlags(["--allow-write=$HOME/.anvil"]), []);
});

// needs: wine x86_64-w64-mingw32-gcc tar gzip
/**
 * What is written in cmd for Windows, read by wine's cmd: launchers of roles, the one of a store, and
 * the file that unpacks itself. deno.exe does not run in wine and PowerShell is not there, so a small
 * program stands in for the runtime, for PowerShell and for Windows' tar: it says what it was given.
 * What PowerShell would cut out of the file and compare is cut out and compared here, by its own words.
 *
 * @module
 */

import assert from "node:assert/strict";
import { manifestDigest } from "../../lib/generation/manifest.ts";
import { sha256 } from "../../lib/host/digest.ts";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { type Content, contentsOfRole, manifestOf } from "../../scripts/bundle/contents.ts";
import { cmdLauncher, STABLE_CMD_LAUNCHER } from "../../scripts/bundle/launchers.ts";
import { TARGETS } from "../../scripts/bundle/runtimes.ts";
import { PUBLISHER, selfExtracting } from "../../scripts/bundle/self_extracting.ts";
import { commandPath, missingFor } from "../../scripts/needs.ts";

const ignore = Deno.build.os !== "linux" || Deno.build.arch !== "x86_64" ||
  missingFor(import.meta.url).length > 0;
const TARGET = TARGETS.find(({ os }) => os === "windows");

/** Behaves by the name it is called: powershell cuts, tar "unpacks", deno publishes or says what it got. */
const STAND_IN = String.raw`
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv) {
  char self[1024], command[4096];
  GetModuleFileNameA(NULL, self, sizeof self);
  char *name = strrchr(self, '\\') + 1;
  if (!_stricmp(name, "powershell.exe")) {
    char *seek = strstr(GetCommandLineA(), "Seek(");
    if (!seek || !strstr(GetCommandLineA(), "Get-FileHash") || getenv("STAND_IN_FAILS")) return 1;
    FILE *in = fopen(getenv("ANVIL_SELF"), "rb");
    sprintf(command, "%s\\payload.tgz", getenv("ANVIL_NEW"));
    FILE *out = fopen(command, "wb");
    if (!in || !out) return 2;
    fseek(in, strtol(seek + 5, NULL, 10), SEEK_SET);
    for (size_t n; (n = fread(command, 1, sizeof command, in)) > 0;) fwrite(command, 1, n, out);
    return fclose(out);
  }
  if (!_stricmp(name, "tar.exe")) {
    sprintf(command, "xcopy /e /i /q /y %s %s >nul", getenv("STAND_IN_TREE"), argv[argc - 1]);
    return system(command);
  }
  if (argc > 2 && strstr(argv[argc - 3], "publish.js")) return !MoveFileA(argv[argc - 2], argv[argc - 1]);
  for (int i = 1; i < argc; i++) printf("[%s]\n", argv[i]);
  const char *seen[] = {"DENO_DIR", "HTTP_PROXY", "NODE_OPTIONS"};
  for (int i = 0; i < 3; i++) if (getenv(seen[i])) printf("sees %s\n", seen[i]);
  return 7;
}
`;

Deno.test({
  name: "windows: launchers and the file that unpacks itself, read by wine's cmd",
  ignore,
  fn: async (t) => {
    assert.ok(TARGET !== undefined);
    await using dir = await tempDir();
    const drive = dir.at("prefix/drive_c");
    const env = {
      ...{ WINEPREFIX: dir.at("prefix"), WINEDEBUG: "-all", HOME: dir.path },
      ...{ PATH: "/usr/bin:/bin", DENO_DIR: "C:\\x", HTTP_PROXY: "x", NODE_OPTIONS: "x" },
      ...{ ANVIL_UNPACKED: "C:\\cache", STAND_IN_TREE: "C:\\tree" },
    };
    const wine = async (
      cwd: string,
      args: readonly string[],
      more: Record<string, string> = {},
    ) => {
      const { code, stdout, stderr } = await new Deno.Command(commandPath("wine") ?? "", {
        args: ["cmd", "/d", "/c", ...args],
        ...{ cwd, clearEnv: true, env: { ...env, ...more }, stdin: "null" },
      }).output();
      const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes).replaceAll("\r", "");
      return { code, out: text(stdout), err: text(stderr) };
    };
    assert.equal((await wine("/", ["exit 0"])).code, 0);
    await Deno.writeTextFile(dir.at("stand_in.c"), STAND_IN);
    const compiled = await new Deno.Command("x86_64-w64-mingw32-gcc", {
      args: ["-O1", "-o", dir.at("stand_in.exe"), dir.at("stand_in.c")],
    }).output();
    assert.equal(compiled.code, 0, new TextDecoder().decode(compiled.stderr));

    const words = ["--allow-read=$HERE,$HOME/.anvil", "--allow-sys=uid"];
    const task = { role: "router", permissions: { linux: words, darwin: words, windows: words } };
    const put = async (path: string, bytes: Uint8Array | string) => {
      await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
      await (typeof bytes === "string"
        ? Deno.writeTextFile(path, bytes)
        : Deno.writeFile(path, bytes));
    };
    const standIn = await Deno.readFile(dir.at("stand_in.exe"));
    const contents = new Map<string, Content>();
    const add = (path: string, bytes: Uint8Array | string) =>
      contents.set(path, {
        bytes: typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes,
        executable: false,
      });
    add("runtime/deno.exe", standIn);
    add("bin/anvil-router.cmd", cmdLauncher(task, ["net"]));
    add("lib/anvil-router.js", "// the program\n");
    add(PUBLISHER, "// the publisher\n");
    add("LICENSE", "MIT\n");
    const given = (out: string) => [...out.matchAll(/^\[(.*)\]$/gm)].map(([, word]) => word);

    await t.step(
      "a role's launcher: flags, arguments, exit code, a clean environment",
      async () => {
        for (const [path, { bytes }] of contents) await put(`${drive}/app/${path}`, bytes);
        await Deno.mkdir(`${drive}/work`);
        const ended = await wine(`${drive}/work`, [
          "C:\\app\\bin\\anvil-router.cmd",
          ...["run", "a b.toml", "--by=x,y"],
        ]);
        assert.equal(ended.code, 7, ended.err);
        const got = given(ended.out);
        assert.deepEqual(got.slice(-3), ["run", "a b.toml", "--by=x,y"]);
        assert.ok(got.includes("--no-prompt") && got.includes("--unstable-net"), ended.out);
        assert.ok(got.some((word) => /^--allow-read=C:\\work,/.test(word ?? "")), ended.out);
        assert.match(got.at(-4) ?? "", /\\lib\\anvil-router\.js$/);
        assert.ok(!ended.out.includes("sees "), ended.out);
        await Deno.mkdir(`${drive}/a,b`);
        const comma = await wine(`${drive}/a,b`, ["C:\\app\\bin\\anvil-router.cmd"]);
        assert.deepEqual([comma.code, given(comma.out)], [2, []]);
        assert.match(comma.err, /comma/);
      },
    );

    await t.step("a store's launcher: the current generation, or why not", async () => {
      await put(`${drive}/store/anvil.cmd`, STABLE_CMD_LAUNCHER);
      const anvil = (...args: string[]) => wine(`${drive}/work`, ["C:\\store\\anvil.cmd", ...args]);
      assert.match((await anvil()).err, /usage: anvil ROLE/);
      assert.equal((await anvil("..\\x")).code, 2);
      assert.match((await anvil("router")).err, /names no generation/);
      for (const wrong of ["..\\..\\x\n", "\n", "G\n"]) {
        await put(`${drive}/store/current`, wrong);
        assert.match((await anvil("router")).err, /names no generation/, wrong);
      }
      const digest = "a".repeat(64);
      await put(`${drive}/store/current`, `${digest}\n`);
      assert.match((await anvil("router")).err, /has no anvil-router/);
      for (const [path, { bytes }] of contents) {
        await put(`${drive}/store/generations/${digest}/${path}`, bytes);
      }
      const ended = await anvil("router", "run", "a b.toml", "--by=x,y");
      assert.equal(ended.code, 7, ended.err);
      assert.deepEqual(given(ended.out).slice(-3), ["run", "a b.toml", "--by=x,y"]);
    });

    await t.step(
      "the file that unpacks itself: what is behind its text, and what its text does",
      async () => {
        const own = contentsOfRole(contents, "router");
        const build = { digest: "b".repeat(64), commit: null };
        const manifest = manifestOf({ build }, TARGET, ["router"], own);
        const bytes = await selfExtracting("router", TARGET, manifest, own, new Map());
        assert.deepEqual(await selfExtracting("router", TARGET, manifest, own, new Map()), bytes);
        const text = new TextDecoder("latin1").decode(bytes);
        const offset = Number(/Seek\((\d+),'Begin'\)/.exec(text)?.[1]);
        const payload = bytes.subarray(offset);
        assert.ok(text.slice(0, offset).endsWith("exit /b 1\r\n"));
        assert.equal(/-ne '([0-9a-f]{64})'/.exec(text)?.[1], sha256(payload).toHex());
        // PowerShell's line: quotes and brackets close, and nothing of it means something to cmd.
        const line = /-Command "([^"]*)"\r\n/.exec(text)?.[1] ?? "";
        assert.equal(line.split("'").length % 2, 1, line);
        for (const [open, close] of ["()", "[]", "{}"]) {
          assert.equal(line.split(open ?? "").length, line.split(close ?? "").length, line);
        }
        assert.doesNotMatch(line, /[%^\r\n]/);
        await put(dir.at("payload.tgz"), payload);
        await Deno.mkdir(`${drive}/tree`);
        const untar = ["-xzf", dir.at("payload.tgz"), "-C", `${drive}/tree`];
        assert.ok((await new Deno.Command("tar", { args: untar }).output()).success);
        for (const [path, { bytes: wanted }] of own) {
          assert.deepEqual(await Deno.readFile(`${drive}/tree/${path}`), wanted, path);
        }

        await put(`${drive}/anvil-router.cmd`, bytes);
        const system = `${drive}/windows/system32`;
        await put(`${system}/WindowsPowerShell/v1.0/powershell.exe`, standIn);
        await put(`${system}/tar.exe`, standIn);
        const start = (more: Record<string, string> = {}) =>
          wine(`${drive}/work`, ["C:\\anvil-router.cmd", "run", "a b.toml"], more);
        const cached = () => [...Deno.readDirSync(`${drive}/cache/anvil`)].map(({ name }) => name);
        const refused = await start({ STAND_IN_FAILS: "1" });
        assert.match(refused.err, /what was unpacked is not what was packed/);
        assert.deepEqual([refused.code, cached()], [1, []]);
        for (let time = 0; time < 2; time++) {
          const ended = await start(time === 0 ? {} : { STAND_IN_FAILS: "not asked again" });
          assert.equal(ended.code, 7, ended.err);
          assert.deepEqual(given(ended.out).slice(-2), ["run", "a b.toml"]);
          assert.deepEqual(cached(), [manifestDigest(sha256, manifest)]);
        }
        const comma = await start({ ANVIL_UNPACKED: "C:\\a,b" });
        assert.match(comma.err, /comma/);
      },
    );
  },
});

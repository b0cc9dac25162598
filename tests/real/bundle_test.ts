// needs: npm tar gzip unshare

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { bundle } from "../../scripts/bundle.ts";
import { TARGETS } from "../../scripts/bundle/runtimes.ts";
import { missingFor } from "../../scripts/needs.ts";
import { readManifest } from "../../lib/generation/manifest.ts";
import { switchTo } from "../../lib/generation/pointer.ts";
import { stageArchive, stageFiles, type Store } from "../../lib/generation/store.ts";
import { sha256 } from "../../lib/host/digest.ts";
import { systemDirectories } from "../../lib/host/directories.ts";
import { systemFiles } from "../../lib/host/files.ts";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { startEngine } from "../fixtures/engine.ts";
import { ATTEMPTS, endsOf, PROBE } from "../support/permission_probe.ts";
import { furnish, RouterProcess } from "../support/router_process.ts";
import { ask, askBody, CHAT, StreamReader } from "../support/stream_reader.ts";

const ROOT = new URL("../../", import.meta.url);
const STORE = fileURLToPath(new URL(".tools/runtimes", ROOT));
const COMMIT = "c".repeat(40);
const BUILT_AT = 1_790_000_000;
const NAME = "anvil-0.1.0-linux-x64";
const ignore = Deno.build.os !== "linux" || Deno.build.arch !== "x86_64" ||
  missingFor(import.meta.url).length > 0;
const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function run(
  program: string,
  args: readonly string[],
  options: Omit<Deno.CommandOptions, "args"> = {},
): Promise<Ended> {
  const signal = AbortSignal.timeout(60_000);
  const command = new Deno.Command(program, { stdin: "null", signal, ...options, args: [...args] });
  const { code, stdout, stderr } = await command.output();
  return { code, out: text(stdout), err: text(stderr) };
}

/** The environment of somebody who has set whatever acts on a runtime. */
const HOSTILE = {
  DENO_SERVE_ADDRESS: "tcp:127.0.0.1:9",
  DENO_SERVE_AUTOMATIC_COMPRESSION: "1",
  DENO_DIR: "/nonexistent/deno",
  DENO_V8_FLAGS: "--no-such-flag",
  NODE_OPTIONS: "--require /nonexistent.js",
  HTTP_PROXY: "http://127.0.0.1:9",
  http_proxy: "http://127.0.0.1:9",
};

Deno.test({
  name: "bundle: linux-x64, built and run",
  ignore,
  fn: async (t) => {
    await using dir = await tempDir();
    const out = dir.at("out");
    const targets = TARGETS.filter(({ name }) => name === "linux-x64");
    const files = ["router"];
    const revision = { commit: COMMIT, builtAt: BUILT_AT };
    const made = await bundle({ root: ROOT, targets, out, store: STORE, files, revision });
    const folder = `${out}/${NAME}`;
    const [named] = made;
    assert.ok(named !== undefined && named.path === `${NAME}/`);

    await t.step("every role says which build it is, whatever the environment", async () => {
      const digests = new Set<unknown>();
      for await (const { name } of Deno.readDir(`${folder}/bin`)) {
        const env = { ...HOSTILE, PATH: Deno.env.get("PATH") ?? "", HOME: dir.path };
        const args = ["--version", "--json"];
        const ended = await run(`${folder}/bin/${name}`, args, { env, clearEnv: true, cwd: "/" });
        assert.equal(ended.code, 0, ended.err);
        const said = JSON.parse(ended.out);
        assert.deepEqual([said.name, said.commit, said.built_at, said.deno], [
          name,
          COMMIT,
          "2026-09-21T14:13:20.000Z",
          "2.9.6",
        ]);
        digests.add(said.build_digest);
      }
      const manifest = JSON.parse(await Deno.readTextFile(`${folder}/manifest.json`));
      assert.deepEqual([...digests], [manifest.build.digest]);
    });

    await t.step("a build elsewhere, without a network, has the same digest", async () => {
      const tree = dir.at("some/where/else");
      await Deno.mkdir(tree, { recursive: true });
      const copy = 'git ls-files -co --exclude-standard | tar -cf - -T - | tar -xf - -C "$1"';
      const copied = await run("sh", ["-c", copy, "sh", tree], { cwd: ROOT });
      assert.equal(copied.code, 0, copied.err);
      const again = dir.at("again");
      const build = (store: string) =>
        run("unshare", [
          ...["--net", Deno.execPath(), "run", "-A", "--frozen", `${tree}/scripts/bundle.ts`],
          ...[
            "--platform",
            "linux-x64",
            "--only",
            "folder",
            "--commit",
            COMMIT,
            "--built-at",
            `${BUILT_AT}`,
          ],
          ...["--out", again, "--store", store],
        ], { cwd: tree, env: { npm_config_fetch_retries: "0", npm_config_cache: dir.at("npm") } });
      const second = await build(STORE);
      assert.equal(second.code, 0, second.err);
      const compared = await run("diff", ["-r", folder, `${again}/${NAME}`]);
      assert.equal(compared.code, 0, compared.out);
      assert.ok(second.out.includes(named.digest.slice(0, 16)), second.out);
      // A runtime that is not the pinned one is not taken, and none can be fetched.
      const store = dir.at("store");
      await Deno.mkdir(store);
      await Deno.writeTextFile(`${store}/deno-linux-x64-glibc-2.9.6.tgz`, "other bytes");
      const third = await build(store);
      assert.equal(third.code, 1);
      assert.match(third.err, /could not fetch @deno\/linux-x64-glibc/);
    });

    await t.step(
      "folder and archive become one generation, which the stable launcher starts",
      async () => {
        const ports = { files: systemFiles, directories: systemDirectories, sha256 };
        const store: Store = { ports, root: dir.at("anvil"), keepsModes: true };
        const bytes = await Deno.readFile(`${folder}/manifest.json`);
        const read = readManifest(bytes);
        assert.ok(read.kind === "ok");
        const contentOf = (path: string) => Deno.readFile(`${folder}/${path}`);
        const staged = await stageFiles(store, read.manifest, contentOf);
        assert.ok(
          staged.kind === "stored" && staged.digest === named.digest,
          JSON.stringify(staged),
        );
        const other: Store = { ...store, root: dir.at("other") };
        using archive = await Deno.open(`${out}/${NAME}.tar`);
        const second = await stageArchive(other, archive.readable, { digest: named.digest });
        assert.ok(second.kind === "stored" && !second.present, JSON.stringify(second));
        await switchTo(store, named.digest);
        await Deno.copyFile(`${folder}/launch/anvil`, `${store.root}/anvil`);
        const ended = await run(`${store.root}/anvil`, ["operator", "--version"]);
        assert.equal(ended.out, "anvil-operator 0.1.0\n", ended.err);
      },
    );

    await t.step("the sums are right, and the SBOM names what is in it", async () => {
      const sums = await run("sha256sum", ["--strict", "-c", "SHA256SUMS"], { cwd: out });
      assert.equal(sums.code, 0, sums.out);
      assert.equal(sums.out.trim().split("\n").length, 2);
      const sbom = JSON.parse(await Deno.readTextFile(`${folder}/sbom.cdx.json`));
      const names = sbom.components.map((one: { readonly name: string }) => one.name);
      assert.ok(names.includes("zod") && names.includes("@deno/linux-x64-glibc"), `${names}`);
      assert.ok(!names.includes("fast-check"), "a package of the tests is in the bundle");
    });

    await t.step(
      "a request goes through the bundled router, whatever the environment",
      async () => {
        const engine = await startEngine();
        try {
          await furnish(dir.at("r1"), { members: [engine.port] });
          const command = new Deno.Command(`${folder}/bin/anvil-router`, {
            args: ["run", "router.toml"],
            cwd: dir.at("r1"),
            clearEnv: true,
            env: { ...HOSTILE, PATH: Deno.env.get("PATH") ?? "", HOME: dir.path, NO_COLOR: "1" },
            stdin: "null",
            stdout: "piped",
            stderr: "piped",
          });
          await using router = await RouterProcess.start(dir.at("r1"), { command });
          const body = askBody({ stream: true, max_tokens: 4 });
          const reader = await StreamReader.open(router.port, ask(CHAT, body));
          const { bytes } = await reader.rest();
          reader.close();
          assert.match(text(bytes), /data: \[DONE\]\n\n/);
          router.kill("SIGTERM");
          assert.equal((await router.finished).code, 0);
        } finally {
          await engine.close();
        }
      },
    );

    await t.step("a taken-over router may do in a bundle what its task grants", async () => {
      const taken = dir.at("taken");
      for (const part of ["lib", "bin"]) await Deno.mkdir(`${taken}/${part}`, { recursive: true });
      await Deno.symlink(`${folder}/runtime`, `${taken}/runtime`);
      await Deno.copyFile(`${folder}/bin/anvil-router`, `${taken}/bin/anvil-router`);
      await Deno.writeTextFile(`${taken}/lib/anvil-router.js`, PROBE);
      const home = dir.at("granted/home");
      await Deno.mkdir(home, { recursive: true });
      await Deno.writeTextFile(`${home}/here`, "ours");
      await Deno.writeTextFile(dir.at("granted/outside"), "secret");
      const ended = await new Deno.Command(`${taken}/bin/anvil-router`, { cwd: home }).output();
      assert.deepEqual(endsOf(ended.stdout), ATTEMPTS, text(ended.stderr));
      // From the root folder, where a service starts, nothing more than its own folders is granted.
      const root = await new Deno.Command(`${taken}/bin/anvil-router`, { cwd: "/" }).output();
      const { "read outside": passwd, "read here": here } = endsOf(root.stdout);
      assert.deepEqual([passwd, here], ["NotCapable", "NotCapable"], text(root.stderr));
    });

    await t.step(
      "the file that unpacks itself: once, at once, killed, cut, elsewhere",
      async () => {
        const file = `${out}/anvil-router-0.1.0-linux-x64`;
        const start = (home: string, program = file) =>
          run(program, ["--version"], { env: { HOME: dir.at(home) } });
        const trees = (home: string) =>
          [...Deno.readDirSync(`${dir.at(home)}/.cache/anvil`)].map(({ name }) => name);
        const all = await Promise.all(["h1", "h1"].map((home) => start(home)));
        for (const { code, out, err } of all) {
          assert.deepEqual([code, out], [0, "anvil-router 0.1.0\n"], err);
        }
        assert.equal(trees("h1").length, 1);
        assert.match(trees("h1")[0] ?? "", /^[0-9a-f]{64}$/);
        // Killed while it unpacks: nothing has a name, and the next start works.
        const child = new Deno.Command("setsid", {
          args: [file, "--version"],
          env: { HOME: dir.at("h2") },
          stdout: "null",
          stderr: "null",
        }).spawn();
        while (
          !await Deno.stat(`${dir.at("h2")}/.cache/anvil`).then(() => true, () => false)
        ) {
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
        await run("kill", ["-KILL", "--", `-${child.pid}`]);
        await child.status;
        assert.equal(trees("h2").filter((name) => /^[0-9a-f]{64}$/.test(name)).length, 0);
        assert.equal((await start("h2")).out, "anvil-router 0.1.0\n");
        // Cut, or with one byte changed: refused, and nothing stays.
        const bytes = await Deno.readFile(file);
        await Deno.writeFile(dir.at("cut"), bytes.subarray(0, bytes.length - 100_000), {
          mode: 0o755,
        });
        bytes[bytes.length - 5000] = (bytes[bytes.length - 5000] as number) ^ 1;
        await Deno.writeFile(dir.at("changed"), bytes, { mode: 0o755 });
        for (const program of ["cut", "changed"]) {
          const ended = await start("h3", dir.at(program));
          assert.equal(ended.code, 1, ended.err);
          assert.match(ended.err, /anvil-router: (could not unpack|what was unpacked)/);
          assert.deepEqual(trees("h3"), []);
        }
        const homeless = await run(file, ["--version"], {
          clearEnv: true,
          env: { PATH: "/usr/bin:/bin" },
        });
        assert.equal(homeless.code, 1);
        assert.match(homeless.err, /set HOME or ANVIL_UNPACKED/);
      },
    );
  },
});

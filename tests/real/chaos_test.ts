// needs: unshare ip tc mount ss ps curl stat setsid faketime
/**
 * One short walk of chaos, so that what walks for minutes elsewhere is tried here too.
 *
 * @module
 */

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { missingFor } from "../../scripts/needs.ts";
import { until } from "../support/wait.ts";

const MAIN = fileURLToPath(new URL("../chaos/main.ts", import.meta.url));
const ignore = Deno.build.os !== "linux" || Deno.uid() !== 0 ||
  missingFor(import.meta.url).length > 0;

Deno.test({
  name: "real, chaos: a walk of one seed on one host, without a violation",
  ignore,
  async fn() {
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "-A", "--frozen", "--cached-only", "--quiet", MAIN],
        ...["--seed", "real-1", "--minutes", "0.4", "--hosts", "1", "--quiet"],
      ],
      stdin: "null",
    }).output();
    const text = new TextDecoder();
    const said = text.decode(stdout) + text.decode(stderr);
    if (code === 3) return console.warn(`skipped: ${said.trim()}`);
    assert.equal(code, 0, said);
    assert.match(said, /^chaos seed real-1: no violation/m);
  },
});

Deno.test({
  name: "real, chaos: a walk that is stopped leaves no process and no file",
  ignore,
  async fn() {
    const tmp = await Deno.makeTempDir({ prefix: "stop-" });
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--frozen", "--cached-only", "--quiet", MAIN, "--seed", "stopped"],
      env: { TMPDIR: tmp },
      stdin: "null",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    let said = "";
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      said += read.value;
      // Its world is up: routers, agents and engines run.
      if (said.includes("proven its first")) child.kill("SIGTERM");
    }
    const { code } = await child.status;
    if (code === 3) return console.warn(`skipped: ${said.trim()}`);
    assert.equal(code, 137, said);
    assert.deepEqual(await Array.fromAsync(Deno.readDir(tmp)), []);
    // The kernel ends what is inside, and that takes a moment.
    await until("nothing of it runs", async () => (await namingIt(tmp)).length === 0, 20_000);
    await Deno.remove(tmp);
  },
});

/** Processes in whose environment or command line `text` stands. */
async function namingIt(text: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { name } of Deno.readDir("/proc")) {
    if (!/^[0-9]+$/.test(name) || Number(name) === Deno.pid) continue;
    for (const file of ["environ", "cmdline"]) {
      const content = await Deno.readTextFile(`/proc/${name}/${file}`).catch(() => "");
      if (content.includes(text)) found.push(`${name} ${file}`);
    }
  }
  return found;
}

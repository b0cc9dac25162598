// needs: systemd-analyze
import assert from "node:assert/strict";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { missingFor } from "../../scripts/needs.ts";

const missing = missingFor(import.meta.url);
const UNITS = new URL("../../fleet/units/systemd/", import.meta.url);

/** What systemd has to say about a unit, with a program that is there in place of ours. */
async function verify(path: string, more: readonly string[]): Promise<string> {
  await using dir = await tempDir();
  const copy = dir.at(path.split("/").at(-1) ?? "");
  const beside = path.replace(/\.timer$/, ".service"); // what a timer starts has to be there
  for (const name of [path, beside]) {
    const text = await Deno.readTextFile(new URL(name, UNITS));
    const bare = text.replaceAll(/\/usr\/bin\/anvil-\w+/g, "/bin/true");
    await Deno.writeTextFile(dir.at(name.split("/").at(-1) ?? ""), bare);
  }
  const { stdout, stderr } = await new Deno.Command("systemd-analyze", {
    args: ["verify", "--man=no", ...more, copy],
    env: { XDG_RUNTIME_DIR: dir.path },
  }).output();
  const decoder = new TextDecoder();
  return `${decoder.decode(stdout)}${decoder.decode(stderr)}`.split("\n")
    // What it finds wrong with other units of this machine is not ours.
    .filter((line) => line.includes("anvil-")).join("\n");
}

Deno.test({
  name: "real, units: systemd finds nothing wrong with any of them",
  ignore: missing.length > 0,
  fn: async () => {
    let seen = 0;
    for (const [folder, more] of [["", []], ["user/", ["--user"]]] as const) {
      for (const { name, isFile } of Deno.readDirSync(new URL(folder, UNITS))) {
        if (!isFile) continue;
        assert.equal(await verify(`${folder}${name}`, more), "", `${folder}${name}`);
        seen++;
      }
    }
    assert.equal(seen, 21);
  },
});

Deno.test({
  name: "real, units: systemd's own measure of what the agent is exposed to",
  ignore: missing.length > 0,
  fn: async () => {
    const path = new URL("anvil-agent.service", UNITS).pathname;
    const { code, stdout } = await new Deno.Command("systemd-analyze", {
      args: ["security", "--no-pager", "--offline=true", "--threshold=30", path],
    }).output();
    assert.equal(code, 0, new TextDecoder().decode(stdout).slice(-600));
  },
});

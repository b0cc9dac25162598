import assert from "node:assert/strict";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { ATTEMPTS, endsOf, PROBE } from "../support/permission_probe.ts";
import { roleCommand, roleWords } from "../support/role_process.ts";

Deno.test("the router task's flags: what a taken-over router could not do", async () => {
  await using dir = await tempDir();
  await Deno.mkdir(dir.at("home"));
  await Deno.writeTextFile(dir.at("outside"), "secret");
  await Deno.writeTextFile(dir.at("home/here"), "ours");
  await Deno.writeTextFile(dir.at("home/probe.js"), PROBE);
  const folder = dir.at("home");
  const command = await roleCommand("router", folder, [], `${folder}/probe.js`);
  const { stdout, stderr } = await command.output();
  assert.deepEqual(endsOf(stdout), ATTEMPTS, new TextDecoder().decode(stderr));
  assert.equal(await Deno.readTextFile(dir.at("outside")), "secret");
});

Deno.test("the router task grants nothing without bounds", async () => {
  const words = await roleWords("router", "/srv/anvil");
  for (const name of ["-A", "--allow-all", "--allow-run", "--allow-env", "--allow-ffi"]) {
    assert.equal(words.some((word) => word === name || word.startsWith(`${name}=`)), false, name);
  }
  for (const name of ["--allow-net", "--allow-read", "--allow-write", "--allow-sys"]) {
    assert.equal(words.includes(name), false, `${name} is unbounded`);
    assert.equal(words.filter((word) => word.startsWith(`${name}=`)).length, 1, name);
  }
  for (const name of ["--no-prompt", "--no-remote", "--cached-only", "--frozen"]) {
    assert.ok(words.includes(name), name);
  }
});

import assert from "node:assert/strict";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { roleCommand, roleWords } from "../support/role_process.ts";

/** Tries everything a taken-over router would, and prints how each attempt ended. */
const PROBE = `
const tries = {
  "read outside": () => Deno.readTextFile("/etc/passwd"),
  "read up": () => Deno.readTextFile("../outside"),
  "read /proc": () => Deno.readTextFile("/proc/self/environ"),
  "write outside": () => Deno.writeTextFile("/tmp/anvil-permissions-probe", "x"),
  "write up": () => Deno.writeTextFile("../outside", "x"),
  "write /etc/anvil": () => Deno.writeTextFile("/etc/anvil/x", "x"),
  "run": () => new Deno.Command("sh", { args: ["-c", "true"] }).output(),
  "run itself": () => new Deno.Command(Deno.execPath()).output(),
  "connect to a public address": () => Deno.connect({ hostname: "192.0.2.1", port: 80 }),
  "connect by name": () => Deno.connect({ hostname: "example.org", port: 80 }),
  "fetch a public address": () => fetch("http://192.0.2.1/"),
  "env": () => Promise.resolve(Deno.env.get("HOME")),
  "all env": () => Promise.resolve(Deno.env.toObject()),
  "host name": () => Promise.resolve(Deno.hostname()),
  "ffi": () => Promise.resolve(Deno.dlopen("libc.so.6", {})),
  "link out": () => Deno.symlink("/etc/passwd", "link"),
  "import from afar": () => import("https://192.0.2.1/x.ts"),
  "read here": () => Deno.readTextFile("here"),
  "write here": () => Deno.writeTextFile("written", "x"),
  "listen": async () => Deno.listen({ hostname: "127.0.0.1", port: 0 }).close(),
};
for (const [name, attempt] of Object.entries(tries)) {
  try {
    await attempt();
    console.log(name + ": done");
  } catch (error) {
    console.log(name + ": " + error.name);
  }
}
`;

Deno.test("the router task's flags: what a taken-over router could not do", async () => {
  await using dir = await tempDir();
  await Deno.mkdir(dir.at("home"));
  await Deno.writeTextFile(dir.at("outside"), "secret");
  await Deno.writeTextFile(dir.at("home/here"), "ours");
  await Deno.writeTextFile(dir.at("home/probe.js"), PROBE);
  const folder = dir.at("home");
  const command = await roleCommand("router", folder, [], `${folder}/probe.js`);
  const { stdout, stderr } = await command.output();
  const text = new TextDecoder();
  const ends = Object.fromEntries(
    text.decode(stdout).trim().split("\n").map((line) => line.split(": ") as [string, string]),
  );
  const { "read here": read, "write here": write, listen, "import from afar": far, ...denied } =
    ends;
  assert.deepEqual([read, write, listen], ["done", "done", "done"], text.decode(stderr));
  assert.equal(far, "TypeError", "a module from afar was loaded");
  assert.equal(Object.keys(denied).length, 16);
  for (const [name, end] of Object.entries(denied)) assert.equal(end, "NotCapable", name);
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

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { type TempDir, tempDir } from "../../lib/testing/temp_dir.ts";
import { fleetToml, SimulatedNode } from "../fixtures/node.ts";
import { roleCommand } from "../support/role_process.ts";
import { until } from "../support/wait.ts";

const NARROW = fileURLToPath(new URL("../../lib/host/narrow.ts", import.meta.url));

async function folder(node: SimulatedNode): Promise<TempDir> {
  const dir = await tempDir();
  await Deno.writeTextFile(dir.at("topology.toml"), fleetToml([["a", node.port]]));
  await Deno.mkdir(dir.at("tokens"), { mode: 0o700 });
  await Deno.writeTextFile(dir.at("tokens/a-dashboard"), "simulated-token", { mode: 0o600 });
  return dir;
}

const words = (port: number, ...more: readonly string[]) => [
  ...["dashboard", "--topology", "topology.toml", "--tokens", "tokens", "--port", `${port}`],
  ...more,
];

/** The first line that a process prints, and the rest of its output at its end. */
async function firstLine(child: Deno.ChildProcess): Promise<string> {
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("\n")) {
    const { value, done } = await reader.read();
    if (done) break;
    text += value;
  }
  void (async () => {
    while (!(await reader.read()).done);
  })();
  return text;
}

Deno.test("dashboard: prints its address, serves with the operator's permissions, ends on SIGTERM", async () => {
  await using node = new SimulatedNode("a");
  await using dir = await folder(node);
  await using child = (await roleCommand("operator", dir.path, words(0))).spawn();
  const url = (await firstLine(child)).trimEnd();
  assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/$/);
  await until("the page tells of the host", async () => {
    return (await (await fetch(url)).text()).includes("1 answer");
  });
  // A reader that holds on does not keep it from ending.
  const stream = await fetch(`${url}updates?since=x`);
  const reader = stream.body?.getReader();
  await reader?.read();
  child.kill("SIGTERM");
  const { code } = await child.status;
  const err = await new Response(child.stderr).text();
  assert.deepEqual([code, err], [0, ""]);
  await reader?.cancel().catch(() => {});
  await assert.rejects(fetch(url));
});

Deno.test("dashboard: --json is one envelope; a port that is taken is a refusal with its code", async () => {
  await using node = new SimulatedNode("a");
  await using dir = await folder(node);
  await using child = (await roleCommand("operator", dir.path, words(0, "--json"))).spawn();
  const { ok, data, problems } = JSON.parse(await firstLine(child));
  assert.deepEqual([ok, data.hosts, problems], [true, 1, []]);
  assert.match(data.fingerprint, /^[0-9a-f]{64}$/);
  const port = Number(new URL(data.url).port);
  const second = await (await roleCommand("operator", dir.path, words(port, "--json"))).output();
  const told = JSON.parse(new TextDecoder().decode(second.stdout));
  assert.deepEqual([second.code, told.ok, told.problems[0].code], [1, false, "port_in_use"]);
  child.kill("SIGINT");
  assert.equal((await child.status).code, 0);
  await child.stderr.cancel();
});

Deno.test("dashboard: what a taken-over one could not do, whatever it was started with", async () => {
  await using dir = await tempDir();
  await Deno.writeTextFile(
    dir.at("probe.js"),
    `import { narrowToReading } from ${JSON.stringify(NARROW)};
const ends = async () => {
  const told = [];
  for (const [name, act] of [
    ["write", () => Deno.writeTextFile("written", "x")],
    ["ssh", () => new Deno.Command("ssh", { args: ["-V"], clearEnv: true }).output()],
    ["git", () => new Deno.Command("git", { args: ["--version"], clearEnv: true }).output()],
    ["read", () => Deno.readTextFile("probe.js")],
  ]) {
    try { await act(); told.push(name); } catch (error) {
      if (!(error instanceof Deno.errors.NotCapable)) told.push(name);
    }
  }
  return told;
};
const all = [await ends()];
await narrowToReading(["ssh"]);
all.push(await ends());
await narrowToReading("all");
all.push(await ends());
console.log(JSON.stringify(all));
`,
  );
  const command = await roleCommand("operator", dir.path, [], dir.at("probe.js"));
  const { stdout, stderr } = await command.output();
  assert.deepEqual(
    JSON.parse(new TextDecoder().decode(stdout) || "null"),
    [["write", "ssh", "git", "read"], ["git", "read"], ["read"]],
    new TextDecoder().decode(stderr),
  );
});

Deno.test("dashboard: its own task writes nothing, starts git alone, and is enough", async () => {
  const { tasks } = JSON.parse(
    await Deno.readTextFile(new URL("../../deno.json", import.meta.url)),
  ) as { readonly tasks: Readonly<Record<string, { readonly command: string }>> };
  const wide = tasks["operator"]?.command ?? "";
  const narrow = tasks["dashboard"]?.command ?? "";
  const flag = (command: string, name: string) =>
    new RegExp(`--allow-${name}=[^"\\s]*`).exec(command)?.[0] ?? null;
  for (const name of ["net", "env"]) assert.equal(flag(narrow, name), flag(wide, name));
  const reads = (command: string) => flag(command, "read")?.split("=")[1]?.split(",") ?? [];
  assert.deepEqual(reads(narrow), ["$INIT_CWD", "$HOME/.anvil", "/etc/anvil"]);
  for (const path of reads(narrow)) assert.ok(reads(wide).includes(path), path);
  for (const name of ["write", "sys", "ffi"]) assert.equal(flag(narrow, name), null, name);
  assert.equal(flag(narrow, "run"), "--allow-run=git");
  assert.ok(!/ -A | --allow-(?:all|net|read|run|env)[ "]/.test(narrow));

  await using node = new SimulatedNode("a");
  await using dir = await folder(node);
  const root = fileURLToPath(new URL("../../", import.meta.url)).replace(/\/$/, "");
  const args = [...narrow.slice(narrow.indexOf(" deno run ") + 6).matchAll(/"([^"]*)"|(\S+)/g)]
    .map((match) => (match[1] ?? match[2] ?? "").replaceAll("$root", root))
    .map((word) => word.replaceAll("$INIT_CWD", dir.path).replaceAll("$HOME", dir.path));
  await using child = new Deno.Command(Deno.execPath(), {
    args: [...args, ...words(0).slice(1)],
    cwd: dir.path,
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const url = (await firstLine(child)).trimEnd();
  await until("the page tells of the host", async () => {
    return (await (await fetch(url)).text()).includes("1 answer");
  });
  child.kill("SIGTERM");
  assert.deepEqual([(await child.status).code, await new Response(child.stderr).text()], [0, ""]);
});

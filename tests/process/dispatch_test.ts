import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { type NodeScript, SimulatedNode } from "../fixtures/node.ts";
import { TOKENS } from "../support/agent.ts";
import { CANARY, type DispatchRig, dispatchRig, toldOf } from "../support/dispatch.ts";
import { roleCommand, roleWords } from "../support/role_process.ts";
import { until, within } from "../support/wait.ts";

const CHILD = fileURLToPath(new URL("../crash/agent_child.ts", import.meta.url));
const LIGHT = ["op", "call", "lamp.light", "--input", '{"lamp":"hall"}', "--target", "all"];

/** anvil-operator as a process with the flags of its task; `during` gets its pid. */
async function operatorProcess(
  rig: DispatchRig,
  args: readonly string[],
  during: (child: Deno.ChildProcess) => Promise<void> = () => Promise.resolve(),
) {
  const command = await roleCommand("operator", rig.folder.path, [...args, ...rig.flags]);
  await using child = command.spawn();
  const timer = setTimeout(() => child.kill("SIGKILL"), 30_000);
  const output = child.output();
  await during(child);
  const { code, stdout, stderr } = await output;
  clearTimeout(timer);
  const text = new TextDecoder();
  return { code, out: text.decode(stdout), err: text.decode(stderr) };
}

Deno.test("Ctrl-C in the middle of a fan-out: what is told is true, and the rest is not told", async () => {
  const hang =
    (where: (request: { method: string; path: string }) => boolean): NodeScript => (request) =>
      where(request) ? { kind: "hang" } : null;
  await using quick = new SimulatedNode("quick");
  await using asked = new SimulatedNode("asked", hang(({ method }) => method === "POST"));
  await using early = new SimulatedNode("early", hang(({ path }) => path === "/livez"));
  await using rig = await dispatchRig([
    ["quick", quick.port],
    ["asked", asked.port],
    ["early", early.port],
  ]);
  const said = await operatorProcess(rig, [...LIGHT, "--json"], async (child) => {
    await until(
      "two hang, and one is over",
      () =>
        asked.posts.length === 1 && early.requests.length === 1 &&
        quick.posts.length === 1 && quick.open === 0,
      20_000,
    );
    child.kill("SIGINT");
  });
  const told = toldOf(said);
  assert.equal(said.code, 1);
  assert.deepEqual(told.outcomes.map(({ host, outcome, code }) => [host, outcome, code]), [
    ["asked", "may_have_executed", "interrupted"],
    ["quick", "done", null],
  ]);
  assert.deepEqual(told.without, ["early"]);
  assert.equal(asked.posts[0]?.headers.get("idempotency-key"), told.key);
});

/** Starts the crash tests' agent, which dies at `moment` of `lamp.light`; gives its port. */
async function agentChild(folder: string, moment: string) {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", CHILD, folder, moment],
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let line = "";
  while (!line.includes("\n")) {
    const { value, done } = await within("the agent says where it is", reader.read(), 30_000);
    if (done) throw new Error("the agent ended before it listened");
    line += value;
  }
  return {
    port: Number(new URL(line.trim()).port),
    async [Symbol.asyncDispose]() {
      try {
        child.kill("SIGKILL");
      } catch {
        // it is dead already
      }
      await reader.cancel();
      await child.status;
    },
  };
}

Deno.test("an agent killed in the middle: the same key joins the run, which is not run again", async () => {
  await using folder = await tempDir();
  const tokens = { "gpu-a": TOKENS.all };
  let key: string;
  {
    await using agent = await agentChild(folder.path, "after effect");
    await using rig = await dispatchRig([["gpu-a", agent.port]], tokens);
    const told = await rig.data(...LIGHT);
    assert.deepEqual(told.outcomes.map(({ outcome, code }) => [outcome, code]), [
      ["may_have_executed", "connection_closed"],
    ]);
    key = told.key ?? "";
  }
  await using agent = await agentChild(folder.path, "none");
  await using rig = await dispatchRig([["gpu-a", agent.port]], tokens);
  const again = await rig.data(...LIGHT, "--key", key);
  assert.deepEqual(again.outcomes.map(({ outcome, code }) => [outcome, code]), [
    ["may_have_executed", "operation_interrupted"],
  ]);
  const [one] = again.outcomes;
  assert.deepEqual([one?.run?.["key"], one?.run?.["step"], one?.run?.["effect"]], [
    key,
    "light",
    "unknown",
  ]);
  assert.equal(await Deno.readTextFile(folder.at("lamps")), "hall\n");
});

Deno.test("a token is in no argument, no output and no error of the operator's process", async () => {
  await using node = new SimulatedNode(
    "n",
    ({ method }) => method === "POST" ? { kind: "hang" } : null,
  );
  await using rig = await dispatchRig([["n", node.port]]);
  const ways: readonly (readonly string[])[] = [
    [...LIGHT, "--timeout", "0.5"],
    [...LIGHT, "--timeout", "0.5", "--json", "--token-file", rig.folder.at("tokens/n")],
    ["node", "health", "--target", "all"],
    ["fleet", "status", "--timeout", "0.5"],
  ];
  for (const way of ways) {
    const { out, err } = await operatorProcess(rig, way, async (child) => {
      if (Deno.build.os !== "linux") return;
      const line = await Deno.readTextFile(`/proc/${child.pid}/cmdline`).catch(() => "");
      assert.ok(!line.includes(CANARY));
    });
    assert.ok(!`${out}${err}`.includes(CANARY), way.join(" "));
  }
  assert.ok(node.posts.length >= 2);
  assert.equal(node.posts[0]?.headers.get("authorization"), `Bearer ${CANARY}`);
  const help = await operatorProcess(rig, ["op", "call", "node.facts", "--token", CANARY]);
  assert.equal(help.code, 2, "there is no flag for a token itself");
});

Deno.test("the operator's process connects to private networks only, and says that it may not", async () => {
  await using rig = await dispatchRig([["far", 9]]);
  const path = rig.folder.at("topology.toml");
  const text = await Deno.readTextFile(path);
  await Deno.writeTextFile(path, text.replace("http://127.0.0.1:9", "http://192.0.2.1:9"));
  const said = await operatorProcess(rig, [...LIGHT, "--recover-via-ssh", "--json"]);
  const told = toldOf(said);
  assert.deepEqual(told.outcomes.map(({ code, not_sent }) => [code, not_sent]), [
    ["connect_impossible", true],
  ]);
  assert.equal(told.problems.at(-1)?.code, "ssh_not_permitted");
});

Deno.test("input comes through a pipe", async () => {
  await using node = new SimulatedNode("n");
  await using rig = await dispatchRig([["n", node.port]]);
  const words = await roleWords("operator", rig.folder.path);
  const piped = async (text: string) => {
    await using child = new Deno.Command(Deno.execPath(), {
      args: [...words, ...LIGHT.toSpliced(4, 1, "-"), "--json", ...rig.flags],
      cwd: rig.folder.path,
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(text));
    await writer.close();
    const { code, stdout, stderr } = await child.output();
    const decoder = new TextDecoder();
    return toldOf({ code, out: decoder.decode(stdout), err: decoder.decode(stderr) });
  };
  const done = await piped('{"lamp":"from a pipe"}');
  assert.deepEqual(done.outcomes[0]?.result?.["input"], { lamp: "from a pipe" });
  const empty = await piped("");
  assert.deepEqual([empty.code, empty.problems[0]?.code], [2, "json_malformed"]);
});

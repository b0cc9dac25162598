import assert from "node:assert/strict";
import { type TempDir, tempDir } from "../../lib/testing/temp_dir.ts";
import { programsOf } from "../../roles/agent/facts/programs.ts";
import { agentToml } from "../support/agent.ts";
import { AgentProcess } from "../support/agent_process.ts";
import { until } from "../support/wait.ts";
import { roleCommand, roleWords, runRole } from "../support/role_process.ts";

const CLIENTS = '[auth]\nclients = "clients.toml"\n';

async function furnish(dir: TempDir, toml: string): Promise<void> {
  await Deno.mkdir(dir.at("state"));
  await Deno.writeTextFile(dir.at("agent.toml"), toml);
}

async function token(folder: string, name: string, ...scopes: string[]): Promise<string> {
  const flags = scopes.flatMap((scope) => ["--scope", scope]);
  const done = await runRole("agent", folder, ["tokens", "add", "clients.toml", name, ...flags]);
  assert.equal(done.code, 0, done.stderr);
  return done.stdout.trim();
}

const bearer = (text: string) => ({ headers: { authorization: `Bearer ${text}` } });

Deno.test("agent process: tokens, health, rotation without a restart, audit, SIGTERM", async () => {
  await using dir = await tempDir();
  await furnish(dir, agentToml(CLIENTS));
  const unsaid = await runRole("agent", dir.path, ["tokens", "add", "clients.toml", "x"]);
  assert.deepEqual([unsaid.code, /scope_required/.test(unsaid.stderr)], [1, true]);
  const wrong = ["tokens", "add", "clients.toml", "x", "--scope", "infer"];
  assert.equal((await runRole("agent", dir.path, wrong)).code, 2);
  const first = await token(dir.path, "ops", "node.*:read");
  const looker = await token(dir.path, "looker", "*:read");
  const check = await runRole("agent", dir.path, ["check", "agent.toml", "--json"]);
  const { catalogue_digest: catalogue, ...checked } = JSON.parse(check.stdout).data;
  assert.deepEqual(checked, { node: "gpu-a", roles: ["gateway"] });
  const words = await runRole("agent", dir.path, ["check", "agent.toml"]);
  assert.match(words.stdout, new RegExp(`^catalogue ${catalogue}$`, "m"));
  await Deno.writeTextFile(dir.at("serving.toml"), agentToml(CLIENTS, ["serving"]));
  const serving = await runRole("agent", dir.path, ["check", "serving.toml", "--json"]);
  assert.notEqual(JSON.parse(serving.stdout).data.catalogue_digest, catalogue);
  assert.deepEqual([...Deno.readDirSync(dir.at("state"))], [], "checking leaves nothing behind");
  const unit = "[Service]\nTimeoutStopSec=20\n";
  await Deno.writeTextFile(dir.at("short.service"), unit);
  const short = ["check", "agent.toml", "--supervisor", "short.service"];
  const cut = await runRole("agent", dir.path, short);
  assert.deepEqual([cut.code, /grace_too_short/.test(cut.stderr)], [2, true], cut.stderr);
  await Deno.writeTextFile(dir.at("short.service"), unit.replace("20", "35"));
  assert.equal((await runRole("agent", dir.path, short)).code, 0);
  {
    await using agent = await AgentProcess.start(dir.path);
    const health = async (text: string) => {
      const answer = await fetch(`${agent.url}/health`, bearer(text));
      return { status: answer.status, body: await answer.json() };
    };
    const { status, body } = await health(first);
    assert.equal(status, 200);
    assert.equal(body.catalogue_digest, catalogue, "what `check` says without an agent");
    assert.equal(body.disk.source, "df");
    if (Deno.build.os === "linux") assert.ok(body.disk.value.total_bytes > 0, body.disk.why);
    const facts = await fetch(`${agent.url}/v1/operations/node.facts`, {
      method: "POST",
      headers: {
        ...bearer(first).headers,
        "x-anvil-node": "gpu-a",
        "content-type": "application/json",
      },
      body: "{}",
    });
    const { result } = await facts.json();
    for (const [name, fact] of Object.entries<Record<string, unknown>>(result)) {
      assert.ok(typeof fact["source"] === "string" && typeof fact["at"] === "string", name);
      assert.equal(fact["value"] === null, fact["why"] !== null, name);
    }
    // With the task's own flags: files of this folder, and `ss` and `ps` of this machine.
    const ask = async (name: string, input: unknown) => {
      const answer = await fetch(`${agent.url}/v1/operations/${name}`, {
        method: "POST",
        headers: {
          ...bearer(looker).headers,
          "x-anvil-node": "gpu-a",
          "content-type": "application/json",
        },
        body: JSON.stringify({ input }),
      });
      return (await answer.json()).result;
    };
    const { files } = await ask("config.inventory", {});
    const present = (files as { kind: string; state: string }[])
      .filter(({ state }) => state === "present").map(({ kind }) => kind);
    assert.deepEqual(present, ["agent", "clients"]);
    const port = Number(new URL(agent.url).port);
    const { listening, owner } = await ask("node.port-owner", { port });
    if (Deno.build.os === "linux") {
      assert.deepEqual([listening.value, owner.why], [["127.0.0.1"], null]);
      assert.equal(owner.value.length, 1);
      assert.match(owner.value[0].command, /main\.ts run agent\.toml$/);
    }
    const tools = await fetch(`${agent.url}/mcp`, {
      method: "POST",
      headers: {
        ...bearer(first).headers,
        "x-anvil-node": "gpu-a",
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
    });
    assert.match(await tools.text(), /"node_facts"/); // the SDK needs no further permission
    const second = await token(dir.path, "ops");
    let seen = 0;
    for (let tries = 0; tries < 50 && seen !== 200; tries++) {
      seen = (await health(second)).status;
      if (seen !== 200) await new Promise((resolve) => setTimeout(resolve, 100));
    }
    assert.deepEqual([seen, (await health(first)).status], [200, 200]);
    const list = await runRole("agent", dir.path, ["tokens", "list", "clients.toml", "--json"]);
    const [oldest] = JSON.parse(list.stdout).data as { id: string }[];
    const id = oldest?.id ?? "";
    const revoked = await runRole("agent", dir.path, ["tokens", "revoke", "clients.toml", id]);
    assert.equal(revoked.code, 0, revoked.stderr);
    await until("the old token is rotated out", async () => (await health(first)).status === 401);
    assert.equal((await health(first)).body.code, "token_unknown");
    assert.equal((await health(second)).status, 200);
    agent.kill("SIGTERM");
    const ended = await agent.finished;
    assert.deepEqual([ended.code, ended.signal], [0, null], agent.stderr);
    assert.ok(!agent.stderr.includes(first) && !agent.stderr.includes(second));
  }
  const audit = dir.at("state/audit.jsonl");
  const whole = await runRole("agent", dir.path, ["audit", "verify", audit]);
  assert.equal(whole.code, 0, whole.stderr);
  const verify = ["audit", "verify", "--json", audit];
  const { head } = JSON.parse((await runRole("agent", dir.path, verify)).stdout).data;
  const holds = await runRole("agent", dir.path, [...verify, "--holds", head]);
  assert.equal(holds.code, 0, holds.stdout);
  const other = await runRole("agent", dir.path, [...verify, "--holds", "0f".repeat(32)]);
  assert.deepEqual([other.code, JSON.parse(other.stdout).problems[0].code], [1, "audit_head_gone"]);
  const text = await Deno.readTextFile(audit);
  assert.ok(!text.includes("anvil_"));
  await Deno.writeTextFile(audit, text.replace('"ops"', '"opt"'));
  const broken = await runRole("agent", dir.path, ["audit", "verify", audit]);
  assert.deepEqual([broken.code, /audit_record_changed: line 1 /.test(broken.stderr)], [1, true]);
  assert.equal((await runRole("agent", dir.path, ["audit", "verify", "nothing"])).code, 2);
});

Deno.test("agent process: what it refuses to start with", async () => {
  await using dir = await tempDir();
  await furnish(dir, agentToml());
  const flag = "--allow-unauthenticated-loopback";
  const run = async (toml: string, ...flags: string[]) => {
    await Deno.writeTextFile(dir.at("agent.toml"), toml);
    const { code, stderr } = await runRole("agent", dir.path, ["run", "agent.toml", ...flags]);
    return [code, /\b([a-z]+_[a-z_]+): /.exec(stderr)?.[1]];
  };
  const wide = (toml: string) => toml.replace("127.0.0.1:0", "0.0.0.0:0");
  assert.deepEqual(await run(agentToml()), [1, "tokens_required"]);
  assert.deepEqual(await run(wide(agentToml()), flag), [2, "unauthenticated_off_loopback"]);
  assert.deepEqual(await run(agentToml(CLIENTS)), [2, "file_absent"]);
  await Deno.writeTextFile(dir.at("clients.toml"), "schema = 1\n", { mode: 0o600 });
  assert.deepEqual(await run(wide(agentToml(CLIENTS))), [1, "tokens_required"]);
  assert.deepEqual(await run(agentToml(CLIENTS), flag), [1, "auth_ambiguous"]);
  await Deno.writeTextFile(
    dir.at("state/ledger.sqlite"),
    "this is no database, for sure it is not",
  );
  assert.deepEqual(await run(agentToml(), flag), [1, "database_corrupt"]);
  await Deno.remove(dir.at("state/ledger.sqlite"));
  await Deno.writeTextFile(dir.at("state/audit.jsonl"), "x\n");
  assert.deepEqual(await run(agentToml(), flag), [1, "audit_damaged"]);
  await Deno.remove(dir.at("state"), { recursive: true });
  assert.deepEqual(await run(agentToml(), flag), [1, "state_unavailable"]);
});

/** Tries everything a taken-over agent would, and prints how each attempt ended. */
const PROBE = `
const tries = {
  "read outside": () => Deno.readTextFile("/etc/passwd"),
  "read up": () => Deno.readTextFile("../outside"),
  "read /proc": () => Deno.readTextFile("/proc/self/environ"),
  "write outside": () => Deno.writeTextFile("/tmp/anvil-permissions-probe", "x"),
  "write /etc/anvil": () => Deno.writeTextFile("/etc/anvil/x", "x"),
  "run a shell": () => new Deno.Command("sh", { args: ["-c", "true"] }).output(),
  "run itself": () => new Deno.Command(Deno.execPath()).output(),
  "connect to a public address": () => Deno.connect({ hostname: "192.0.2.1", port: 80 }),
  "connect to another socket": () => Deno.connect({ transport: "unix", path: "/run/other.sock" }),
  "connect by name": () => Deno.connect({ hostname: "example.org", port: 80 }),
  "all env": () => Promise.resolve(Deno.env.toObject()),
  "host name": () => Promise.resolve(Deno.hostname()),
  "ffi": () => Promise.resolve(Deno.dlopen("libc.so.6", {})),
  "link out": () => Deno.symlink("/etc/passwd", "link"),
  "read here": () => Deno.readTextFile("here"),
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

Deno.test("the agent task's flags: what a taken-over agent could not do", async () => {
  await using dir = await tempDir();
  await Deno.mkdir(dir.at("home"));
  await Deno.writeTextFile(dir.at("outside"), "secret");
  await Deno.writeTextFile(dir.at("home/here"), "ours");
  await Deno.writeTextFile(dir.at("home/probe.js"), PROBE);
  const folder = dir.at("home");
  const { stdout, stderr } = await (await roleCommand("agent", folder, [], `${folder}/probe.js`))
    .output();
  const text = new TextDecoder();
  const ends = Object.fromEntries(
    text.decode(stdout).trim().split("\n").map((line) => line.split(": ") as [string, string]),
  );
  const { "read here": read, listen, ...denied } = ends;
  assert.deepEqual([read, listen], ["done", "done"], text.decode(stderr));
  assert.equal(Object.keys(denied).length, 14);
  for (const [name, end] of Object.entries(denied)) assert.equal(end, "NotCapable", name);
  const words = await roleWords("agent", "/srv/anvil");
  for (const name of ["-A", "--allow-all", "--allow-run", "--allow-env", "--allow-ffi"]) {
    assert.equal(words.includes(name), false, name);
  }
});

/** What starts and stops serves, and judges router configurations. */
const SUPERVISORS = {
  linux: ["stat", "systemctl", "systemd-run", "journalctl", "anvil-router", "anvil-adopter"],
  darwin: ["stat", "launchctl", "anvil-router", "anvil-adopter"],
  windows: ["schtasks", "anvil-router", "anvil-adopter"],
} as const;

Deno.test("the agent tasks allow the programs of their system, and no other", async () => {
  const tasks = { linux: "agent", darwin: "agent-macos", windows: "agent-windows" } as const;
  const config = JSON.parse(await Deno.readTextFile(new URL("../../deno.json", import.meta.url)));
  for (const os of ["linux", "darwin", "windows"] as const) {
    const task = tasks[os];
    const { command } = config.tasks[task] as { command: string };
    const allowed = /--allow-run=(\S+)/.exec(command)?.[1]?.split(",").sort();
    assert.deepEqual(allowed, [...programsOf(os), ...SUPERVISORS[os]].sort(), task);
    assert.doesNotMatch(command, / (-A|--allow-all|--allow-env|--allow-ffi)\b/, task);
  }
});

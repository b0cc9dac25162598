import assert from "node:assert/strict";
import { sha256 } from "../../lib/host/digest.ts";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { json, type NodeScript, problem, SimulatedNode } from "../fixtures/node.ts";
import { startAgentRig, TOKENS } from "../support/agent.ts";
import { CANARY, type DispatchRig, dispatchRig } from "../support/dispatch.ts";
import { until } from "../support/wait.ts";

/** A token of the store as it is now; null when there is none. */
async function stored(rig: DispatchRig, name: string): Promise<string | null> {
  try {
    const path = rig.folder.at(`tokens/${name}`);
    assert.equal((await Deno.stat(path)).mode! & 0o777, 0o600);
    return (await Deno.readTextFile(path)).trim();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

async function namesIn(folder: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of Deno.readDir(folder)) names.push(name);
  return names.sort();
}

const HERE = ["--target", "host:gpu-a"] as const;

Deno.test("a rotation on a real agent: the new token is proven and kept, the old one ends", async () => {
  await using folder = await tempDir();
  await using agent = await startAgentRig(folder.path);
  await using rig = await dispatchRig([["gpu-a", agent.agent.port]], { "gpu-a": TOKENS.all });
  const dry = await rig.run("tokens", "rotate", ...HERE, "--dry-run");
  assert.equal(dry.code, 0, dry.err);
  assert.match(dry.out, /^client all$/m);
  assert.match(dry.out, /^t-all ends 2/m);
  assert.equal(await stored(rig, "gpu-a"), TOKENS.all);

  const done = await rig.run("tokens", "rotate", ...HERE, "--overlap", "1");
  assert.equal(done.code, 0, done.err);
  const fresh = await stored(rig, "gpu-a");
  assert.match(fresh ?? "", /^anvil_[A-Za-z0-9_-]{43}$/);
  assert.notEqual(fresh, TOKENS.all);
  assert.deepEqual(await namesIn(rig.folder.at("tokens")), [".gpu-a.lock", "gpu-a"]);
  const clients = await Deno.readTextFile(`${folder.path}/clients.toml`);
  assert.ok(clients.includes(sha256(fresh ?? "").toHex()), "the hash is not there");
  for (const text of [clients, done.out, done.err, dry.out, dry.err, agent.said.join("\n")]) {
    assert.ok(!text.includes(fresh ?? ""), "the token is written somewhere");
  }
  await until(
    "the old token ends",
    async () => (await agent.get("/health", TOKENS.all)).status === 401,
  );
  assert.equal((await agent.get("/health", fresh)).status, 200);
  const audit = await Deno.readTextFile(`${folder.path}/state/audit.jsonl`);
  assert.ok(audit.includes("tokens.rotate"));
  assert.ok(!audit.includes(fresh ?? "") && !audit.includes(TOKENS.all));
});

Deno.test("issue, list, revoke: a client with less than whoever makes it", async () => {
  await using folder = await tempDir();
  await using agent = await startAgentRig(folder.path);
  await using rig = await dispatchRig([["gpu-a", agent.agent.port]], { "gpu-a": TOKENS.all });
  const issue = ["tokens", "issue", ...HERE, "--client", "dash"] as const;
  assert.match((await rig.run(...issue)).err, /scopes_missing/);
  const made = await rig.run(...issue, "--scope", "node.*:read", "--expires-in-days", "9");
  assert.equal(made.code, 0, made.err);
  const token = await stored(rig, "gpu-a-dash") ?? "";
  assert.ok(!made.out.includes(token) && !made.err.includes(token));
  assert.equal((await agent.get("/health", token)).status, 200);
  assert.match((await rig.run(...issue)).err, /token_name_taken/);

  const list = await rig.run("tokens", "list", ...HERE);
  assert.match(list.out, /^gpu-a +dash +tk-[0-9a-f]{24} +valid +2\S+ +2\S+ +node\.\*:read$/m);
  assert.match(list.out, /^gpu-a +spent +t-spent +expired /m);

  const end = ["tokens", "revoke", ...HERE, "--client", "dash"] as const;
  assert.match((await rig.run(...end)).err, /confirm_required/);
  assert.match((await rig.run(...end, "--dry-run")).out, /^client dash\ntk-\S+ ends /);
  assert.equal((await agent.get("/health", token)).status, 200);
  assert.equal((await rig.run(...end, "--confirm")).code, 0);
  await until("the token ends", async () => (await agent.get("/health", token)).status === 401);
  const own = await rig.run("tokens", "revoke", ...HERE, "--client", "all", "--confirm");
  assert.match(own.err, /would_lock_out/);
  assert.equal((await rig.run("tokens", "revoke", ...HERE)).code, 1);
});

Deno.test("a client of few scopes makes no stronger one", async () => {
  await using folder = await tempDir();
  await using agent = await startAgentRig(folder.path);
  await using rig = await dispatchRig([["gpu-a", agent.agent.port]], { "gpu-a": TOKENS.all });
  const scopes = ["--scope", "tokens.*", "--scope", "node.*:read"];
  const keeper = [
    "tokens",
    "issue",
    ...HERE,
    "--client",
    "keeper",
    ...scopes,
    "--save-as",
    "keeper",
  ];
  assert.equal((await rig.run(...keeper)).code, 0);
  const as = ["--token-file", rig.folder.at("tokens/keeper")];
  const strong = ["tokens", "issue", ...HERE, "--client", "strong", "--scope", "*", ...as];
  assert.match((await rig.run(...strong)).err, /scope_not_held/);
  const weak = [
    "tokens",
    "issue",
    ...HERE,
    "--client",
    "weak",
    "--scope",
    "node.facts:read",
    ...as,
  ];
  assert.equal((await rig.run(...weak, "--save-as", "weak")).code, 0);
  assert.notEqual(await stored(rig, "weak"), null);
  assert.match((await rig.run("tokens", "rotate", ...HERE, ...as)).err, /rotation_outside_store/);
});

/** A node that knows some tokens, and may lose its answer to a rotation. */
function keeperNode(known: Set<string>, lose: () => boolean): SimulatedNode {
  const script: NodeScript = ({ method, path, headers, body }) => {
    if (path === "/livez") return null;
    const token = (headers.get("authorization") ?? "").slice("Bearer ".length);
    if (!known.has(sha256(token).toHex())) return problem(401, "token_unknown");
    if (method !== "POST") return null;
    const { input } = JSON.parse(body);
    known.clear();
    known.add(input.token.sha256);
    if (lose()) return { kind: "bytes", text: "" };
    const result = { client: "me", scopes: [], added: input.token.id, ended: [], valid: [] };
    return json({ operation: "tokens.rotate", dry_run: false, known: false, result });
  };
  return new SimulatedNode("gpu-a", script);
}

Deno.test("a rotation whose answer is lost is proven by the new token itself", async () => {
  const known = new Set([sha256(CANARY).toHex()]);
  await using node = keeperNode(known, () => true);
  await using rig = await dispatchRig([["gpu-a", node.port]]);
  const told = await rig.data("tokens", "rotate", ...HERE);
  assert.deepEqual(told.outcomes.map(({ outcome }) => outcome), ["done"]);
  assert.ok(known.has(sha256(await stored(rig, "gpu-a") ?? "").toHex()));
  assert.equal(node.posts.length, 1);
});

Deno.test("a command that died after the node had the token goes on with the same one", async () => {
  const known = new Set([sha256(CANARY).toHex()]);
  await using node = keeperNode(known, () => false);
  await using rig = await dispatchRig([["gpu-a", node.port]]);
  // As a killed command leaves it: made, told to the node, the old one over, not yet in its place.
  const made = `anvil_${"M".repeat(43)}`;
  await Deno.mkdir(rig.folder.at("tokens/.pending-gpu-a"), { mode: 0o700 });
  await Deno.writeTextFile(rig.folder.at("tokens/.pending-gpu-a/token"), made, { mode: 0o600 });
  known.clear();
  known.add(sha256(made).toHex());
  assert.equal((await rig.run("tokens", "rotate", ...HERE)).code, 0);
  assert.equal(await stored(rig, "gpu-a"), made);
  assert.equal(node.posts.length, 0);
  assert.deepEqual(await namesIn(rig.folder.at("tokens")), [".gpu-a.lock", "gpu-a"]);
});

Deno.test("a node that says yes and does not mean it: the old token stays in its place", async () => {
  let honest = false;
  await using node = new SimulatedNode("gpu-a", ({ method, path, headers, body }) => {
    if (path === "/livez" || honest && path === "/health") return null;
    if (headers.get("authorization") !== `Bearer ${CANARY}`) return problem(401, "token_unknown");
    if (method !== "POST") return null;
    const { operation = "tokens.rotate" } = JSON.parse(body);
    return json({ operation, dry_run: false, known: false, result: {} });
  });
  await using rig = await dispatchRig([["gpu-a", node.port]]);
  const told = await rig.data("tokens", "rotate", ...HERE);
  assert.deepEqual(told.outcomes.map(({ outcome, code }) => [outcome, code]), [
    ["may_have_executed", "token_not_proven"],
  ]);
  assert.equal(await stored(rig, "gpu-a"), CANARY);
  const aside = await Deno.readTextFile(rig.folder.at("tokens/.pending-gpu-a/token"));
  assert.ok(!`${told.out}${told.err}`.includes(aside.trim()));
  // The next attempt sends the same token again, under another key.
  honest = true;
  assert.equal((await rig.data("tokens", "rotate", ...HERE)).code, 0);
  assert.equal(await stored(rig, "gpu-a"), aside.trim());
  const hashes = node.posts.map(({ body }) => JSON.parse(body).input.token.sha256);
  assert.equal(new Set(hashes).size, 1);
  assert.equal(new Set(node.posts.map(({ headers }) => headers.get("idempotency-key"))).size, 2);
});

Deno.test("a token that several hosts use is not rotated", async () => {
  await using node = new SimulatedNode("gpu-a");
  await using rig = await dispatchRig([["gpu-a", node.port], ["gpu-b", 9]]);
  const path = rig.folder.at("topology.toml");
  const text = await Deno.readTextFile(path);
  await Deno.writeTextFile(path, text.replace('token = "gpu-b"', 'token = "gpu-a"'));
  assert.match((await rig.run("tokens", "rotate", ...HERE)).err, /token_shared/);
  assert.equal(node.connections, 0);
});

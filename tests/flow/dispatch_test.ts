import assert from "node:assert/strict";
import { z } from "zod";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { selfSigned } from "../fixtures/certificate.ts";
import { json, type NodeScript, problem, SimulatedNode } from "../fixtures/node.ts";
import { lampOperation, startAgentRig, TOKENS } from "../support/agent.ts";
import { CANARY, dispatchRig } from "../support/dispatch.ts";
import { freePort } from "../support/free_port.ts";

const LIGHT = ["op", "call", "lamp.light", "--input", '{"lamp":"hall"}'] as const;

Deno.test("five nodes: a real agent, one down, another node, a token refused, a stranger's 401", async () => {
  await using folder = await tempDir();
  await using agent = await startAgentRig(folder.path);
  await using other = new SimulatedNode("elsewhere");
  await using strict = new SimulatedNode(
    "strict",
    ({ path }) => path === "/livez" ? null : problem(401, "token_unknown"),
  );
  await using stranger = new SimulatedNode("stranger", () => ({
    kind: "answer",
    status: 401,
    headers: { "x-anvil-node": "", "www-authenticate": "Basic" },
    body: "who are you?",
  }));
  await using rig = await dispatchRig(
    [
      ["gpu-a", agent.agent.port],
      ["down", freePort()],
      ["moved", other.port],
      ["strict", strict.port],
      ["stranger", stranger.port],
    ],
    { "gpu-a": TOKENS.reader },
  );
  const told = await rig.data("op", "call", "node.identity", "--target", "all");
  assert.deepEqual(
    told.outcomes.map(({ host, outcome, code, not_sent }) => [host, outcome, code, not_sent]),
    [
      ["down", "unreachable", "connection_refused", true],
      ["gpu-a", "done", null, false],
      ["moved", "wrong_node", "wrong_node", true],
      ["stranger", "unreachable", "another_process", true],
      ["strict", "unauthorized", "token_unknown", true],
    ],
  );
  assert.equal(told.code, 0);
  assert.equal(told.ok, true);
  assert.equal(
    (await rig.run("op", "call", "node.identity", "--target", "all", "--require-all")).code,
    1,
  );
  // Nobody who does not claim to be the node was shown the token.
  for (const node of [other, stranger]) {
    assert.ok(node.requests.length > 0);
    for (const { headers } of node.requests) assert.equal(headers.get("authorization"), undefined);
  }
  for (const { headers } of strict.requests.filter(({ path }) => path === "/health")) {
    assert.equal(headers.get("authorization"), `Bearer ${CANARY}`);
  }
});

/** Breaks at the POST, after a faultless proof. */
const atPost = (script: NodeScript): NodeScript => (request) =>
  request.method === "POST" ? script(request) : null;

const HEAD = "HTTP/1.1 200 OK\r\nx-anvil-node: n\r\n";

const BROKEN: Readonly<Record<string, readonly [NodeScript, code: string]>> = {
  "closed after the request": [
    atPost(() => ({ kind: "bytes", text: "" })),
    "connection_closed",
  ],
  "half a head": [atPost(() => ({ kind: "bytes", text: "HTTP/1.1 200 O" })), "connection_closed"],
  "half an answer": [
    atPost(() => ({ kind: "bytes", text: `${HEAD}content-length: 100\r\n\r\n{"operation":` })),
    "answer_truncated",
  ],
  "an answer whose end nobody promised": [
    atPost(() => ({ kind: "bytes", text: `${HEAD}\r\n{}` })),
    "answer_truncated",
  ],
  "no HTTP": [
    atPost(() => ({ kind: "bytes", text: "220 mail.example.test\r\n\r\n" })),
    "another_process",
  ],
  "no JSON": [atPost(() => ({ kind: "answer", status: 200, body: "<html>" })), "answer_unreadable"],
  "a key twice": [
    atPost(() => ({
      kind: "answer",
      status: 200,
      body: '{"operation":"lamp.light","dry_run":false,"result":1,"result":2}',
    })),
    "answer_unreadable",
  ],
  "another operation's answer": [
    atPost(() => ({
      kind: "answer",
      status: 200,
      body: '{"operation":"node.facts","dry_run":false,"result":1}',
    })),
    "answer_unreadable",
  ],
  "an oversize answer": [
    atPost(() => ({ kind: "answer", status: 200, body: `"${"x".repeat(17 * 1024 * 1024)}"` })),
    "answer_too_large",
  ],
  "a redirect": [
    atPost(() => ({ kind: "answer", status: 307, headers: { location: "/" }, body: "{}" })),
    "answer_unreadable",
  ],
  "another process since": [
    atPost(() => ({ kind: "answer", status: 502, headers: { "x-anvil-node": "" }, body: "oh" })),
    "another_process",
  ],
};

for (const [name, [script, code]] of Object.entries(BROKEN)) {
  Deno.test(`after the request left, ${name}: a mutation may have executed, a read was not had`, async () => {
    await using node = new SimulatedNode("n", script);
    await using rig = await dispatchRig([["n", node.port]]);
    const mutation = await rig.data(...LIGHT, "--target", "all");
    assert.deepEqual(
      mutation.outcomes.map((one) => [one.outcome, one.code, one.not_sent]),
      [["may_have_executed", code, false]],
    );
    assert.equal(mutation.code, 1);
    assert.equal(node.posts.length, 1, "it was sent again");
    const [sent] = node.posts;
    assert.equal(sent?.headers.get("idempotency-key"), mutation.key);
    assert.ok(mutation.err.includes(`key: ${mutation.key}`));
    const dry = await rig.data(...LIGHT, "--target", "all", "--dry-run");
    assert.equal(dry.outcomes[0]?.code, code);
    assert.equal(dry.outcomes[0]?.outcome, "unreachable");
    assert.equal(dry.outcomes[0]?.not_sent, false);
    assert.equal(dry.key, null);
  });
}

Deno.test("before the request left: whatever breaks, nothing was sent", async () => {
  const scripts: Readonly<Record<string, NodeScript>> = {
    "accepted, closed": () => ({ kind: "bytes", text: "" }),
    "closed at /health": ({ path }) => path === "/health" ? { kind: "bytes", text: "" } : null,
    "half a health": ({ path }) =>
      path === "/health" ? { kind: "bytes", text: `${HEAD}content-length: 9\r\n\r\n{` } : null,
    "another protocol": ({ path }) =>
      path === "/health"
        ? { kind: "answer", status: 200, body: '{"node":"n","protocol":2}' }
        : null,
    "another node's health": ({ path }) =>
      path === "/health"
        ? { kind: "answer", status: 200, body: '{"node":"m","protocol":1}' }
        : null,
  };
  const seen: Record<string, unknown> = {};
  for (const [name, script] of Object.entries(scripts)) {
    await using node = new SimulatedNode("n", script);
    await using rig = await dispatchRig([["n", node.port]]);
    const { outcomes, err } = await rig.data(...LIGHT, "--target", "all");
    seen[name] = [outcomes[0]?.outcome, outcomes[0]?.code, outcomes[0]?.not_sent];
    assert.equal(node.posts.length, 0);
    assert.equal(err, "", "a key was printed that nobody got");
  }
  assert.deepEqual(seen, {
    "accepted, closed": ["unreachable", "connection_closed", true],
    "closed at /health": ["unreachable", "connection_closed", true],
    "half a health": ["unreachable", "answer_truncated", true],
    "another protocol": ["refused", "protocol_differs", true],
    "another node's health": ["wrong_node", "wrong_node", true],
  });
});

Deno.test("a slow node hits its deadline while the others finish", async () => {
  const hang: NodeScript = atPost(() => ({ kind: "hang" }));
  await using slow = new SimulatedNode("slow", hang);
  await using quick = new SimulatedNode("quick");
  await using rig = await dispatchRig([["slow", slow.port], ["quick", quick.port]]);
  const read = await rig.data("op", "call", "node.facts", "--target", "all", "--timeout", "0.2");
  assert.deepEqual(read.outcomes.map(({ outcome, code }) => [outcome, code]), [
    ["done", null],
    ["timed_out", "answer_late"],
  ]);
  assert.equal(read.code, 0);
  const write = await rig.data(...LIGHT, "--target", "all", "--timeout", "0.2");
  assert.deepEqual(write.outcomes.map(({ outcome, code }) => [outcome, code]), [
    ["done", null],
    ["may_have_executed", "answer_late"],
  ]);
});

Deno.test("what the agent says becomes the outcome it means", async () => {
  const answers = {
    busy: problem(503, "agent_busy"),
    stopping: problem(503, "agent_stopping"),
    scope: problem(403, "scope_missing"),
    unknown: problem(404, "operation_unknown"),
    running: problem(409, "operation_running", { may_have_executed: true, run: { id: "run-1" } }),
    interrupted: problem(500, "operation_interrupted", { may_have_executed: true }),
    late: problem(504, "operation_timed_out"),
    moved: problem(421, "wrong_node"),
  } as const;
  const seen: Record<string, unknown> = {};
  for (const [name, answer] of Object.entries(answers)) {
    await using node = new SimulatedNode("n", atPost(() => answer));
    await using rig = await dispatchRig([["n", node.port]]);
    const { outcomes: [one] } = await rig.data(...LIGHT, "--target", "all");
    seen[name] = [one?.outcome, one?.code, one?.run?.["id"] ?? null];
  }
  assert.deepEqual(seen, {
    busy: ["busy", "agent_busy", null],
    stopping: ["busy", "agent_stopping", null],
    scope: ["unauthorized", "scope_missing", null],
    unknown: ["refused", "operation_unknown", null],
    running: ["may_have_executed", "operation_running", "run-1"],
    interrupted: ["may_have_executed", "operation_interrupted", null],
    late: ["timed_out", "operation_timed_out", null],
    moved: ["wrong_node", "wrong_node", null],
  });
});

Deno.test("without a usable token nothing is asked, and every source is named", async () => {
  await using node = new SimulatedNode("n");
  await using rig = await dispatchRig([["n", node.port]], { n: null });
  const missing = await rig.run("op", "call", "node.facts", "--target", "all");
  assert.equal(missing.code, 1);
  assert.match(missing.err, /credential_missing.*--token-file.*ANVIL_TOKEN.*token store/);
  await Deno.writeTextFile(rig.folder.at("tokens/n"), CANARY, { mode: 0o644 });
  await Deno.chmod(rig.folder.at("tokens/n"), 0o644);
  const open = await rig.run("op", "call", "node.facts", "--target", "all");
  assert.match(open.err, /credential_unusable.*0644.*0600/);
  assert.equal(node.connections, 0);
  assert.ok(!`${missing.err}${missing.out}${open.err}${open.out}`.includes("CANARY"));
});

Deno.test("recovery is refused after anything but a proven silence, and then for want of a receiver", async () => {
  await using strict = new SimulatedNode(
    "n",
    ({ path }) => path === "/livez" ? null : problem(401, "token_unknown"),
  );
  const rig = async (port: number) => {
    await using made = await dispatchRig([["n", port]]);
    await Deno.writeTextFile(
      made.folder.at("topology.toml"),
      `${await Deno.readTextFile(made.folder.at("topology.toml"))}[[transports]]\nhost = "n"\n` +
        `kind = "ssh"\naddress = "127.0.0.1"\nuser = "anvil"\nrecovery_capable = true\n` +
        `known_host = "ssh-ed25519 ${"A".repeat(68)}"\n`,
    );
    const told = await made.data(...LIGHT, "--target", "all", "--recover-via-ssh");
    return told.problems.map(({ code }) => code);
  };
  assert.deepEqual(await rig(strict.port), ["token_unknown", "ssh_not_permitted"]);
  assert.deepEqual(await rig(freePort()), ["connection_refused", "operation_not_over_ssh"]);
  for (const script of [() => ({ kind: "bytes", text: "" }), atPost(() => ({ kind: "hang" }))]) {
    await using node = new SimulatedNode("n", script as NodeScript);
    await using made = await dispatchRig([["n", node.port]]);
    const told = await made.data(
      ...LIGHT,
      "--target",
      "all",
      "--timeout",
      "0.2",
      "--recover-via-ssh",
    );
    assert.equal(told.problems.at(-1)?.code, "ssh_not_permitted");
  }
});

Deno.test("a plan is bound to the topology it was decided on", async () => {
  await using node = new SimulatedNode("n");
  await using rig = await dispatchRig([["n", node.port]]);
  const first = await rig.run("op", "call", "node.facts", "--target", "all", "--json");
  const { data } = JSON.parse(first.out);
  const same = await rig.data("op", "list", "--target", "all", "--fingerprint", data.fingerprint);
  assert.equal(same.code, 0);
  const before = node.connections;
  const other = await rig.data("op", "list", "--target", "all", "--fingerprint", "0".repeat(64));
  assert.equal(other.code, 1);
  assert.deepEqual(other.problems.map(({ code }) => code), ["topology_changed"]);
  assert.equal(node.connections, before);
});

Deno.test("TLS where the transport declares it: by a known authority, or nothing is sent", async () => {
  const { cert, key } = await selfSigned("127.0.0.1");
  await using node = new SimulatedNode("n", () => null, true, { cert, key });
  await using rig = await dispatchRig([["n", node.port]]);
  const topology = rig.folder.at("topology.toml");
  const text = await Deno.readTextFile(topology);
  await Deno.writeTextFile(topology, text.replace("http://", "https://"));
  const stranger = await rig.data(...LIGHT, "--target", "all", "--recover-via-ssh");
  assert.deepEqual(stranger.outcomes.map(({ code, not_sent }) => [code, not_sent]), [
    ["tls_refused", true],
  ]);
  assert.equal(stranger.problems.at(-1)?.code, "ssh_not_permitted");
  assert.equal(node.requests.length, 0);
  await Deno.writeTextFile(rig.folder.at("ca.pem"), cert);
  const known = await rig.data(...LIGHT, "--target", "all", "--ca", rig.folder.at("ca.pem"));
  assert.deepEqual(known.outcomes.map(({ outcome }) => outcome), ["done"]);
  const none = await rig.data(...LIGHT, "--target", "all", "--ca", topology);
  assert.deepEqual(none.problems.map(({ code }) => code), ["ca_unusable"]);
});

Deno.test("an answer that holds the token is told without it, and so is a refusal", async () => {
  for (
    const reply of [
      json({ operation: "node.facts", dry_run: false, known: false, result: { echo: CANARY } }),
      problem(422, "input_invalid", { detail: `what is ${CANARY}?`, next_step: CANARY }),
      problem(409, "key_conflict", { run: { id: CANARY } }),
    ]
  ) {
    await using node = new SimulatedNode("n", atPost(() => reply));
    await using rig = await dispatchRig([["n", node.port]]);
    for (const more of [[], ["--json"]]) {
      const { out, err } = await rig.run("op", "call", "node.facts", "--target", "all", ...more);
      assert.ok(!`${out}${err}`.includes("CANARY"), `${out}${err}`);
      assert.ok(`${out}${err}`.includes("[secret]") || more.length === 0);
    }
  }
});

Deno.test("the same key again joins a run that is not over, and runs nothing twice", async () => {
  await using folder = await tempDir();
  const lamps = folder.at("lamps");
  const gate = Promise.withResolvers<void>();
  const lamp = lampOperation(lamps, async (moment) => {
    if (moment === "before_effect") await gate.promise;
  });
  await using agent = await startAgentRig(folder.path, [lamp]);
  await using rig = await dispatchRig([["gpu-a", agent.agent.port]], { "gpu-a": TOKENS.all });
  const first = await rig.data(...LIGHT, "--target", "all", "--timeout", "0.3");
  assert.deepEqual(first.outcomes.map(({ outcome, code }) => [outcome, code]), [
    ["may_have_executed", "answer_late"],
  ]);
  const again = ["--key", first.key ?? ""];
  const joined = rig.data(...LIGHT, "--target", "all", ...again);
  gate.resolve();
  const [one] = (await joined).outcomes;
  assert.deepEqual([one?.outcome, one?.known, one?.result], ["done", true, { lit: "hall" }]);
  const other = ["op", "call", "lamp.light", "--input", '{"lamp":"attic"}', "--target", "all"];
  const conflict = await rig.data(...other, ...again);
  assert.deepEqual(conflict.outcomes.map(({ outcome, code }) => [outcome, code]), [
    ["refused", "key_conflict"],
  ]);
  assert.equal(await Deno.readTextFile(lamps), "hall\n");
  const id = String(one?.run?.["id"]);
  const status = await rig.data("op", "status", id, "--target", "host:gpu-a");
  assert.equal(status.outcomes[0]?.result?.["state"], "done");
});

Deno.test("input: from a file, strictly; wrong input is exit 2 and asks nobody", async () => {
  await using node = new SimulatedNode("n");
  await using rig = await dispatchRig([["n", node.port]]);
  await Deno.writeTextFile(rig.folder.at("input.json"), '{"lamp":"from a file"}');
  const call = (input: string) =>
    rig.data("op", "call", "lamp.light", "--target", "all", "--input", input);
  const done = await call(`@${rig.folder.at("input.json")}`);
  assert.deepEqual(done.outcomes[0]?.result?.["input"], { lamp: "from a file" });
  const before = node.connections;
  for (
    const [input, code] of [
      ['{"a":1,"a":2}', "json_duplicate_key"],
      ["NaN", "json_malformed"],
      ["[".repeat(200), "json_too_deep"],
      [`@${rig.folder.at("none.json")}`, "file_absent"],
    ] as const
  ) {
    const told = await call(input);
    assert.equal(told.code, 2);
    assert.deepEqual(told.problems.map((one) => one.code), [code]);
  }
  assert.equal(node.connections, before);
});

Deno.test("the envelope has the shape that its schema says, whatever the outcomes", async () => {
  const path = new URL("../../fleet/schemas/envelope.schema.json", import.meta.url);
  const schema = z.fromJSONSchema(JSON.parse(await Deno.readTextFile(path)));
  await using node = new SimulatedNode("n");
  await using rig = await dispatchRig([["n", node.port], ["down", freePort()]]);
  for (
    const words of [
      ["op", "list"],
      [...LIGHT],
      [...LIGHT, "--dry-run", "--recover-via-ssh"],
      ["node", "health"],
      ["fleet", "status"],
      ["fleet", "versions", "--require-all"],
      ["tokens", "list"],
      ["tokens", "rotate", "--dry-run"],
      ["tokens", "revoke"],
      ["op", "call", "node.facts", "--token-file", "x"],
    ]
  ) {
    const { code, out } = await rig.run(...words, "--target", "all", "--json");
    const checked = schema.safeParse(JSON.parse(out));
    assert.ok(checked.success, `${words.join(" ")}: ${JSON.stringify(checked.error)}`);
    assert.equal(JSON.parse(out).ok, code === 0, words.join(" "));
    assert.equal(out.trimEnd().split("\n").length, 1);
  }
});

Deno.test("what an agent says does not steer the terminal", async () => {
  const evil = "\u009b31mred \u001b]0;title\u0007";
  for (
    const reply of [
      json({ operation: "node.facts", dry_run: false, known: false, result: { evil } }),
      problem(422, "input_invalid", { detail: evil, next_step: evil }),
    ]
  ) {
    await using node = new SimulatedNode("n", atPost(() => reply));
    await using rig = await dispatchRig([["n", node.port]]);
    const { out, err } = await rig.run("op", "call", "node.facts", "--target", "all");
    assert.match(`${out}${err}`, /red/);
    assert.ok(!/[^\n\P{Cc}]/u.test(`${out}${err}`), JSON.stringify(`${out}${err}`));
  }
});

import assert from "node:assert/strict";
import { readConfig } from "./config.ts";

const MEMBER = '{ id = "a", endpoint = "http://127.0.0.1:8001" }';

/** A fit file; `top`, `listen`, `auth`, `tier`, `members` and `tail` replace or add parts. */
function file(parts: {
  readonly top?: string;
  readonly listen?: string;
  readonly auth?: string;
  readonly tier?: string;
  readonly identity?: string;
  readonly members?: string;
  readonly tail?: string;
} = {}): string {
  return `
schema = 1
node = "gpu-a"
listen = ${parts.listen ?? '{ data = "127.0.0.1:8080", admin = "127.0.0.1:8081" }'}
auth = ${parts.auth ?? '{ clients = "clients.toml" }'}
${parts.top ?? ""}
[[tiers]]
id = "primary"
served_model = "org/model"
dialects = ["openai-chat"]
identity = { kind = "${parts.identity ?? "openai-models"}" }
${parts.tier ?? ""}
members = [${parts.members ?? MEMBER}]
${parts.tail ?? ""}
`;
}

function problems(text: string): [path: string, code: string][] {
  const read = readConfig(text);
  return read.kind === "ok" ? [] : read.problems.map(({ path, code }) => [path, code]);
}

function message(text: string): string {
  const read = readConfig(text);
  return read.kind === "ok" ? "" : read.problems.map((problem) => problem.message).join("\n");
}

Deno.test("config: the least there is, with its defaults", () => {
  const read = readConfig(file({ tail: '[aliases]\n"llm.primary" = "primary"' }));
  assert.deepEqual(read, {
    kind: "ok",
    model: {
      schema: 1,
      node: "gpu-a",
      listen: {
        data: { hostname: "127.0.0.1", port: 8080 },
        admin: { hostname: "127.0.0.1", port: 8081 },
        reuse_port: false,
      },
      auth: { clients: "clients.toml", allow_unauthenticated_loopback: false },
      limits: {
        body_mib: 64,
        buffered_mib: 512,
        body_seconds: 60,
        stall_seconds: 300,
        requests: 1024,
        drain_seconds: 120,
        head_seconds: 30,
        idle_seconds: 75,
      },
      probes: { interval_ms: 2000, timeout_ms: 2000 },
      tiers: [{
        id: "primary",
        served_model: "org/model",
        dialects: ["openai-chat"],
        identity: { kind: "openai-models" },
        members: [{ id: "a", endpoint: { hostname: "127.0.0.1", port: 8001 } }],
        tools: true,
        media: [],
        admission: { in_flight: 8, queue: 16, queue_seconds: 30 },
        timeouts: { connect_ms: 2000, first_byte_seconds: 600, idle_seconds: 120 },
      }],
      aliases: { "llm.primary": "primary" },
    },
  });
});

Deno.test("config: an empty file lacks everything required, and says so at once", () => {
  assert.deepEqual(problems(""), [
    ["schema", "missing"],
    ["node", "missing"],
    ["listen", "missing"],
    ["auth", "missing"],
    ["tiers", "missing"],
  ]);
});

Deno.test("config: every rule alone", () => {
  const members = (count: number) =>
    Array.from(
      { length: count },
      (_, i) => `{ id = "m${i}", endpoint = "http://127.0.0.1:${8001 + i}" }`,
    ).join(", ");
  const remote = '{ id = "a", endpoint = "http://192.0.2.20:8001" }';
  const cases: [string, [string, string][]][] = [
    [file(), []],
    [file({ members: members(16) }), []],
    [file({ members: members(17) }), [["tiers[0].members", "out_of_range"]]],
    [file({ members: "" }), [["tiers[0].members", "out_of_range"]]],
    [file({ top: "extra = 1" }), [["extra", "unknown_key"]]],
    [file({ top: 'limits = "big"' }), [["limits", "wrong_type"]]],
    [file({ top: "[limits]\nrequests = 0" }), [["limits.requests", "out_of_range"]]],
    [file({ listen: '{ data = "localhost:1", admin = "127.0.0.1:2" }' }), [[
      "listen.data",
      "address_malformed",
    ]]],
    [file({ listen: '{ data = "127.0.0.1:1", admin = "[::1]:1" }' }), [[
      "listen.admin",
      "listeners_collide",
    ]]],
    [file({ listen: '{ data = "127.0.0.1:0", admin = "127.0.0.1:0" }' }), []],
    [file({ auth: "{}" }), [["auth.clients", "missing"]]],
    [file({ auth: "{ allow_unauthenticated_loopback = true }" }), []],
    [file({ auth: '{ clients = "c", allow_unauthenticated_loopback = true }' }), [[
      "auth.allow_unauthenticated_loopback",
      "auth_ambiguous",
    ]]],
    [
      file({
        auth: "{ allow_unauthenticated_loopback = true }",
        listen: '{ data = "127.0.0.1:1", admin = "192.0.2.1:2" }',
      }),
      [["auth.allow_unauthenticated_loopback", "unauthenticated_off_loopback"]],
    ],
    [file({ members: `${MEMBER}, { id = "a", endpoint = "http://127.0.0.1:8002" }` }), [[
      "tiers[0].members[1].id",
      "duplicate_id",
    ]]],
    [file({ members: `${MEMBER}, { id = "b", endpoint = "http://127.0.0.1:8001/" }` }), [[
      "tiers[0].members[1].endpoint",
      "duplicate_endpoint",
    ]]],
    [file({ members: `${MEMBER}, { id = "b", endpoint = "http://192.0.2.20:8001" }` }), [[
      "tiers[0].members",
      "members_on_two_hosts",
    ]]],
    [file({ members: `${MEMBER}, { id = "b", endpoint = "http://[::1]:8001" }` }), []],
    [file({ members: remote }), [["tiers[0].members", "member_off_host"]]],
    [file({ members: remote, tier: 'host = "gpu-b"\naddress = "192.0.2.20"' }), []],
    [file({ members: remote, tier: 'host = "gpu-b"\naddress = "192.0.2.21"' }), [[
      "tiers[0].members",
      "member_off_host",
    ]]],
    [file({ members: remote, tier: 'address = "192.0.2.20"' }), [["tiers[0].host", "missing"]]],
    [file({ tier: 'host = "gpu-b"' }), [["tiers[0].address", "missing"]]],
    [file({ members: remote, tier: 'host = "gpu-b"\naddress = "gpu-b"' }), [[
      "tiers[0].address",
      "address_malformed",
    ]]],
    [file({ members: remote, listen: '{ data = "192.0.2.20:1", admin = "127.0.0.1:2" }' }), []],
    [file({ members: remote, listen: '{ data = "0.0.0.0:1", admin = "127.0.0.1:2" }' }), []],
    [file({ members: '{ id = "a", endpoint = "http://gpu-a:1" }' }), [[
      "tiers[0].members[0].endpoint",
      "endpoint_not_literal",
    ]]],
    [file({ tier: 'engine = "mlx-lm"' }), [["tiers[0].identity.kind", "identity_proves_nothing"]]],
    [file({ tier: 'engine = "ollama"', identity: "ollama" }), []],
    [file({ identity: "openai" }), [["tiers[0].identity.kind", "not_allowed"]]],
    [file({ identity: "agent" }), [["tiers[0].identity.agent", "missing"]]],
    [file({ identity: 'agent", agent = "http://127.0.0.1:8765', tier: 'engine = "mlx-lm"' }), []],
    [file({ identity: 'agent", agent = "http://192.0.2.9:8765' }), [
      ["tiers[0].identity.agent", "agent_off_host"],
    ]],
    [file({ identity: 'ollama", agent = "http://127.0.0.1:8765' }), [
      ["tiers[0].identity.agent", "agent_unasked"],
    ]],
    [file({ identity: 'ollama", token_file = "t' }), [
      ["tiers[0].identity.token_file", "agent_unasked"],
    ]],
    [file({ tail: '[aliases]\nx = "nowhere"' }), [["aliases.x", "alias_to_nowhere"]]],
    [file({ tail: '[aliases]\n"a.b" = ["primary"]' }), [['aliases."a.b"', "wrong_type"]]],
    [file({ tier: 'revision = "a\\nb"' }), [["tiers[0].revision", "malformed"]]],
    [file({ tail: file().slice(file().indexOf("[[tiers]]")) }), [["tiers[1].id", "duplicate_id"]]],
    ["a = ", [["$", "syntax"]]],
  ];
  for (const [text, expected] of cases) assert.deepEqual(problems(text), expected, text);
});

Deno.test("config: a member that restates what its tier declares is told where it belongs", () => {
  const restated = [
    'served_model = "org/model"',
    'revision = "r"',
    'engine_version = "1"',
    'image_digest = "sha256:0"',
    'config_digest = "sha256:0"',
    'dialects = ["openai-chat"]',
    "context_tokens = 1",
    "max_output_tokens = 1",
    "tools = true",
    'media = ["image"]',
    "timeouts = {}",
  ];
  for (const line of restated) {
    const key = line.split(" ", 1)[0] as string;
    const text = file({ members: `{ id = "a", endpoint = "http://127.0.0.1:8001", ${line} }` });
    assert.deepEqual(problems(text), [[`tiers[0].members[0].${key}`, "declared_on_member"]]);
    assert.equal(
      message(text),
      `\`${key}\` is declared once, on the tier; remove it from the member`,
    );
  }
});

Deno.test("config: everything wrong at once", () => {
  const text = `
schema = 2
nodes = "gpu-a"
[listen]
data = "0.0.0.0:8080"
admin = "0.0.0.0:8080"
[auth]
allow_unauthenticated_loopback = true
[limits]
requests = 0
body_mb = 1
[probes]
interval_ms = "fast"
[[tiers]]
id = "primary"
served_model = "org/model"
engine = "LM Studio"
dialects = ["openai-chat"]
identity = { kind = "openai-models" }
members = [
  { id = "a", endpoint = "http://127.0.0.1:8001" },
  { id = "a", endpoint = "http://192.0.2.20:8001" },
]
[[tiers]]
id = "primary"
dialects = ["openai-chats"]
identity = {}
admission = { in_flight = 0 }
members = [
  { id = "B", endpoint = "https://127.0.0.1:8001", revision = "r" },
  { id = "c", endpoint = "http://127.0.0.1:8002" },
  { id = "d", endpoint = "http://127.0.0.1:8002" },
]
[aliases]
"llm.primary" = "primery"
other = 3
`;
  assert.deepEqual(problems(text), [
    ["schema", "not_allowed"],
    ["node", "missing"],
    ["limits.requests", "out_of_range"],
    ["limits.body_mb", "unknown_key"],
    ["probes.interval_ms", "wrong_type"],
    ["tiers[1].served_model", "missing"],
    ["tiers[1].dialects[0]", "not_allowed"],
    ["tiers[1].identity.kind", "missing"],
    ["tiers[1].members[0].id", "malformed"],
    ["tiers[1].members[0].endpoint", "endpoint_tls"],
    ["tiers[1].members[0].revision", "declared_on_member"],
    ["tiers[1].admission.in_flight", "out_of_range"],
    ["aliases.other", "wrong_type"],
    ["nodes", "unknown_key"],
    ["tiers[1].id", "duplicate_id"],
    ["tiers[0].members[1].id", "duplicate_id"],
    ["tiers[1].members[2].endpoint", "duplicate_endpoint"],
    ["tiers[0].members", "members_on_two_hosts"],
    ["tiers[0].identity.kind", "identity_proves_nothing"],
    ['aliases."llm.primary"', "alias_to_nowhere"],
    ["auth.allow_unauthenticated_loopback", "unauthenticated_off_loopback"],
    ["listen.admin", "listeners_collide"],
  ]);
  const told = message(text);
  assert.match(told, /no tier is called "primery"; did you mean "primary"\?/);
  assert.match(told, /did you mean `node`\? If not, remove it/);
  assert.match(told, /found another text; did you mean "openai-chat"\?/);
});

Deno.test("config: a token in the wrong place is quoted nowhere", () => {
  const token = `anvil_${"C".repeat(43)}`;
  const text = file({
    top: `${token} = 1\ntoken = "${token}"`,
    auth: `"${token}"`,
    tier: `id = "${token}"`,
    identity: token,
    members: `{ id = "${token}", endpoint = "http://u:${token}@192.0.2.1:1" }`,
    tail: `[aliases]\nx = "${token}"\n${token} = "nowhere"`,
  }).replace('id = "primary"\n', "");
  const read = readConfig(text);
  assert.equal(read.kind, "invalid");
  const told = JSON.stringify(read);
  assert.ok(told.includes("anvil_[secret]"));
  assert.ok(!told.includes("CCCC"), told);
});

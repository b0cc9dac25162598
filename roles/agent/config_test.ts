import assert from "node:assert/strict";
import { bindRefusal } from "./commands/run.ts";
import { readConfig } from "./config.ts";

const LEAST = `schema = 1
node = "gpu-a"
roles = []
listen = "127.0.0.1:8766"
state = "state"
`;

function problems(text: string): string[] {
  const read = readConfig(text);
  return read.kind === "ok" ? [] : read.problems.map(({ path, code }) => `${path} ${code}`);
}

Deno.test("agent config: the least there is, with its defaults", () => {
  const read = readConfig(LEAST);
  assert.ok(read.kind === "ok");
  assert.deepEqual(read.model.limits, {
    reads: 32,
    mutations: 4,
    body_seconds: 10,
    drain_seconds: 30,
    audit_mib: 64,
    audit_files: 16,
  });
  assert.deepEqual(read.model.listen, { hostname: "127.0.0.1", port: 8766 });
});

Deno.test("agent config: every rule alone", () => {
  const cases: [string, string, string[]][] = [
    ["schema = 1", "schema = 2", ["schema not_allowed"]],
    ['"gpu-a"', '"GPU"', ["node malformed"]],
    ["roles = []", 'roles = ["gateways"]', ["roles[0] not_allowed"]],
    ["roles = []", 'roles = ["gateway", "gateway"]', ["roles[1] duplicate_role"]],
    ["127.0.0.1:8766", "localhost:8766", ["listen address_malformed"]],
    ["127.0.0.1:8766", "0.0.0.0:8766", ["auth.clients unauthenticated_off_loopback"]],
    ['state = "state"', "", ["state missing"]],
    ['state = "state"', 'state = "state"\nlimit = 1', ["limit unknown_key"]],
    ['state = "state"', 'state = "state"\ntopology = "x"', ["topology malformed"]],
    [
      'state = "state"',
      'state = "s"\n[router]\nadmin = "http://192.0.2.1:80"',
      ["router.admin router_off_loopback"],
    ],
    ['state = "state"', 'state = "s"\n[router]\nadmin = "x"', ["router.admin endpoint_malformed"]],
    ['state = "state"', 'state = "s"\n[limits]\nreads = 0', ["limits.reads out_of_range"]],
  ];
  for (const [from, to, expected] of cases) {
    assert.deepEqual(problems(LEAST.replace(from, to)), expected, to);
  }
});

Deno.test("agent config: everything wrong at once", () => {
  const text = 'schema = 2\nnode = 1\nroles = ["x", "x"]\nlisten = "192.0.2.1:80"\nmore = 1\n';
  assert.deepEqual(problems(text).sort(), [
    "auth.clients unauthenticated_off_loopback",
    "more unknown_key",
    "node wrong_type",
    "roles[0] not_allowed",
    "roles[1] duplicate_role",
    "roles[1] not_allowed",
    "schema not_allowed",
    "state missing",
  ]);
});

Deno.test("bind safety: tokens, or loopback and the flag", () => {
  const ended = (hostname: string, clients: string | undefined, tokens: number, flag: boolean) =>
    bindRefusal(
      { listen: { hostname, port: 1 }, auth: clients === undefined ? {} : { clients } },
      tokens,
      flag,
    )?.code ?? "may";
  assert.equal(ended("127.0.0.1", undefined, 0, false), "tokens_required");
  assert.equal(ended("127.0.0.1", undefined, 0, true), "may");
  assert.equal(ended("::1", undefined, 0, true), "may");
  assert.equal(ended("192.0.2.1", undefined, 0, true), "tokens_required");
  assert.equal(ended("0.0.0.0", undefined, 0, true), "tokens_required");
  assert.equal(ended("192.0.2.1", "c", 0, false), "tokens_required");
  assert.equal(ended("192.0.2.1", "c", 1, false), "may");
  assert.equal(ended("127.0.0.1", "c", 0, false), "may");
  assert.equal(ended("127.0.0.1", "c", 1, true), "auth_ambiguous");
});

import assert from "node:assert/strict";
import { countedRandom } from "../../lib/testing/counted_random.ts";
import { sha256 } from "../../lib/host/digest.ts";
import { type Clients, newToken, readClients, Roster } from "./clients.ts";

const digest = (text: string) => sha256(new TextEncoder().encode(text));
const hash = (token: string) => digest(token).toHex();

const NOW = Date.UTC(2026, 5, 1);
const OLD = "anvil_old";
const NEW = "anvil_new";
const SPENT = "anvil_spent";

function clients(text: string): Clients {
  const read = readClients(text);
  assert.ok(read.kind === "ok", JSON.stringify(read));
  return read.model;
}

const token = (id: string, secret: string, rest = "") =>
  `{ id = "${id}", sha256 = "${hash(secret)}", created_at = "2026-01-01T00:00:00Z"${rest} }`;

const roster = new Roster(
  clients(`
schema = 1
[[clients]]
name = "app"
scopes = ["infer"]
tokens = [
  ${token("t1", OLD, ', expires_at = "2026-06-01T00:00:01Z"')},
  ${token("t2", NEW)},
  ${token("t3", SPENT, ', expires_at = "2026-06-01T00:00:00Z"')},
]
[[clients]]
name = "ops"
scopes = ["observe", "admin"]
tokens = [${token("t4", "anvil_ops")}]
[[clients]]
name = "nobody"
scopes = ["infer"]
`),
  digest,
);

function whose(headers: HeadersInit, now = NOW): string {
  const proven = roster.authenticate(new Headers(headers), now);
  return proven.kind === "known"
    ? `${proven.principal.name} ${[...proven.principal.scopes].join()}`
    : proven.kind;
}

const bearer = (text: string) => ({ authorization: `Bearer ${text}` });

Deno.test("clients: two tokens of one client are valid at once, each until it expires", () => {
  assert.equal(whose(bearer(OLD)), "app infer");
  assert.equal(whose(bearer(NEW)), "app infer");
  assert.equal(whose(bearer(OLD), NOW + 999), "app infer");
  assert.equal(whose(bearer(OLD), NOW + 1000), "unknown");
  assert.equal(whose(bearer(NEW), NOW + 1e12), "app infer");
  assert.equal(whose(bearer(SPENT), NOW - 1), "app infer");
  assert.equal(whose(bearer(SPENT)), "unknown");
  assert.equal(whose(bearer("anvil_ops")), "ops observe,admin");
});

Deno.test("clients: where a token may stand", () => {
  assert.equal(whose({}), "missing");
  assert.equal(whose({ authorization: "" }), "missing");
  assert.equal(whose({ "x-api-key": "" }), "missing");
  assert.equal(whose({ authorization: `Basic ${NEW}` }), "missing");
  assert.equal(whose({ authorization: NEW }), "missing");
  assert.equal(whose({ authorization: `bearer   ${NEW}` }), "app infer");
  assert.equal(whose({ "x-api-key": NEW }), "app infer");
  assert.equal(whose({ ...bearer("wrong"), "x-api-key": NEW }), "unknown");
  assert.equal(whose({ authorization: "Basic x", "x-api-key": NEW }), "app infer");
  const twice: [string, string][] = [
    ["authorization", `Bearer ${NEW}`],
    ["authorization", "Bearer wrong"],
  ];
  assert.equal(whose(twice), "missing");
  assert.equal(whose(bearer(hash(NEW))), "unknown");
  assert.equal(whose(bearer(NEW.toUpperCase())), "unknown");
});

Deno.test("clients: the file's rules", () => {
  const good = token("t1", OLD);
  const one = (line: string) =>
    `schema = 1\n[[clients]]\nname = "app"\nscopes = ["infer"]\n${line}`;
  const cases: [string, [string, string][]][] = [
    ["schema = 1", []],
    ["", [["schema", "missing"]]],
    ["schema = 1\nclient = []", [["client", "unknown_key"]]],
    [one("scope = 1"), [["clients[0].scope", "unknown_key"]]],
    [one('tokens = ["x"]'), [["clients[0].tokens[0]", "wrong_type"]]],
    [one(`tokens = [${good}]`).replace('"infer"', '"root"'), [[
      "clients[0].scopes[0]",
      "not_allowed",
    ]]],
    [one("").replace('"infer"', ""), [["clients[0].scopes", "out_of_range"]]],
    [one(`tokens = [${good.replace(hash(OLD), hash(OLD).toUpperCase())}]`), [[
      "clients[0].tokens[0].sha256",
      "malformed",
    ]]],
    [one(`tokens = [${good.replace("2026-01-01T00:00:00Z", "2026-01-01")}]`), [[
      "clients[0].tokens[0].created_at",
      "malformed",
    ]]],
    [one(`tokens = [${token("t1", OLD, ', expires_at = "2026-02-30T00:00:00Z"')}]`), [[
      "clients[0].tokens[0].expires_at",
      "malformed",
    ]]],
    [one(`tokens = [${good}, ${token("t1", NEW)}]`), [["clients[0].tokens[1].id", "duplicate_id"]]],
    [one(`tokens = [${good}, ${token("t2", OLD)}]`), [[
      "clients[0].tokens[1].sha256",
      "duplicate_id",
    ]]],
    [`${one("")}\n[[clients]]\nname = "app"\nscopes = ["admin"]`, [[
      "clients[1].name",
      "duplicate_id",
    ]]],
    [
      one(
        `tokens = [${
          Array.from({ length: 17 }, (_, i) => token(`t${i}`, `secret-${i}`)).join(", ")
        }]`,
      ),
      [["clients[0].tokens", "out_of_range"]],
    ],
  ];
  for (const [text, expected] of cases) {
    const read = readClients(text);
    const found = read.kind === "ok" ? [] : read.problems.map(({ path, code }) => [path, code]);
    assert.deepEqual(found, expected, text);
  }
});

Deno.test("clients: no problem quotes a token or a hash", () => {
  const secret = `anvil_${"S".repeat(43)}`;
  const digest = hash(secret);
  const line = `{ id = "t", sha256 = "${digest}", created_at = "2026-01-01T00:00:00Z" }`;
  const client = (name: string, tokens: string) =>
    `[[clients]]\nname = "${name}"\nscopes = ["infer"]\ntokens = [${tokens}]\n`;
  const texts = [
    `schema = 1\n${client("a", line)}${client("b", line)}`,
    `schema = 1\n${client("a", line.replace("sha256 =", "sha512 ="))}`,
    `schema = 1\n${client("a", line.replace(digest, secret))}`,
    `schema = 1\n${client("a", line.replace(digest, `${digest}0`))}`,
    `schema = 1\n${client("a", `"${secret}"`)}`,
    `schema = 1\n${client("a", `{ ${secret} = 1 }`)}`,
    `schema = 1\n${client(secret, line)}`,
    `schema = 1\n${client("a", line).replace('"infer"', `"${secret}"`)}`,
    `schema = ${secret}`,
    `schema = 1\n${secret}`,
    `schema = 1\nx = "${digest}`,
  ];
  for (const text of texts) {
    const read = readClients(text);
    assert.equal(read.kind, "invalid", text);
    const told = JSON.stringify(read);
    assert.ok(!told.includes("SSSS") && !told.includes(digest.slice(0, 16)), told);
  }
});

Deno.test("clients: a fresh token is 256 random bits and shows itself only when asked", () => {
  const secret = newToken(countedRandom());
  assert.equal(secret.reveal(), "anvil_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8");
  assert.ok(!`${secret}${JSON.stringify({ secret })}${Deno.inspect(secret)}`.includes("AAEC"));
});

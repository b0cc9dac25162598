import assert from "node:assert/strict";
import type { Clients } from "../../../lib/credential/clients.ts";
import { editTokens, type TokenRequest } from "./token_edits.ts";

const NOW = "2026-06-01T00:00:00.000Z";
const LATER = "2026-06-01T01:00:00.000Z";
const hash = (letter: string) => letter.repeat(64);
const token = (id: string, letter: string, expires_at?: string) => ({
  ...{ id, sha256: hash(letter), created_at: "2026-01-01T00:00:00Z" },
  ...(expires_at === undefined ? {} : { expires_at }),
});

const CLIENTS: Clients<string> = {
  schema: 1,
  clients: [
    { name: "admin", scopes: ["*"], tokens: [token("admin-1", "a")] },
    { name: "keeper", scopes: ["tokens.*", "node.*:read"], tokens: [token("keeper-1", "b")] },
    {
      name: "watch",
      scopes: ["node.*:read"],
      tokens: [
        token("watch-1", "c"),
        token("watch-2", "d", "2026-06-01T00:30:00Z"),
        token("watch-old", "e", "2026-05-01T00:00:00Z"),
      ],
    },
  ],
};
const ADDED = { id: "new", sha256: hash("f"), created_at: NOW, expires_at: null };

const edit = (request: TokenRequest, principal = "admin", clients = CLIENTS) =>
  editTokens(clients, request, principal, NOW);
const code = (...args: Parameters<typeof edit>) => {
  const got = edit(...args);
  return "kind" in got ? got.code : "ok";
};
const issue = (client: string, scopes: string[] | null): TokenRequest => ({
  ...{ change: "issue", client, scopes, token: ADDED },
});
const rotate = (client: string): TokenRequest => ({
  ...{ change: "rotate", client, token: ADDED, others_end_at: LATER },
});
const revoke = (client: string | null, id: string | null): TokenRequest => ({
  ...{ change: "revoke", client, id },
});

Deno.test("tokens: nobody gives more than they have, to a new client or to a known one", () => {
  assert.equal(code(issue("new", ["*"]), "keeper"), "scope_not_held");
  assert.equal(code(issue("new", ["node.*"]), "keeper"), "scope_not_held");
  assert.equal(code(issue("new", ["node.facts:read"]), "keeper"), "ok");
  assert.equal(code(issue("admin", null), "keeper"), "scope_not_held");
  assert.equal(code(rotate("admin"), "keeper"), "scope_not_held");
  assert.equal(code(rotate("watch"), "keeper"), "ok");
  assert.equal(code(issue("new", ["node.facts:read"]), "stranger"), "scope_not_held");
});

Deno.test("tokens: a rotation ends the others after the overlap, never later than they would have", () => {
  const got = edit(rotate("watch"));
  assert.ok(!("kind" in got));
  assert.deepEqual(got.effect, {
    client: "watch",
    scopes: ["node.*:read"],
    added: "new",
    expires_at: null,
    ended: [{ id: "watch-1", at: LATER }, { id: "watch-2", at: "2026-06-01T00:30:00Z" }],
    valid: ["watch-1", "watch-2", "new"],
  });
  const watch = got.clients.clients.find(({ name }) => name === "watch");
  assert.deepEqual(watch?.tokens.map(({ id }) => id), ["watch-1", "watch-2", "new"]);
  // Asked for once more, under another key: the same end.
  const again = edit(rotate("watch"), "admin", got.clients);
  assert.ok(!("kind" in again));
  assert.deepEqual(again.clients, got.clients);
});

Deno.test("tokens: a rotation makes no token that lives longer than the one before", () => {
  const day = 86_400_000;
  const tokens = [
    { ...token("old", "1", "2026-12-01T00:00:00Z"), created_at: "2025-12-01T00:00:00Z" },
    { ...token("newest", "2", "2026-06-11T00:00:00Z"), created_at: "2026-05-12T00:00:00Z" },
  ];
  const clients = { ...CLIENTS, clients: [{ name: "admin", scopes: ["*"], tokens }] };
  const got = edit(rotate("admin"), "admin", clients);
  assert.ok(!("kind" in got));
  const end = new Date(Date.parse(NOW) + 30 * day).toISOString();
  assert.equal(got.effect.expires_at, end);
  // Again after a lost answer: the others are shorter by now, and it stays as it was made.
  const again = edit(rotate("admin"), "admin", got.clients);
  assert.ok(!("kind" in again));
  assert.equal(again.effect.expires_at, end);
  const said = { ...rotate("admin"), token: { ...ADDED, expires_at: LATER } } as TokenRequest;
  const longer = edit(said, "admin", clients);
  assert.equal("kind" in longer ? null : longer.effect.expires_at, LATER);
});

Deno.test("tokens: an issue leaves the others alone, and tells a taken id from a retry", () => {
  const got = edit(issue("watch", null));
  assert.ok(!("kind" in got));
  assert.deepEqual(got.effect.ended, []);
  assert.equal(got.clients.clients[2]?.tokens.length, 4);
  assert.equal(code(issue("watch", null), "admin", got.clients), "ok");
  const other = { ...ADDED, sha256: hash("9") };
  assert.equal(
    code({ ...issue("watch", null), token: other } as TokenRequest, "admin", got.clients),
    "token_id_taken",
  );
  assert.equal(code(issue("watch", ["*"])), "scopes_differ");
  assert.equal(code(issue("new", null)), "scopes_missing");
  const tokens = Array.from({ length: 16 }, (_, at) => token(`t-${at}`, (at % 16).toString(16)));
  const full = { ...CLIENTS, clients: [{ name: "admin", scopes: ["*"], tokens }] };
  assert.equal(code(issue("admin", null), "admin", full), "token_id_taken"); // its hash is there
  const fresh = { ...ADDED, sha256: "0f".repeat(32) };
  assert.equal(
    code({ ...issue("admin", null), token: fresh } as TokenRequest, "admin", full),
    "tokens_full",
  );
});

Deno.test("tokens: a revocation by id, by client, and never of everything that asks", () => {
  const one = edit(revoke(null, "watch-1"));
  assert.ok(!("kind" in one));
  assert.deepEqual(one.effect, {
    client: "watch",
    scopes: ["node.*:read"],
    added: null,
    expires_at: null,
    ended: [{ id: "watch-1", at: NOW }],
    valid: ["watch-2"],
  });
  const all = edit(revoke("watch", null));
  assert.ok(!("kind" in all));
  assert.deepEqual(all.clients.clients.map(({ name }) => name), ["admin", "keeper"]);
  assert.deepEqual(all.effect.ended.map(({ id }) => id), ["watch-1", "watch-2"]);
  assert.equal(code(revoke("admin", null)), "would_lock_out");
  assert.equal(code(revoke(null, "admin-1")), "would_lock_out");
  assert.equal(code(revoke(null, "none")), "token_absent");
  assert.equal(code(revoke("none", null)), "client_absent");
  assert.equal(code(rotate("none")), "client_absent");
});

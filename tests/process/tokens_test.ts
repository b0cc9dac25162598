import assert from "node:assert/strict";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { startEngine } from "../fixtures/engine.ts";
import { exchange, parseResponse } from "../fixtures/raw_client.ts";
import { runRole } from "../support/role_process.ts";
import { withRouterProcess } from "../support/router_process.ts";
import { TOKEN } from "../support/router_toml.ts";
import { ask, askBody, CHAT } from "../support/stream_reader.ts";
import { pause, until } from "../support/wait.ts";

const CLIENTS = "clients.toml";

async function statusFor(port: number, token: string): Promise<number> {
  const request = ask(CHAT, askBody(), { authorization: `Bearer ${token}` });
  return parseResponse((await exchange(port, request)).bytes)?.status ?? 0;
}

async function add(folder: string, name: string, ...more: string[]): Promise<string> {
  const done = await runRole("router", folder, ["tokens", "add", CLIENTS, name, ...more]);
  assert.equal(done.code, 0, done.stderr);
  const token = done.stdout.trim();
  assert.match(token, /^anvil_[A-Za-z0-9_-]{43}$/);
  assert.equal(done.stderr.includes(token), false, "said twice");
  return token;
}

async function list(folder: string) {
  const done = await runRole("router", folder, ["tokens", "list", "--json", CLIENTS]);
  assert.equal(done.code, 0, done.stderr);
  const { data } = JSON.parse(done.stdout) as {
    data: readonly { client: string; scopes: readonly string[]; id: string; state: string }[];
  };
  return data;
}

Deno.test("tokens: added, listed, revoked; only the hash is stored, in a private file", async () => {
  await using dir = await tempDir();
  const token = await add(dir.path, "laptop");
  const watch = ["--scope", "observe", "--scope", "admin", "--out", "watch.token"];
  const out = await runRole("router", dir.path, ["tokens", "add", CLIENTS, "watch", ...watch]);
  assert.equal(out.code, 0, out.stderr);
  assert.equal(out.stdout, "");
  const watchToken = (await Deno.readTextFile(dir.at("watch.token"))).trim();
  assert.match(watchToken, /^anvil_/);
  const stored = await Deno.readTextFile(dir.at(CLIENTS));
  assert.equal(stored.includes(token) || stored.includes(watchToken), false);
  if (Deno.build.os !== "windows") {
    for (const name of [CLIENTS, "watch.token"]) {
      assert.equal(((await Deno.stat(dir.at(name))).mode ?? 0) & 0o777, 0o600, name);
    }
  }
  const rows = await list(dir.path);
  assert.deepEqual(rows.map(({ client, scopes, state }) => [client, scopes.join(), state]), [
    ["laptop", "infer", "valid"],
    ["watch", "observe,admin", "valid"],
  ]);
  const id = rows[0]?.id ?? "";
  const revoked = await runRole("router", dir.path, ["tokens", "revoke", CLIENTS, id]);
  assert.equal(revoked.code, 0, revoked.stderr);
  assert.deepEqual((await list(dir.path)).map(({ client }) => client), ["watch"]);
  const again = await runRole("router", dir.path, ["tokens", "revoke", CLIENTS, id]);
  assert.equal(again.code, 1);
  assert.match(again.stderr, /^token_unknown: /);
  const bad = await runRole("router", dir.path, ["tokens", "add", CLIENTS, "Bad Name"]);
  assert.equal(bad.code, 2, bad.stderr);
});

Deno.test("two people add at once: both find their token", async () => {
  await using dir = await tempDir();
  const names = ["one", "two", "three"];
  const done = await Promise.all(
    names.map((name) => runRole("router", dir.path, ["tokens", "add", CLIENTS, name])),
  );
  const added = names.filter((_, index) => done[index]?.code === 0);
  // Who does not get the lock is told so, and nothing of theirs is stored.
  for (const one of done) {
    if (one.code !== 0) {
      assert.equal(one.code, 1, one.stderr);
      assert.match(one.stderr, /clients_locked: /);
      assert.equal(one.stdout, "");
    }
  }
  assert.ok(added.length >= 1);
  assert.deepEqual((await list(dir.path)).map(({ client }) => client).sort(), added.sort());
});

Deno.test("a rotation without a gap: old and new at once, then the old one is refused", async () => {
  const engine = await startEngine();
  try {
    await withRouterProcess({ members: [engine.port] }, async (router, dir) => {
      assert.equal(await statusFor(router.port, TOKEN), 200);
      const fresh = await add(dir.path, "tester");
      await until("the new token is known", async () => {
        assert.equal(await statusFor(router.port, TOKEN), 200, "the old one goes on");
        return await statusFor(router.port, fresh) === 200;
      }, 5000);
      const revoked = await runRole("router", dir.path, ["tokens", "revoke", CLIENTS, "tk-tester"]);
      assert.equal(revoked.code, 0, revoked.stderr);
      await until("the old token is refused", async () => {
        assert.equal(await statusFor(router.port, fresh), 200, "the new one never fails");
        return await statusFor(router.port, TOKEN) === 401;
      }, 5000);
      for (let turn = 0; turn < 10; turn++) {
        assert.equal(await statusFor(router.port, TOKEN), 401);
        assert.equal(await statusFor(router.port, fresh), 200);
      }
      // A file that became wrong, or open to others, changes nothing, loudly.
      const good = await Deno.readTextFile(dir.at(CLIENTS));
      await Deno.writeTextFile(dir.at(CLIENTS), "nonsense = ");
      await until("it is said", () => router.stderr.includes("the clients file cannot be used"));
      assert.equal(await statusFor(router.port, fresh), 200);
      assert.equal(await statusFor(router.port, TOKEN), 401);
      await Deno.writeTextFile(dir.at(CLIENTS), good);
      await pause(50);
      assert.equal(await statusFor(router.port, fresh), 200);
    });
  } finally {
    await engine.close();
  }
});

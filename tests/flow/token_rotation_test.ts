import assert from "node:assert/strict";
import { sha256 } from "../../lib/host/digest.ts";
import { json, problem, SimulatedNode } from "../fixtures/node.ts";
import { CANARY, type DispatchRig, dispatchRig } from "../support/dispatch.ts";

const hashOf = (token: string) => sha256(token).toHex();

/** A node with a clients file in memory: it knows tokens by their hash. */
class Keeper implements AsyncDisposable {
  readonly node: SimulatedNode;
  readonly known = new Set([hashOf(CANARY)]);
  readonly clients = new Set(["me", "laptop"]);
  rotations = 0;

  constructor(name: string, refuses: () => boolean = () => false) {
    this.node = new SimulatedNode(name, ({ method, path, headers, body }) => {
      if (path === "/livez") return null;
      const token = (headers.get("authorization") ?? "").slice("Bearer ".length);
      if (!this.known.has(hashOf(token))) return problem(401, "token_unknown");
      if (method !== "POST") return null;
      const { input, dry_run, confirm } = JSON.parse(body);
      const told = (result: unknown) =>
        json({ operation: path.split("/").at(-1), dry_run, known: false, result });
      if (path.endsWith("tokens.revoke")) {
        if (!this.clients.has(input.client)) return problem(409, "client_absent");
        if (!dry_run && !confirm) return problem(409, "confirm_required");
        if (!dry_run) this.clients.delete(input.client);
        const ended = [{ id: "tk-1", at: "2026-01-01T00:00:00Z" }];
        return told({ client: input.client, ended, valid: [], added: null });
      }
      const ended = [{ id: "tk-old", at: "2026-01-01T00:00:00Z" }];
      const effect = { client: "me", added: input.token.id, ended, valid: [input.token.id] };
      if (dry_run) return told({ effect });
      if (refuses()) return problem(503, "audit_unwritable");
      this.rotations++;
      this.known.add(input.token.sha256);
      return told(effect);
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.node[Symbol.asyncDispose]();
  }
}

async function tokenOf(rig: DispatchRig, name: string): Promise<string> {
  return (await Deno.readTextFile(rig.folder.at(`tokens/${name}`))).trim();
}

const ALL = ["tokens", "rotate", "--target", "all"] as const;

Deno.test("rotate --target all: one host is down; the same command goes on with it alone", async () => {
  await using a = new Keeper("gpu-a");
  await using b = new Keeper("gpu-b");
  let down = true;
  await using c = new Keeper("gpu-c", () => down);
  const hosts = [["gpu-a", a.node.port], ["gpu-b", b.node.port], ["gpu-c", c.node.port]] as const;
  await using rig = await dispatchRig(hosts);

  const first = await rig.run(...ALL);
  assert.equal(first.code, 0, "partial success is the normal result");
  // How far it reaches stands before what was done.
  assert.match(first.err, /^plan for gpu-a: client me, tk-\w+ ends never, tk-old ends 2026-01-01/m);
  assert.match(first.err, /^1 hosts still have their old token: gpu-c$/m);
  assert.match(first.out, /^gpu-c +(busy|refused) +audit_unwritable/m);
  const made = await Promise.all(["gpu-a", "gpu-b"].map((name) => tokenOf(rig, name)));
  assert.ok(made.every((token) => token !== CANARY));
  assert.equal(await tokenOf(rig, "gpu-c"), CANARY);

  const strict = await rig.run(...ALL, "--require-all");
  assert.equal(strict.code, 1);
  assert.match(strict.err, /^going on with the rotation of 2\S+: 1 of 3 hosts are left/m);
  down = false;
  const last = await rig.run(...ALL, "--require-all");
  assert.equal(last.code, 0, last.err);
  assert.match(last.out, /^gpu-a +done +\S* *0 ms +rotated already at 2/m);
  assert.notEqual(await tokenOf(rig, "gpu-c"), CANARY);
  assert.deepEqual([a.rotations, b.rotations, c.rotations], [1, 1, 1], "nobody twice");
  assert.deepEqual(
    await Promise.all(["gpu-a", "gpu-b"].map((name) => tokenOf(rig, name))),
    made,
  );
  const left = [...Deno.readDirSync(rig.folder.at("tokens"))].map(({ name }) => name);
  assert.ok(!left.some((name) => name === ".rotation" || name.startsWith(".pending-")), `${left}`);

  // It is over: the next one is a new one.
  const next = await rig.run(...ALL);
  assert.doesNotMatch(next.err, /going on/);
  assert.deepEqual([a.rotations, b.rotations, c.rotations], [2, 2, 2]);
});

Deno.test("rotate --target all: --anew, an old record and a damaged one begin again", async () => {
  await using a = new Keeper("gpu-a");
  await using b = new Keeper("gpu-b");
  await using rig = await dispatchRig([["gpu-a", a.node.port], ["gpu-b", b.node.port]]);
  const record = (at: string) =>
    JSON.stringify({ schema: 1, at, hosts: ["gpu-a", "gpu-b"], done: { "gpu-a": at } });
  const leave = async (text: string) => {
    await Deno.mkdir(rig.folder.at("tokens/.rotation"));
    await Deno.writeTextFile(rig.folder.at("tokens/.rotation/record.json"), text);
  };
  const now = new Date().toISOString();
  await leave(record(now));
  assert.equal((await rig.run(...ALL)).code, 0);
  assert.deepEqual([a.rotations, b.rotations], [0, 1]);
  await leave(record(now));
  assert.equal((await rig.run(...ALL, "--anew")).code, 0);
  assert.deepEqual([a.rotations, b.rotations], [1, 2]);
  await leave(record("2026-01-01T00:00:00.000Z"));
  assert.equal((await rig.run(...ALL)).code, 0);
  assert.deepEqual([a.rotations, b.rotations], [2, 3]);
  await leave("{");
  assert.equal((await rig.run(...ALL)).code, 0);
  assert.deepEqual([a.rotations, b.rotations], [3, 4]);
});

Deno.test("rotate --target all: two at once; a host alone is not held up by a record", async () => {
  await using a = new Keeper("gpu-a");
  await using b = new Keeper("gpu-b");
  await using rig = await dispatchRig([["gpu-a", a.node.port], ["gpu-b", b.node.port]]);
  const both = await Promise.all([rig.run(...ALL), rig.run(...ALL)]);
  const busy = both.filter(({ err }) => /^store_busy/m.test(err));
  assert.ok(busy.length === 1 || a.rotations === 2, "one waits, or one after the other");
  const before = a.rotations;
  assert.equal((await rig.run("tokens", "rotate", "--target", "host:gpu-a")).code, 0);
  assert.equal(a.rotations, before + 1);
});

Deno.test("revoke --target all: shown first, and asked again it goes on with those that were down", async () => {
  await using a = new Keeper("gpu-a");
  await using b = new Keeper("gpu-b");
  await using rig = await dispatchRig([["gpu-a", a.node.port], ["gpu-b", b.node.port]]);
  const revoke = ["tokens", "revoke", "--target", "all", "--client"] as const;
  const shown = await rig.run(...revoke, "laptop");
  assert.equal(shown.code, 1);
  assert.match(shown.out, /^gpu-b +done .*client laptop, tk-1 ends 2026-01-01/m);
  assert.match(shown.err, /confirm_required/);
  assert.ok(a.clients.has("laptop"), "nothing was done");
  // As after a command that reached only one of them.
  a.clients.delete("laptop");
  const again = await rig.data(...revoke, "laptop", "--confirm", "--require-all");
  assert.equal(again.code, 0, again.err);
  assert.ok(!b.clients.has("laptop"));
  const nobody = await rig.data(...revoke, "laptpo", "--confirm");
  assert.equal(nobody.code, 1, "a client that nobody has is a mistake");
  assert.deepEqual(nobody.outcomes.map(({ code }) => code), ["client_absent", "client_absent"]);
});

import assert from "node:assert/strict";
import { done, fell, type Outcome } from "../../lib/dispatch/outcome.ts";
import { sha256 } from "../../lib/host/digest.ts";
import { everyMoment } from "../../lib/testing/every_moment.ts";
import { countedRandom } from "../../lib/testing/counted_random.ts";
import { FakeClock } from "../../lib/testing/fake_clock.ts";
import { fakeDirectories } from "../../lib/testing/fake_directories.ts";
import type { FakeDisk } from "../../lib/testing/fake_disk.ts";
import type { Visitor } from "../../roles/operator/dispatch.ts";
import type { Operator } from "../../roles/operator/operator.ts";
import { openRotation } from "../../roles/operator/rotation.ts";
import { changeToken } from "../../roles/operator/token_change.ts";
import { operatorAt } from "../fixtures/operator_cli.ts";

const STORE = "/disk/tokens";
const OLD = "the-token-before";
const HOST = {
  host: "gpu-a",
  endpoint: { scheme: "http", hostname: "192.0.2.1", port: 9 },
  node: "gpu-a",
  token: "gpu-a",
} as const;

/** What the node knows: it lives on when the operator dies. */
const nodes = new WeakMap<FakeDisk, Set<string>>();

function hashOf(token: string): string {
  return sha256(token).toHex();
}

function textOf(disk: FakeDisk, path: string): string | null {
  const file = disk.contents.get(path);
  return file?.kind === "file" ? new TextDecoder().decode(file.bytes).trim() : null;
}

function operatorOn(disk: FakeDisk, random: Operator["dispatch"]["random"]): Operator {
  const operator = operatorAt("/disk");
  return {
    ...operator,
    ports: {
      ...operator.ports,
      files: disk.files,
      directories: fakeDirectories(disk),
      tryLock: disk.tryLock,
      clock: new FakeClock(),
    },
    dispatch: { ...operator.dispatch, random },
  };
}

/** A node that lets the old tokens go at once: the hardest overlap. */
function visitorOn(disk: FakeDisk, known: Set<string>): Visitor {
  return async (host, ask, _signal, secret): Promise<Outcome> => {
    const token = secret?.reveal() ?? textOf(disk, `${STORE}/${host.token}`) ?? "";
    if (!known.has(hashOf(token))) {
      return fell(host.host, "unauthorized", "token_unknown", "no", { notSent: true });
    }
    if (ask.kind !== "call") return done(host.host, {});
    const { token: { sha256: hash } } = ask.input as { token: { sha256: string } };
    return await disk.effect(() => {
      known.clear();
      known.add(hash);
      return done(host.host, { client: "me", added: "x", ended: [], valid: [] });
    });
  };
}

/** The tokens this side still has. */
function held(disk: FakeDisk): string[] {
  return [`${STORE}/gpu-a`, `${STORE}/.pending-gpu-a/token`].flatMap((path) => {
    const text = textOf(disk, path);
    return text === null ? [] : [text];
  });
}

Deno.test("crash: a rotation that dies anywhere loses no access, and the next one goes on", async () => {
  let lives = 0;
  const moments = await everyMoment(async (disk, { deaths }) => {
    let known = nodes.get(disk);
    if (known === undefined) {
      known = new Set([hashOf(OLD)]);
      nodes.set(disk, known);
      const bytes = new TextEncoder().encode(OLD);
      disk.contents.set(`${STORE}/gpu-a`, { kind: "file", bytes, mode: 0o600 });
    }
    const alive = known;
    assert.ok(held(disk).some((token) => alive.has(hashOf(token))), "locked out by a crash");
    lives++;
    const before = textOf(disk, `${STORE}/gpu-a`);
    const random = countedRandom();
    const salt = lives; // a token of another life is another token
    const operator = operatorOn(disk, (length) => random(length).map((byte) => byte ^ salt & 0xff));
    const outcome = await changeToken(operator, visitorOn(disk, known), HOST, {
      operation: "tokens.rotate",
      input: {},
      name: "gpu-a",
      store: STORE,
      replace: true,
    }, new AbortController().signal);
    assert.equal(outcome?.kind, "done", JSON.stringify(outcome));
    const now = textOf(disk, `${STORE}/gpu-a`) ?? "";
    assert.notEqual(now, before, "it says done, and made none");
    assert.ok(known.has(hashOf(now)), `after ${deaths} the store holds a token nobody knows`);
    assert.deepEqual(held(disk), [now], "something is left aside");
    for (const [path, file] of disk.contents) {
      if (file.kind === "file" && !path.endsWith(".lock")) assert.equal(file.mode, 0o600, path);
    }
  }, 2);
  // make the store, make aside, write aside, tell the node, put in place, tidy up
  assert.equal(moments, MOMENTS);
});

/** A new effect in a rotation is a new number here. */
const MOMENTS = 15;

const HOSTS = ["gpu-a", "gpu-b"].map((host) => ({ ...HOST, host, node: host, token: host }));

Deno.test("crash: a rotation over two hosts that dies anywhere ends with both, and no host twice", async () => {
  const worlds = new WeakMap<FakeDisk, Map<string, Set<string>>>();
  let lives = 0;
  const moments = await everyMoment(async (disk) => {
    let world = worlds.get(disk);
    if (world === undefined) {
      world = new Map(HOSTS.map(({ host }) => [host, new Set([hashOf(OLD + host)])]));
      worlds.set(disk, world);
      for (const { host } of HOSTS) {
        const bytes = new TextEncoder().encode(OLD + host);
        disk.contents.set(`${STORE}/${host}`, { kind: "file", bytes, mode: 0o600 });
      }
    }
    lives++;
    const salt = lives;
    const random = countedRandom();
    const operator = operatorOn(disk, (length) => random(length).map((byte) => byte ^ salt & 0xff));
    const rotation = await openRotation(operator, STORE, HOSTS.map(({ host }) => host), false);
    assert.ok(rotation.kind === "rotation", JSON.stringify(rotation));
    await using _held = rotation;
    for (const host of HOSTS) {
      const known = world.get(host.host) ?? new Set();
      if (rotation.doneAt(host.host) !== null) {
        const kept = textOf(disk, `${STORE}/${host.host}`) ?? "";
        assert.ok(
          known.has(hashOf(kept)),
          "it is called done, and the node does not know the token",
        );
        assert.notEqual(kept, OLD + host.host, "it is called done, and has its old token");
        continue;
      }
      const outcome = await changeToken(operator, visitorOn(disk, known), host, {
        ...{ operation: "tokens.rotate", input: {}, name: host.token, store: STORE, replace: true },
      }, new AbortController().signal);
      assert.equal(outcome?.kind, "done", JSON.stringify(outcome));
      assert.equal(await rotation.mark(host.host), null);
    }
    assert.deepEqual(await rotation.end(), []);
    for (const { host } of HOSTS) {
      assert.ok(world.get(host)?.has(hashOf(textOf(disk, `${STORE}/${host}`) ?? "")), host);
    }
    assert.ok(![...disk.contents.keys()].some((path) => path.includes("/.rotation/")));
  }, 1);
  assert.ok(moments > MOMENTS * 2, String(moments));
});

import assert from "node:assert/strict";
import type { BootstrapCode } from "../../lib/bootstrap/codes.ts";
import { encodeFrame } from "../../lib/bootstrap/frames.ts";
import { everyMoment } from "../../lib/testing/every_moment.ts";
import type { FakeDisk } from "../../lib/testing/fake_disk.ts";
import { archiveOf, chunksOf } from "../../lib/testing/bundle_rig.ts";
import { Host, ID, newDisk, ONE, TWO } from "../../tests/support/receiver_rig.ts";

const code = (answer: { readonly ok: boolean; readonly code?: BootstrapCode }) =>
  answer.code ?? "ok";

Deno.test("receiver: from nothing to an agent, to the next, and back", async () => {
  const host = await Host.on(newDisk());
  const identity = await host.ask({ verb: "identity", expected_node: "n1" });
  assert.ok(identity.ok);
  assert.deepEqual([identity.phase, identity.current, identity.identity?.node], [
    "none",
    "none",
    "n1",
  ]);
  const first = await host.stage(ONE, ID(1));
  assert.deepEqual([first.ok, first.phase, first.current], [true, "installed", "none"]);
  const active = await host.activate(ONE, ID(1));
  assert.deepEqual([active.ok, active.phase, active.current], [
    true,
    "restarted",
    host.digest(ONE),
  ]);
  assert.deepEqual(host.running, [host.digest(ONE)]);
  await host.stage(TWO, ID(2));
  const next = await host.activate(TWO, ID(2));
  assert.deepEqual([next.phase, next.current, next.prior], [
    "restarted",
    host.digest(TWO),
    host.digest(ONE),
  ]);
  const back = await host.rollback(ID(2), "acceptance_failed");
  assert.deepEqual([back.ok, back.phase, back.error, back.current], [
    true,
    "rolled_back",
    "acceptance_failed",
    host.digest(ONE),
  ]);
  assert.deepEqual(host.running, [ONE, TWO, ONE].map((one) => host.digest(one)));
  const status = await host.ask({ verb: "status", operation_id: ID(2) });
  assert.deepEqual([status.ok, status.phase, status.unfinished], [true, "rolled_back", false]);
});

Deno.test("receiver: what comes again is answered and not done again", async () => {
  const host = await Host.on(newDisk());
  for (let time = 0; time < 2; time++) {
    const staged = await host.stage(ONE, ID(1));
    assert.deepEqual([staged.ok, staged.phase], [true, "installed"]);
  }
  for (let time = 0; time < 2; time++) assert.ok((await host.activate(ONE, ID(1))).ok);
  assert.equal(host.running.length, 1);
  const again = await host.stage(ONE, ID(1));
  assert.deepEqual([again.ok, again.phase], [true, "restarted"]);
  await host.stage(TWO, ID(2));
  await host.activate(TWO, ID(2));
  for (let time = 0; time < 2; time++) assert.ok((await host.rollback(ID(2))).ok);
  assert.equal(host.running.length, 3);
  assert.equal(code(await host.activate(TWO, ID(2))), "operation_unknown");
});

Deno.test("receiver: another node, configuration, owner, id, bundle or size is refused by name", async () => {
  const host = await Host.on(newDisk());
  assert.equal(code(await host.ask({ verb: "identity", expected_node: "n2" })), "wrong_node");
  assert.equal(code(await host.stage(ONE, ID(1), { expected_node: "n2" })), "wrong_node");
  const other = { config_digest: "f".repeat(64) };
  assert.equal(code(await host.stage(ONE, ID(1), other)), "receiver_mismatch");
  assert.equal(code(await host.activate(ONE, ID(1), other)), "receiver_mismatch");
  assert.equal(code(await host.activate(ONE, ID(1))), "operation_unknown");
  assert.equal(code(await host.rollback(ID(1))), "operation_unknown");
  assert.equal(code(await host.ask({ verb: "status", operation_id: ID(1) })), "operation_unknown");
  const wrong = await host.stage(ONE, ID(1), { manifest_digest: host.digest(TWO) });
  assert.deepEqual([code(wrong), wrong.phase], ["digest_mismatch", "refused"]);
  assert.equal(code(await host.stage(ONE, ID(1))), "operation_conflict");
  await host.stage(ONE, ID(2));
  assert.equal(code(await host.stage(TWO, ID(2))), "operation_conflict");
  assert.equal(code(await host.activate(TWO, ID(2))), "digest_mismatch");
  assert.equal(code(await host.rollback(ID(2))), "precondition_failed");
  const large = await host.stage(TWO, ID(3), { bundle_length: 600 * 1024 * 1024 });
  assert.equal(code(large), "bundle_refused");
  assert.equal(host.running.length, 0);
});

Deno.test("receiver: a configuration that is not its owner's alone stops everything", async () => {
  const host = await Host.on(newDisk());
  await host.stage(ONE, ID(1));
  for (
    const fault of [
      "file_shared",
      "file_not_regular",
      "file_not_owned",
      "file_not_private",
    ] as const
  ) {
    host.configFault = fault;
    assert.equal(code(await host.ask({ verb: "identity", expected_node: "n1" })), "config_unsafe");
    assert.equal(code(await host.activate(ONE, ID(1))), "config_unsafe", fault);
  }
  host.configFault = null;
  host.write({ bootstrap_authorized: false });
  assert.equal(code(await host.activate(ONE, ID(1))), "not_authorized");
  host.write({ node: '"N 1"' });
  assert.equal(code(await host.activate(ONE, ID(1))), "precondition_failed");
  assert.deepEqual(host.running, []);
});

Deno.test("receiver: a bundle that is cut, changed, lying or late is not installed", async () => {
  const host = await Host.on(newDisk());
  const archive = await archiveOf(ONE);
  const cut = await host.send(host.stageRequest(ONE, ID(1)), chunksOf(archive.subarray(0, 2000)));
  assert.deepEqual([code(cut), cut.phase], ["bundle_refused", "refused"]);
  const changed = Uint8Array.from(archive);
  changed[changed.length - 1500] = 0xff;
  assert.equal(
    code(await host.send(host.stageRequest(ONE, ID(1)), chunksOf(changed))),
    "bundle_refused",
  );
  const lying = host.stageRequest(ONE, ID(1), { bundle_length: archive.length - 1 });
  assert.equal(code(await host.send(lying, chunksOf(archive))), "bundle_refused");
  const more = async function* () {
    yield* chunksOf(archive);
    yield new Uint8Array(1);
  };
  assert.equal(code(await host.send(host.stageRequest(ONE, ID(1)), more())), "bundle_refused");
  const late = host.send(host.stageRequest(ONE, ID(1)), slow(archive.subarray(0, 700)));
  await host.clock.advance(900_000);
  assert.equal(code(await late), "deadline_exceeded");
  assert.deepEqual(host.generations(), []);
  assert.ok((await host.stage(ONE, ID(1))).ok);
  assert.deepEqual(host.generations(), [host.digest(ONE)]);
});

/** Gives `bytes` and then nothing, for ever. */
async function* slow(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
  await new Promise(() => {});
}

Deno.test("receiver: a frame that does not come, is torn, or has bytes behind it", async () => {
  const host = await Host.on(newDisk());
  const silent = host.serve(slow(new Uint8Array(0)));
  await host.clock.advance(10_000);
  assert.equal(code(await silent), "deadline_exceeded");
  const frame = encodeFrame({ protocol: 1, verb: "identity", expected_node: "n1" });
  for (const length of [0, 3, 4, frame.length - 1]) {
    assert.equal(code(await host.serve(chunksOf(frame.subarray(0, length)))), "invalid_contract");
  }
  assert.equal(code(await host.serve(chunksOf(frame, 1))), "ok");
  const more = new Uint8Array(frame.length + 1);
  more.set(frame);
  assert.equal(code(await host.serve(chunksOf(more))), "invalid_contract");
  assert.equal(
    code(await host.serve(chunksOf(new TextEncoder().encode("cat /etc/passwd\n")))),
    "invalid_contract",
  );
});

Deno.test("receiver: a supervisor that fails, hangs or fails on the way back", async () => {
  const host = await Host.on(newDisk());
  await host.stage(ONE, ID(1));
  host.supervisor = "fails";
  const failed = await host.activate(ONE, ID(1));
  assert.deepEqual([code(failed), failed.phase], ["restart_failed", "activated"]);
  // Without a prior generation there is no way back, and nothing is guessed.
  assert.equal(code(await host.rollback(ID(1))), "no_prior_generation");
  for (const act of [() => host.stage(TWO, ID(2)), () => host.activate(ONE, ID(1))]) {
    assert.equal(code(await act()), "manual_recovery");
  }
  const other = await Host.on(newDisk());
  await other.stage(ONE, ID(1));
  await other.activate(ONE, ID(1));
  await other.stage(TWO, ID(2));
  other.supervisor = "fails";
  assert.equal(code(await other.activate(TWO, ID(2))), "restart_failed");
  assert.equal(code(await other.stage(TWO, ID(3))), "operation_conflict");
  // The unit comes up at the second attempt: the prior one is still the one from before.
  other.supervisor = "works";
  const again = await other.activate(TWO, ID(2));
  assert.deepEqual([again.phase, again.prior], ["restarted", other.digest(ONE)]);
  other.supervisor = "fails";
  const stuck = await other.rollback(ID(2));
  assert.deepEqual([code(stuck), stuck.phase], ["restart_failed", "manual_recovery"]);
});

Deno.test("receiver: a pointer that somebody else moved is not moved again", async () => {
  const host = await Host.on(newDisk());
  for (const [bundle, id] of [[ONE, ID(1)], [TWO, ID(2)]] as const) {
    await host.stage(bundle, id);
    await host.activate(bundle, id);
  }
  host.point("current", "e".repeat(64));
  const refused = await host.rollback(ID(2));
  assert.deepEqual([code(refused), refused.phase], ["ownership_uncertain", "manual_recovery"]);
  assert.equal(host.pointer("current"), `${"e".repeat(64)}\n`);
});

Deno.test("receiver: two at once, a damaged journal, a full disk", async () => {
  const disk = newDisk();
  const host = await Host.on(disk);
  await host.stage(ONE, ID(1));
  const held = await disk.tryLock("/disk/state/lock");
  assert.ok(held.kind === "held");
  assert.equal(code(await host.activate(ONE, ID(1))), "receiver_busy");
  await held.release();
  disk.full = true;
  assert.equal(code(await host.stage(TWO, ID(2))), "no_space");
  disk.full = false;
  assert.ok((await host.activate(ONE, ID(1))).ok);
  disk.contents.set("/disk/state/receiver.jsonl", {
    kind: "file",
    bytes: new TextEncoder().encode('{"kind":"offer","event":{"type":"sudo"}}\n'),
    mode: 0o600,
  });
  assert.equal(code(await host.activate(ONE, ID(1))), "journal_damaged");
  assert.equal(code(await host.ask({ verb: "identity", expected_node: "n1" })), "journal_damaged");
});

Deno.test("receiver: while another connection changes the host, how it stands is not guessed", async () => {
  const host = await Host.on(newDisk());
  await host.stage(ONE, ID(1));
  host.journalBusy = true;
  assert.equal(code(await host.ask({ verb: "status", operation_id: ID(1) })), "receiver_busy");
  assert.equal(code(await host.activate(ONE, ID(1))), "receiver_busy");
  const identity = await host.ask({ verb: "identity", expected_node: "n1" });
  assert.deepEqual([identity.ok, identity.operation_id, identity.unfinished], [true, "none", true]);
  host.journalBusy = false;
  assert.equal((await host.ask({ verb: "status", operation_id: ID(1) })).phase, "installed");
});

Deno.test("receiver: a file system without an atomic replace is refused, before anything is taken", async () => {
  const host = await Host.on(newDisk());
  host.replaces = "not_atomic";
  const staged = await host.stage(ONE, ID(1));
  assert.deepEqual([code(staged), staged.phase], ["no_atomic_replace", "none"]);
  assert.deepEqual(host.generations(), []);
  host.replaces = "atomic";
  await host.stage(ONE, ID(1));
  const codes = {
    not_atomic: "no_atomic_replace",
    no_space: "no_space",
    unwritable: "storage_failed",
  };
  for (const [kind, expected] of Object.entries(codes)) {
    host.replaces = kind as keyof typeof codes;
    const active = await host.activate(ONE, ID(1));
    assert.deepEqual([code(active), active.phase, active.current], [expected, "installed", "none"]);
  }
  assert.deepEqual([host.running, host.pointer("current")], [[], null]);
  host.replaces = "atomic";
  assert.ok((await host.activate(ONE, ID(1))).ok);
});

Deno.test("receiver: it says which builds are current and prior, and nothing of what is gone", async () => {
  const host = await Host.on(newDisk());
  const builds = async () => {
    const answer = await host.ask({ verb: "identity", expected_node: "n1" });
    assert.ok(answer.ok && answer.identity !== undefined);
    const { current, prior } = answer.identity.generations;
    return [current?.build_digest ?? null, prior?.build_digest ?? null];
  };
  const [one, two] = ["1".repeat(64), "2".repeat(64)];
  assert.deepEqual(await builds(), [null, null]);
  for (const [bundle, id] of [[ONE, ID(1)], [TWO, ID(2)]] as const) {
    await host.stage(bundle, id);
    await host.activate(bundle, id);
  }
  assert.deepEqual(await builds(), [two, one]);
  host.forget(ONE);
  assert.deepEqual(await builds(), [two, null]);
  const stuck = await host.rollback(ID(2));
  assert.deepEqual([code(stuck), stuck.phase], ["no_prior_generation", "manual_recovery"]);
  assert.equal(host.pointer("current"), `${host.digest(TWO)}\n`);
});

/** Whatever happened: the pointer names a whole generation, and what runs last is what it names. */
async function settle(disk: FakeDisk): Promise<Host> {
  const host = await Host.on(disk);
  await host.assertSound();
  return host;
}

Deno.test("receiver moments: dying anywhere between nothing and a new agent", async () => {
  const moments = await everyMoment(async (disk) => {
    const host = await settle(disk);
    const staged = await host.stage(ONE, ID(1));
    assert.ok(staged.ok, JSON.stringify(staged));
    const active = await host.activate(ONE, ID(1));
    assert.deepEqual([active.ok, active.phase], [true, "restarted"], JSON.stringify(active));
    await host.assertSound();
    assert.equal(host.running.at(-1), host.digest(ONE));
  });
  assert.ok(moments > 40, `${moments}`);
});

Deno.test("receiver moments: dying anywhere between a bad agent and the one before", async () => {
  const moments = await everyMoment(async (disk) => {
    const host = await settle(disk);
    const before = await host.ask({ verb: "status", operation_id: ID(2) });
    if (!before.ok) {
      await host.stage(ONE, ID(1));
      await host.activate(ONE, ID(1));
      await host.stage(TWO, ID(2));
    }
    const now = await host.ask({ verb: "status", operation_id: ID(2) });
    if (now.phase !== "rolled_back") {
      if (now.phase === "planned") assert.ok((await host.stage(TWO, ID(2))).ok);
      if (now.phase !== "rollback_started") await host.activate(TWO, ID(2));
      const back = await host.rollback(ID(2));
      assert.deepEqual([back.ok, back.phase], [true, "rolled_back"], JSON.stringify(back));
    }
    await host.assertSound();
    const end = await host.ask({ verb: "status", operation_id: ID(2) });
    assert.deepEqual([end.current, end.unfinished], [host.digest(ONE), false]);
    assert.equal(host.running.at(-1), host.digest(ONE));
  });
  assert.ok(moments > 100, `${moments}`);
});

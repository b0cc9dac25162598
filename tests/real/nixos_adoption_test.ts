// needs: nix nix-build nix-env nix-store
import assert from "node:assert/strict";
import { openAdoption } from "../../lib/adoption/adopt.ts";
import type { Candidate } from "../../lib/adoption/candidate.ts";
import type { Event } from "../../lib/adoption/event.ts";
import { observed } from "../../lib/adoption/gate.ts";
import { decodeLine, type Line, NumberedJournal } from "../../lib/adoption/journal_entry.ts";
import type { Slots } from "../../lib/adoption/slots.ts";
import { systemClock } from "../../lib/host/clock.ts";
import { FakeDisk } from "../../lib/testing/fake_disk.ts";
import { RIG_RULES } from "../../lib/testing/adoption_rig.ts";
import { missingFor } from "../../scripts/needs.ts";
import { nixosRig } from "../support/nixos_rig.ts";

const ignore = missingFor(import.meta.url).length > 0 || Deno.uid() !== 0;

/** An adopter on real Nix; `bad` names the closures whose probe fails. */
async function adopterOnNix() {
  const rig = await nixosRig();
  const disk = new FakeDisk();
  const state = { busy: false, bad: new Set<string>(), attempts: 0 };
  const open = () => {
    const backend = rig.backend();
    const probe = async () => {
      const current = await rig.link("current-system") ?? "";
      const fails = [...state.bad].some((name) => current.includes(`-${name}-`));
      return { state: fails ? "fail" : "pass", code: "x", detail: "", count: null } as const;
    };
    const lines = disk.journal<Line>("/journal", decodeLine);
    return openAdoption(
      {
        backend,
        clock: systemClock,
        gates: [{
          name: "load",
          deadlineMs: 5000,
          read: () => Promise.resolve(observed(state.busy ? "busy" : "clear", "x", "")),
        }],
        idleMs: {},
        gateMemory: { read: () => Promise.resolve({}), write: () => Promise.resolve() },
        probes: [{ name: "health", required: true, deadlineMs: 5000, read: probe }],
        record: () => Promise.resolve(),
      },
      {
        ...RIG_RULES,
        verdict: { clean: 2, windowMs: 0, deadlineMs: 200, required: ["health"] },
        sampleEveryMs: 50,
      },
      new NumberedJournal(lines, systemClock, null, () => 1000),
      () => `boot${state.attempts++}`,
    );
  };
  const adopt = async (
    candidate: Candidate,
    purpose: "adopt" | "prove" | "back" = "adopt",
  ): Promise<Slots> => {
    const began: Event = {
      kind: "began",
      attempt: `t${state.attempts++}`,
      purpose,
      path: candidate.id,
      candidate: { ...candidate, expires_at: "2999-01-01T00:00:00Z" },
      by: { who: "test", kind: "timer" },
      overrides: null,
      at: new Date().toISOString(),
    };
    return await open().take(began);
  };
  const recover = async (): Promise<Slots> => {
    const slots = await open().recover();
    if ("code" in slots) throw new Error(JSON.stringify(slots));
    return slots;
  };
  return { ...rig, state, adopt, recover };
}

Deno.test({
  name: "nixos, whole: good, busy, bad with rollback, and rollback with the cache gone",
  ignore,
  fn: async () => {
    await using rig = await adopterOnNix();
    const old = await rig.closure({ name: "old" }, true);
    await rig.boot(old.id);
    const one = await rig.closure({ name: "one", exit: 4 });
    const staged = await rig.backend().stage({ candidate: one, deadlineMs: 30_000 });
    assert.equal(staged.kind, "staged", JSON.stringify(staged));
    rig.state.busy = true;
    assert.equal((await rig.adopt(one)).last?.ending.kind, "deferred");
    assert.equal(await rig.link("current-system"), old.id);
    rig.state.busy = false;
    const good = await rig.adopt(one);
    assert.equal(good.last?.ending.kind, "known-good", JSON.stringify(good.last));
    assert.equal(await rig.link("current-system"), one.id);
    assert.equal(await rig.link("boot-default"), one.id, "committed after the verdict");
    const two = await rig.closure({ name: "two" }, true);
    rig.state.bad.add("two");
    await rig.stop();
    const bad = await rig.adopt(two);
    assert.equal(bad.last?.ending.kind, "rolled-back", JSON.stringify(bad.last));
    assert.equal(bad.rejected[0]?.class, "candidate");
    for (const link of ["current-system", "profiles/system", "boot-default"]) {
      assert.equal(await rig.link(link), one.id, link);
    }
  },
});

Deno.test({
  name:
    "nixos, whole: a kernel is installed and pending; after the boot it is proven, or goes back",
  ignore,
  fn: async () => {
    await using rig = await adopterOnNix();
    const old = await rig.closure({ name: "old" }, true);
    await rig.boot(old.id);
    const kernel = await rig.closure({ name: "kernel", kernel: "k2" }, true);
    const pending = await rig.adopt(kernel);
    assert.equal(pending.last?.ending.code, "reboot_required");
    assert.equal(await rig.link("current-system"), old.id, "nothing was switched");
    assert.equal(await rig.link("boot-default"), kernel.id);
    // A later fix with the same kernel is switched to; the boot stays pending, and takes the fix.
    const fix = await rig.closure({ name: "fix", kernel: "k2" }, true);
    const fixed = await rig.adopt(fix);
    assert.equal(fixed.last?.ending.kind, "known-good", JSON.stringify(fixed.last));
    assert.equal(fixed.pending?.path, fix.id);
    await rig.powerCycle();
    const booted = await rig.recover();
    assert.equal(booted.last?.ending.kind, "known-good");
    assert.equal(booted.last?.purpose, "post-boot");
    assert.equal(booted.pending, null);
    // The next kernel is bad: the way back is installed, and one more boot brings it.
    const worse = await rig.closure({ name: "worse", kernel: "k3" }, true);
    rig.state.bad.add("worse");
    assert.equal((await rig.adopt(worse)).last?.ending.code, "reboot_required");
    await rig.powerCycle();
    const back = await rig.recover();
    assert.equal(back.last?.ending.code, "reboot_required_back", JSON.stringify(back.last));
    await rig.powerCycle();
    const home = await rig.recover();
    assert.equal(home.last?.ending.code, "booted_back", JSON.stringify(home.last));
    assert.equal(await rig.link("current-system"), fix.id);
    assert.equal(home.proven?.path, fix.id);
  },
});

Deno.test({
  name: "nixos, whole: power lost between switch and verdict boots the old one, and says so",
  ignore,
  fn: async () => {
    await using rig = await adopterOnNix();
    const old = await rig.closure({ name: "old" }, true);
    await rig.boot(old.id);
    const one = await rig.closure({ name: "one" }, true);
    // The launch is done and on record; then the power goes: a journal that ends there.
    const backend = rig.backend();
    const ask = { attempt: "t0", step: "activate", path: one.id, previous: old.id } as const;
    await backend.launch({ ...ask, mode: "switch", deadlineMs: 20_000 });
    assert.equal(await rig.link("current-system"), one.id);
    await rig.powerCycle();
    assert.equal(await rig.link("current-system"), old.id, "not committed, so not booted");
    const seen = await backend.inspect({ ...ask, mode: "switch", deadlineMs: 20_000 });
    assert.equal(seen.kind, "unknown", "the profile moved, what runs did not");
  },
});

Deno.test({
  name: "nixos, whole: what somebody installed is proven untouched; a bad one goes back to it",
  ignore,
  fn: async () => {
    await using rig = await adopterOnNix();
    const one = await rig.closure({ name: "one" }, true);
    await rig.boot(one.id);
    await rig.stop();
    rig.state.busy = true;
    const profile = await Deno.readLink(rig.dir.at("profiles/system"));
    const good = await rig.adopt(one, "prove");
    assert.deepEqual(
      [good.last?.ending.kind, good.last?.ending.code],
      ["known-good", "proven"],
      JSON.stringify(good.last),
    );
    assert.equal(good.proven?.path, one.id);
    assert.deepEqual(rig.systemd.started, [], "something was switched");
    assert.equal(await Deno.readLink(rig.dir.at("profiles/system")), profile, "a new generation");
    // Somebody installs another one, for the next boot too, and it is not good.
    const two = await rig.closure({ name: "two" }, true);
    await rig.boot(two.id);
    rig.state.bad.add("two");
    const bad = await rig.adopt(two, "prove");
    assert.deepEqual(
      [bad.last?.ending.kind, bad.last?.ending.code],
      ["failed", "current_not_good"],
      JSON.stringify(bad.last),
    );
    assert.deepEqual(rig.systemd.started, []);
    assert.equal(await rig.link("current-system"), two.id);
    rig.state.busy = false;
    const back = await rig.adopt(one, "back");
    assert.equal(back.last?.ending.kind, "rolled-back", JSON.stringify(back.last));
    for (const link of ["current-system", "profiles/system", "boot-default"]) {
      assert.equal(await rig.link(link), one.id, link);
    }
  },
});

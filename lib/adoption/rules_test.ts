import assert from "node:assert/strict";
import { candidate } from "../testing/adoption_rig.ts";
import type { Facts } from "./backend.ts";
import { type GateReading } from "./gate.ts";
import { settleIdle } from "./hysteresis.ts";
import { admit, type AdoptAsk } from "./policy.ts";
import { decideReboot, inWindow, parseWindow } from "./reboot.ts";
import { FIRST_RETRY_MS, LONGEST_RETRY_MS, reject, stands } from "./rejection.ts";
import { NO_SLOTS, type PendingBoot, type Slots } from "./slots.ts";

const NOW = Date.UTC(2026, 0, 2);
const at = new Date(NOW).toISOString();
const facts: Facts = {
  ...{ kind: "facts", current: "old", booted: "old", selected: "old", boot_id: "b" },
};
const staged = (more: Partial<ReturnType<typeof candidate>> = {}): Slots => {
  const one = candidate("new", more);
  return {
    ...NO_SLOTS,
    offered: { candidate: one, at },
    staged: { candidate: one, path: "new", at },
  };
};
const ask = (more: Partial<AdoptAsk> = {}): AdoptAsk => ({
  by: { who: "t", kind: "timer" },
  despite: [],
  policy: "rolling",
  probed: true,
  now: NOW,
  ...more,
});
const person = { who: "p", kind: "person" } as const;
const word = (slots: Slots, more: Partial<AdoptAsk> = {}) => {
  const found = admit(slots, facts, ask(more));
  if (found.kind === "wait") return found.reasons.map(({ code }) => code).join(" ");
  return found.kind === "begin" ? "begin" : found.code;
};

Deno.test("policy: a timer needs rolling, a person is not asked", () => {
  for (const policy of ["stage-only", "manual", "none"] as const) {
    assert.equal(word(staged(), { policy }), "policy");
    assert.equal(word(staged(), { policy, by: person }), "begin");
  }
  assert.equal(word(staged()), "begin");
});

Deno.test("policy: every other rule holds for people too, and has one way around", () => {
  const paused = { ...staged(), pause: { by: "x", reason: "y", at, until: null } };
  assert.equal(word(paused, { by: person }), "paused");
  assert.equal(word(paused, { by: person, despite: ["pause"] }), "begin");
  const over = { ...paused, pause: { ...paused.pause, until: at } };
  assert.equal(word(over), "begin", "a pause ends by itself");
  const fault = { id: "new", sequence: 1, class: "candidate", code: "x", detail: "" } as const;
  const rejected = { ...staged(), rejected: reject([], fault, NOW) };
  assert.equal(word(rejected), "rejected");
  assert.equal(word(rejected, { despite: ["gates"], by: person }), "rejected");
  assert.equal(word(rejected, { despite: ["rejection"], by: person }), "begin");
  assert.equal(word({ ...paused, rejected: rejected.rejected }), "paused rejected", "all reasons");
  const proven = {
    ...{
      path: "old",
      rev: "r",
      sequence: 9,
      committed_at: "2026-01-01T00:00:00Z",
      at,
      attempt: "a",
    },
  };
  const newer = { ...staged(), proven };
  assert.equal(word(newer), "local_generation_newer");
  assert.equal(word({ ...staged({ allow_downgrade_from: ["r"] }), proven }), "begin");
  assert.equal(word(newer, { despite: ["downgrade"], by: person }), "begin");
});

Deno.test("policy: nothing goes around expiry, withdrawal and manual recovery", () => {
  const despite = ["gates", "pause", "rejection", "downgrade"] as const;
  const all = { by: person, despite };
  assert.equal(word(staged({ expires_at: at }), all), "expired");
  assert.equal(word({ ...staged(), withdrawn: ["new"] }, all), "candidate_withdrawn");
  const manual = { attempt: "a", code: "x", detail: "", at };
  assert.equal(word({ ...staged(), manual }, all), "manual_recovery");
  assert.equal(word(NO_SLOTS), "no_candidate");
  assert.equal(word({ ...staged(), staged: null }), "not_staged");
  const proven = { ...{ path: "old", rev: "r", sequence: 9, committed_at: at, at, attempt: "a" } };
  assert.equal(
    word({ ...staged(), staged: { candidate: candidate("old"), path: "old", at }, proven }),
    "already_current",
  );
});

Deno.test("policy: what is offered runs and was never proven: it is proven, by timers too", () => {
  const one = candidate("old");
  const slots: Slots = { ...NO_SLOTS, offered: { candidate: one, at } };
  const found = admit(slots, facts, ask());
  assert.ok(found.kind === "begin");
  assert.deepEqual([found.purpose, found.staged.path], ["prove", "old"]);
  // It disturbs nothing, so no policy holds it back.
  for (const policy of ["rolling", "stage-only", "manual", "none"] as const) {
    assert.equal(word(slots, { policy }), "begin", policy);
  }
  // Staged, or only offered: the same.
  const both = admit({ ...slots, staged: { candidate: one, path: "old", at } }, facts, ask());
  assert.equal(both.kind === "begin" ? both.purpose : "", "prove");
  const proven = { ...{ path: "old", rev: "r", sequence: 9, committed_at: at, at, attempt: "a" } };
  // The same target under another number is the same target.
  assert.equal(word({ ...slots, proven }), "already_current");
  assert.equal(word({ ...slots, proven: { ...proven, path: "before" } }), "begin");
  // Without a probe everything is good: only a person may say so.
  assert.equal(word(slots, { probed: false }), "policy");
  assert.equal(word(slots, { probed: false, by: person }), "begin");
  // While a boot waits, the boot is what is to be judged.
  const pending: PendingBoot = {
    ...{ path: "new", candidate: null, direction: "forward", previous: "old", revert_to: "old" },
    ...{ baseline: null, boot_id: "b", since: at },
  };
  assert.equal(word({ ...slots, pending }), "already_current");
  // What holds for every attempt holds here.
  const paused = { ...slots, pause: { by: "x", reason: "y", at, until: null } };
  assert.equal(word(paused), "paused");
  const fault = { id: "old", sequence: 1, class: "environment", code: "x", detail: "" } as const;
  assert.equal(word({ ...slots, rejected: reject([], fault, NOW) }), "rejected");
  const later = NOW + FIRST_RETRY_MS;
  assert.equal(word({ ...slots, rejected: reject([], fault, NOW) }, { now: later }), "begin");
  assert.equal(word({ ...slots, withdrawn: ["old"] }), "candidate_withdrawn");
  const over = { ...slots, offered: { candidate: candidate("old", { expires_at: at }), at } };
  assert.equal(word(over), "expired");
  const manual = { attempt: "a", code: "x", detail: "", at };
  assert.equal(word({ ...slots, manual }), "manual_recovery");
  // Something else is staged: that is what is adopted.
  const next = admit({ ...staged(), offered: slots.offered }, facts, ask());
  assert.deepEqual(next.kind === "begin" ? [next.purpose, next.staged.path] : [], ["adopt", "new"]);
});

Deno.test("rejection: candidates stick, integrity until a newer offer, environment backs off", () => {
  const fault = (cls: "integrity" | "candidate" | "environment") =>
    ({ id: "x", sequence: 5, class: cls, code: "c", detail: "" }) as const;
  const [sticks] = reject([], fault("candidate"), NOW);
  assert.ok(sticks !== undefined && stands(sticks, 99, NOW + 1e12));
  const [integrity] = reject([], fault("integrity"), NOW);
  assert.ok(integrity !== undefined && stands(integrity, 5, NOW) && !stands(integrity, 6, NOW));
  let rejected = reject([], fault("environment"), NOW);
  let wait = FIRST_RETRY_MS;
  for (let times = 0; times < 12; times++) {
    const [one] = rejected;
    assert.ok(one !== undefined);
    assert.ok(stands(one, 6, NOW + wait - 1) && !stands(one, 6, NOW + wait), `${times}`);
    rejected = reject(rejected, fault("environment"), NOW);
    wait = Math.min(wait * 2, LONGEST_RETRY_MS);
  }
  assert.equal(rejected.length, 1);
  let many = rejected;
  for (let id = 0; id < 100; id++) many = reject(many, { ...fault("candidate"), id: `${id}` }, NOW);
  assert.ok(many.length <= 64 && !many.some(({ class: cls }) => cls === "environment"));
});

Deno.test("hysteresis: idle means every look saw it idle, and looks were close enough", () => {
  const read = (state: GateReading["state"]): GateReading => ({
    ...{ gate: "g", state, code: "x", detail: "", observed_at: at },
  });
  let remembered = {};
  const look = (minute: number, state: GateReading["state"]) => {
    const seen = settleIdle(remembered, [read(state)], { g: 600_000 }, NOW + minute * 60_000);
    remembered = seen.remembered;
    return seen.readings[0]?.code;
  };
  assert.equal(look(0, "clear"), "idle_not_long_enough");
  assert.equal(look(5, "clear"), "idle_not_long_enough");
  assert.equal(look(10, "clear"), "x");
  assert.equal(look(11, "busy"), "x");
  assert.equal(look(12, "clear"), "idle_not_long_enough");
  assert.equal(look(30, "clear"), "idle_not_long_enough", "nobody looked for too long");
  assert.equal(look(35, "unknown"), "x");
  assert.equal(look(36, "clear"), "idle_not_long_enough");
  assert.equal(look(20, "clear"), "idle_not_long_enough", "a clock that went back proves nothing");
});

Deno.test("reboot: the owner's policy, the window over midnight, every gate clear", () => {
  const pending: PendingBoot = {
    ...{ path: "new", candidate: null, direction: "forward", previous: "old", revert_to: "old" },
    ...{ baseline: null, boot_id: "b", since: at },
  };
  const night = parseWindow("23:00-04:30");
  const reason = { gate: "g", state: "busy", code: "x", detail: "", observed_at: at } as const;
  const word = (policy: Parameters<typeof decideReboot>[1], hour: number, busy = false) =>
    decideReboot(pending, policy, night, busy ? [reason] : [], NOW + hour * 3_600_000).kind;
  assert.equal(word("notify", 3), "tell");
  assert.equal(word("never", 3), "wait");
  assert.equal(word("idle", 12), "reboot");
  assert.equal(word("idle", 12, true), "wait");
  assert.equal(word("window", 3), "reboot");
  assert.equal(word("window", 12), "wait");
  assert.equal(word("window", 23.5, true), "wait");
  assert.equal(parseWindow("4:00-5:00"), null);
  assert.equal(parseWindow("04:00-04:00"), null);
  assert.ok(night !== null && inWindow(night, NOW + 23.5 * 3_600_000));
});

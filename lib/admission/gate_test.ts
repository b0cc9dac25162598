import assert from "node:assert/strict";
import fc from "fast-check";
import { createGate, type Gate, type GateEffect, step } from "./gate.ts";

const LIMITS = { inFlight: 2, queue: 2, queueSeconds: 10 };

function ready(limits = LIMITS, members = ["a", "b", "c"]): Gate {
  const gate = createGate(limits);
  assert.deepEqual(step(gate, { kind: "members", ready: members, at: 0 }), []);
  return gate;
}

const ask = (gate: Gate, id: string, at = 0) => step(gate, { kind: "ask", id, at });
const end = (gate: Gate, id: string, at = 0) => step(gate, { kind: "end", id, at });
const granted = (id: string, member: string, waitedMs = 0) => ({
  kind: "granted",
  id,
  member,
  waitedMs,
});
const refused = (id: string, code: string, retryAfterSeconds: number) => ({
  kind: "refused",
  id,
  code,
  retryAfterSeconds,
});

Deno.test("gate: leases, then a queue in order, then a refusal", () => {
  const gate = ready();
  assert.deepEqual(ask(gate, "1"), [granted("1", "a")]);
  assert.deepEqual(ask(gate, "2"), [granted("2", "b")]);
  assert.deepEqual([ask(gate, "3", 5), ask(gate, "4", 6)], [[], []]);
  assert.deepEqual(ask(gate, "5", 7), [refused("5", "queue_full", 5)]);
  assert.deepEqual(end(gate, "2", 20), [granted("3", "c", 15)]);
  assert.deepEqual(end(gate, "1", 21), [granted("4", "a", 15)]);
  assert.deepEqual(end(gate, "3", 22), []);
  assert.deepEqual([...gate.leases], [["4", "a"]]);
});

Deno.test("gate: nothing before a member is ready, and the queue goes when none is", () => {
  const gate = createGate(LIMITS);
  assert.deepEqual(ask(gate, "1"), [refused("1", "tier_not_ready", 5)]);
  step(gate, { kind: "members", ready: ["a"], at: 0 });
  for (const id of ["1", "2", "3", "4"]) ask(gate, id);
  assert.deepEqual(step(gate, { kind: "members", ready: [], at: 1 }), [
    refused("3", "tier_not_ready", 5),
    refused("4", "tier_not_ready", 5),
  ]);
  assert.deepEqual([...gate.leases.keys()], ["1", "2"]);
  assert.deepEqual(end(gate, "1", 2), []);
  assert.deepEqual(ask(gate, "5", 3), [refused("5", "tier_not_ready", 5)]);
});

Deno.test("gate: quiesced it admits nobody, and leaves what runs alone", () => {
  const gate = ready();
  for (const id of ["1", "2", "3"]) ask(gate, id);
  assert.deepEqual(step(gate, { kind: "intent", intent: "quiesce", at: 1 }), [
    refused("3", "tier_quiesced", 5),
  ]);
  assert.deepEqual(ask(gate, "4"), [refused("4", "tier_quiesced", 5)]);
  assert.deepEqual(step(gate, { kind: "members", ready: ["a"], at: 2 }), []);
  assert.deepEqual(end(gate, "1"), []);
  assert.deepEqual([...gate.leases.keys()], ["2"]);
  assert.deepEqual(step(gate, { kind: "intent", intent: "admit", at: 3 }), []);
  assert.deepEqual(ask(gate, "5"), [granted("5", "a")]);
});

Deno.test("gate: a wait is over exactly at its deadline, the oldest first", () => {
  const gate = ready({ inFlight: 1, queue: 3, queueSeconds: 10 });
  ask(gate, "1", 0);
  ask(gate, "2", 100);
  ask(gate, "3", 200);
  assert.deepEqual(step(gate, { kind: "tick", at: 10_099 }), []);
  assert.deepEqual(step(gate, { kind: "tick", at: 10_100 }), [refused("2", "queue_timeout", 5)]);
  assert.deepEqual(end(gate, "1", 10_150), [granted("3", "b", 9950)]);
});

Deno.test("gate: ending twice, or what never asked, changes nothing; asking twice is a bug", () => {
  const gate = ready({ inFlight: 1, queue: 1, queueSeconds: 10 });
  ask(gate, "1");
  ask(gate, "2");
  assert.throws(() => ask(gate, "1"), /asks twice/);
  assert.throws(() => ask(gate, "2"), /asks twice/);
  assert.deepEqual(end(gate, "2"), []);
  assert.deepEqual([end(gate, "1"), end(gate, "1"), end(gate, "x")], [[], [], []]);
  assert.deepEqual([gate.leases.size, gate.waiting.size], [0, 0]);
});

Deno.test("gate: a queue of none refuses at once and says when to come back", () => {
  const gate = ready({ inFlight: 1, queue: 0, queueSeconds: 0 });
  ask(gate, "1");
  assert.deepEqual(ask(gate, "2"), [refused("2", "queue_full", 1)]);
});

Deno.test("gate: round robin over the ready members, in declared order", () => {
  const gate = ready({ inFlight: 100, queue: 0, queueSeconds: 0 });
  const members = Array.from({ length: 7 }, (_, i) => {
    const [effect] = ask(gate, String(i));
    return effect?.kind === "granted" ? effect.member : null;
  });
  assert.equal(members.join(""), "abcabca");
});

type Move =
  | { readonly kind: "ask" }
  | { readonly kind: "end"; readonly which: number }
  | { readonly kind: "wait"; readonly ms: number }
  | { readonly kind: "members"; readonly ready: readonly string[] }
  | { readonly kind: "intent"; readonly intent: "admit" | "quiesce" };

const moves: fc.Arbitrary<readonly Move[]> = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: fc.constant<Move>({ kind: "ask" }) },
    { weight: 6, arbitrary: fc.record({ kind: fc.constant("end" as const), which: fc.nat() }) },
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constant("wait" as const), ms: fc.nat({ max: 1500 }) }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant("members" as const),
        ready: fc.subarray(["a", "b", "c"]),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant("intent" as const),
        intent: fc.constantFrom("admit" as const, "quiesce" as const),
      }),
    },
  ),
  { maxLength: 120 },
);
const limits = fc.record({
  inFlight: fc.integer({ min: 1, max: 4 }),
  queue: fc.nat({ max: 4 }),
  queueSeconds: fc.nat({ max: 3 }),
});

Deno.test("gate: whatever happens, its promises hold", () => {
  fc.assert(
    fc.property(limits, moves, (limits, moves) => {
      const gate = createGate(limits);
      const open: string[] = []; // leased or waiting, in the order they asked
      const leased = new Map<string, string>();
      const turns = new Map<string, number>();
      let [asks, at, intent] = [0, 0, "admit"];
      let members: readonly string[] = [];
      let [grants, ends, cursor] = [0, 0, 0];

      const take = (effects: readonly GateEffect[]) => {
        for (const effect of effects) {
          const place = open.indexOf(effect.id);
          assert.ok(place >= 0 && !leased.has(effect.id), `${effect.id} was answered already`);
          const oldest = open.find((id) => !leased.has(id));
          if (effect.kind === "refused") {
            if (effect.code !== "queue_full") assert.equal(effect.id, oldest, "the oldest first");
            open.splice(place, 1);
            continue;
          }
          assert.equal(effect.id, oldest, "first come, first served");
          assert.equal(intent, "admit");
          assert.equal(effect.member, members[cursor++ % members.length]);
          assert.ok(effect.waitedMs >= 0);
          leased.set(effect.id, effect.member);
          turns.set(effect.member, (turns.get(effect.member) ?? 0) + 1);
          grants++;
        }
      };

      for (const move of moves) {
        switch (move.kind) {
          case "ask": {
            const id = `x${asks++}`;
            open.push(id);
            take(step(gate, { kind: "ask", id, at }));
            break;
          }
          case "end": {
            const id = open[move.which % Math.max(1, open.length)];
            if (id === undefined) break;
            open.splice(open.indexOf(id), 1);
            if (leased.delete(id)) ends++;
            take(step(gate, { kind: "end", id, at }));
            break;
          }
          case "wait":
            at += move.ms;
            take(step(gate, { kind: "tick", at }));
            for (const asked of gate.waiting.values()) {
              assert.ok(asked + gate.limits.queueSeconds * 1000 > at, "nobody waits beyond it");
            }
            break;
          case "members":
            members = move.ready;
            turns.clear();
            take(step(gate, { kind: "members", ready: members, at }));
            break;
          case "intent":
            intent = move.intent;
            take(step(gate, { kind: "intent", intent: move.intent, at }));
        }
        const waiting = open.filter((id) => !leased.has(id));
        assert.deepEqual(gate.leases, leased);
        assert.deepEqual([...gate.waiting.keys()], waiting);
        assert.equal(leased.size, grants - ends);
        assert.ok(leased.size <= limits.inFlight);
        assert.ok(waiting.length <= limits.queue);
        if (waiting.length > 0) {
          assert.ok(intent === "admit" && members.length > 0, "nobody waits for nothing");
          assert.equal(leased.size, limits.inFlight, "nobody waits beside a free lease");
        }
        const counts = members.map((member) => turns.get(member) ?? 0);
        if (counts.length > 0) assert.ok(Math.max(...counts) - Math.min(...counts) <= 1, "fair");
      }
    }),
    { numRuns: 300 },
  );
});

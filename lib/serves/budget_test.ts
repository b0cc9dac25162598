import assert from "node:assert/strict";
import fc from "fast-check";
import { budget, type BudgetAsk, explainBudget, type Memory } from "./budget.ts";
import type { Occupant } from "./driver.ts";
import type { Claim } from "./manifest_shape.ts";

const GPU: Memory = {
  model: "discrete",
  devices: [
    { id: "gpu-0", uuid: "GPU-0", memory_mib: 24_000, reserve_mib: 1_000 },
    { id: "gpu-1", uuid: "GPU-1", memory_mib: 24_000, reserve_mib: 1_000 },
  ],
};
const MAC: Memory = { model: "unified", budget_mib: 36_000, os_reserve_mib: 8_000 };

const on = (device: string, mib: number): Claim => ({
  kind: "discrete",
  devices: [{ device, mib }],
});
const ours = (serve: string, pids: number[], mib: number | null = 0): Occupant => ({
  serve,
  label: serve,
  devices: [],
  pids,
  mib,
});
const stranger = (mib: number | null): Occupant => ({
  serve: null,
  label: "stranger",
  devices: [],
  pids: [],
  mib,
});

const CLAIMS = new Map<string, Claim>([["a", on("gpu-0", 10_000)], ["b", on("gpu-0", 12_000)]]);

function discrete(ask: Partial<BudgetAsk>) {
  return budget({
    memory: GPU,
    claims: CLAIMS,
    start: ["b"],
    stop: [],
    facts: { devices: new Map([["gpu-0", { usedMib: 0, processes: [] }]]), availableMib: null },
    occupants: [],
    ...ask,
  });
}

function used(usedMib: number, ...processes: [pid: number, mib: number][]) {
  const seen = { usedMib, processes: processes.map(([pid, mib]) => ({ pid, mib })) };
  return { devices: new Map([["gpu-0", seen]]), availableMib: null };
}

Deno.test("budget: a device has what its memory is, less its reserve", () => {
  assert.equal(discrete({}).kind, "fits");
  assert.equal(discrete({}).rows[0]?.left_mib, 11_000);
  assert.equal(discrete({ claims: new Map([["b", on("gpu-0", 23_000)]]) }).kind, "fits");
  assert.equal(discrete({ claims: new Map([["b", on("gpu-0", 23_001)]]) }).kind, "over");
});

Deno.test("budget: ours count their whole claim while they load, and more when they took more", () => {
  const loading = { facts: used(500, [7, 500]), occupants: [ours("a", [7])] };
  assert.equal(discrete(loading).rows[0]?.left_mib, 1_000);
  const greedy = { facts: used(12_500, [7, 12_500]), occupants: [ours("a", [7])] };
  assert.equal(discrete(greedy).kind, "over");
});

Deno.test("budget: memory that no process of ours explains is somebody else's", () => {
  const over = discrete({ facts: used(11_001) });
  assert.equal(over.kind, "over");
  assert.equal(
    explainBudget(over),
    "gpu-0: 23001 MiB of 23000 would be taken, 11001 of them by what is not ours",
  );
  assert.equal(discrete({ facts: used(11_000) }).kind, "fits");
  // Of a device that does not tell whose it is, nothing is proven to be ours.
  const mute = { devices: new Map([["gpu-0", { usedMib: 9_000, processes: null }]]) };
  const facts = { ...mute, availableMib: null };
  assert.equal(discrete({ facts, occupants: [ours("a", [7])] }).kind, "over");
});

Deno.test("budget: a device that was not measured is used, and one that is not asked is let be", () => {
  const blind = { devices: new Map(), availableMib: null };
  assert.equal(discrete({ facts: blind }).kind, "unknown");
  assert.match(explainBudget(discrete({ facts: blind })), /gpu-0: its memory was not measured/);
  assert.equal(discrete({ facts: blind, start: [] }).kind, "fits");
});

Deno.test("budget: what stops first gives its place, what runs is not started twice", () => {
  const facts = used(20_000, [7, 20_000]);
  const claims = new Map([["a", on("gpu-0", 20_000)], ["b", on("gpu-0", 12_000)]]);
  const occupants = [ours("a", [7])];
  assert.equal(discrete({ facts, claims, occupants }).kind, "over");
  assert.equal(discrete({ facts, claims, occupants, stop: ["a"] }).kind, "fits");
  assert.equal(discrete({ facts, claims, occupants, start: ["a"] }).kind, "fits");
  assert.equal(discrete({ facts, claims, occupants, start: ["a", "a"], stop: ["a"] }).kind, "fits");
});

function unified(ask: Partial<BudgetAsk>) {
  return budget({
    memory: MAC,
    claims: new Map<string, Claim>([
      ["a", { kind: "unified", mib: 12_000 }],
      ["b", { kind: "unified", mib: 20_000 }],
    ]),
    start: ["b"],
    stop: [],
    facts: { devices: new Map(), availableMib: 40_000 },
    occupants: [],
    ...ask,
  });
}

Deno.test("budget: unified memory keeps the budget and leaves the system its reserve", () => {
  assert.equal(unified({}).rows[0]?.left_mib, 12_000);
  const live = (availableMib: number) => unified({ facts: { devices: new Map(), availableMib } });
  assert.equal(live(28_000).kind, "fits");
  assert.equal(live(27_999).kind, "over");
  assert.match(explainBudget(live(27_999)), /27999 MiB are available, 8000 stay for the system/);
  assert.equal(unified({ occupants: [ours("a", [7], 12_000)] }).kind, "fits");
  assert.equal(unified({ occupants: [ours("a", [7], 16_001)] }).kind, "over");
});

Deno.test("budget: what ours have not taken yet is promised, what stops comes back", () => {
  const facts = { devices: new Map(), availableMib: 39_999 };
  assert.equal(unified({ facts, occupants: [ours("a", [7], 0)] }).kind, "over");
  assert.equal(unified({ facts, occupants: [ours("a", [7], 1)] }).kind, "fits");
  assert.equal(unified({ facts, occupants: [ours("a", [7], null)] }).kind, "over");
  const tight = { devices: new Map(), availableMib: 16_000 };
  const occupants = [ours("a", [7], 12_000)];
  assert.equal(unified({ facts: tight, occupants }).kind, "over");
  assert.equal(unified({ facts: tight, occupants, stop: ["a"] }).kind, "fits");
});

Deno.test("budget: on unified memory what nobody declared counts, and as all when it is not known", () => {
  assert.equal(unified({ occupants: [stranger(16_000)] }).kind, "fits");
  assert.equal(unified({ occupants: [stranger(16_001)] }).kind, "over");
  assert.equal(unified({ occupants: [stranger(null)] }).kind, "unknown");
  assert.equal(unified({ facts: { devices: new Map(), availableMib: null } }).kind, "unknown");
});

const mib = fc.integer({ min: 0, max: 30_000 });

/** Any host with one device, serves on it, and what was seen. */
const asks = fc.record({
  claims: fc.array(mib, { minLength: 1, maxLength: 5 }),
  running: fc.array(fc.boolean(), { minLength: 5, maxLength: 5 }),
  seen: fc.array(mib, { minLength: 5, maxLength: 5 }),
  others: mib,
  starting: fc.nat(4),
}).map(({ claims, running, seen, others, starting }) => {
  const names = claims.map((_, index) => `s${index}`);
  const live = names.flatMap((name, index) =>
    running[index] === true ? [[name, index] as const] : []
  );
  const processes = live.map(([, index]) => ({ pid: 100 + index, mib: seen[index] ?? 0 }));
  const usedMib = others + processes.reduce((total, one) => total + one.mib, 0);
  const ask: BudgetAsk = {
    memory: {
      model: "discrete",
      devices: [GPU.model === "discrete" ? GPU.devices[0] : null].filter((one) =>
        one !== null && one !== undefined
      ),
    },
    claims: new Map(names.map((name, index) => [name, on("gpu-0", claims[index] ?? 0)])),
    start: [names[starting % names.length] ?? "s0"],
    stop: [],
    facts: { devices: new Map([["gpu-0", { usedMib, processes }]]), availableMib: null },
    occupants: live.map(([name, index]) => ours(name, [100 + index])),
  };
  return ask;
});

Deno.test("budget: what fits never takes more than there is, measured or promised", () => {
  fc.assert(fc.property(asks, (ask) => {
    const { kind, rows } = budget(ask);
    const [row] = rows;
    assert.ok(row !== undefined);
    if (kind !== "fits" || row.starting.length === 0) return;
    const measured = ask.facts.devices.get("gpu-0")?.usedMib ?? 0;
    const started = row.starting.reduce((total, one) => total + one.mib, 0);
    assert.ok(measured + started <= row.room_mib);
    const promised = ask.occupants.reduce((total, { serve }) => {
      const claim = ask.claims.get(serve ?? "");
      return total + (claim?.kind === "discrete" ? claim.devices[0]?.mib ?? 0 : 0);
    }, 0);
    assert.ok(promised + started + row.others_mib <= row.room_mib);
  }));
});

Deno.test("budget: more memory in use never makes a start possible", () => {
  fc.assert(fc.property(asks, fc.nat(20_000), (ask, more) => {
    const seen = ask.facts.devices.get("gpu-0");
    assert.ok(seen !== undefined);
    const crowded: BudgetAsk = {
      ...ask,
      facts: {
        devices: new Map([["gpu-0", { ...seen, usedMib: seen.usedMib + more }]]),
        availableMib: null,
      },
    };
    if (budget(crowded).kind === "fits") assert.equal(budget(ask).kind, "fits");
  }));
});

Deno.test("budget: on unified memory too, what fits leaves the reserve", () => {
  fc.assert(
    fc.property(mib, mib, mib, fc.integer({ min: 0, max: 64_000 }), (a, b, resident, available) => {
      const ask: BudgetAsk = {
        memory: MAC,
        claims: new Map<string, Claim>([["a", { kind: "unified", mib: a }], [
          "b",
          { kind: "unified", mib: b },
        ]]),
        start: ["b"],
        stop: [],
        facts: { devices: new Map(), availableMib: available },
        occupants: [ours("a", [7], resident)],
      };
      if (b === 0 || budget(ask).kind !== "fits") return;
      assert.ok(available - b - Math.max(0, a - resident) >= 8_000);
      assert.ok(Math.max(a, resident) + b <= 36_000);
    }),
  );
});

import assert from "node:assert/strict";
import fc from "fast-check";
import { indexFleet } from "../topology/fleet_index.ts";
import type { Fleet, Host } from "../topology/shape.ts";
import {
  type HostTold,
  type MemberTold,
  type ProofTold,
  type RouterTold,
  type Said,
  type ServeTold,
  type Standing,
  STANDINGS,
} from "./capability.ts";
import { capabilityMatrix, MOST_CAPABILITIES, verdictOf } from "./capability_matrix.ts";

const NAME = "llm.primary";
const MODEL = "example-org/example-70b";

const serve = (more: Partial<ServeTold> = {}): ServeTold => ({
  ...{ serve: "primary", capability: NAME, tier: "primary", port: 8001, model: MODEL },
  ...{ revision: "r1", quantization: null, engine: "vllm", state: "running", why: "" },
  proof: { kind: "told", value: proof() },
  ...more,
});
const proof = (more: Partial<ProofTold> = {}): ProofTold => ({
  ...{ proof: "proven", model: MODEL, revision: "r1", observed: "", health: "healthy" },
  ...more,
});
const member = (more: Partial<MemberTold> = {}): MemberTold => ({
  ...{ id: "a", state: "ready", expected: MODEL, observed: "the pinned model", ageMs: 40 },
  ...more,
});
const router = (members: readonly MemberTold[], more: Partial<RouterTold> = {}): RouterTold => ({
  draining: false,
  aliases: new Map([[NAME, "primary"]]),
  tiers: [{ tier: "primary", intent: "admit", members }],
  ...more,
});
const told = <Value>(value: Value) => ({ kind: "told", value }) as const;
const down = { kind: "unreachable", code: "connection_refused", detail: "nothing" } as const;
const mute = { kind: "unknown", code: "router_unreachable", detail: "silent" } as const;
const none = { kind: "none", code: "no_router", detail: "no router" } as const;

function fleetOf(hosts: readonly string[], promoted?: string): Fleet {
  const host: Host = {
    os: "linux",
    arch: "x64",
    roles: [],
    address: "192.0.2.1",
    runtime: "docker",
    availability: "continuous",
  };
  return {
    ...{ schema: 1, fleet: "f", operator: hosts[0] ?? "a" },
    hosts: Object.fromEntries(hosts.map((id) => [id, host])),
    capabilities: {
      [NAME]: promoted === undefined
        ? {}
        : { promoted: { host: promoted, tier: "primary", evidence: "ev-1" } },
    },
  };
}

function rowOf(all: readonly HostTold[], promoted?: string, expected: readonly string[] = []) {
  const index = indexFleet(fleetOf(all.map(({ host }) => host), promoted));
  const [row] = capabilityMatrix({
    index,
    told: all,
    only: NAME,
    expected: expected.map((host) => ({
      ...{ host, serve: "primary", capability: NAME, tier: "primary" },
      ...{ model: MODEL, revision: "r1" },
    })),
  }).rows;
  assert.ok(row);
  return row;
}

const GOOD: HostTold = { host: "a", serves: told([serve()]), router: told(router([member()])) };
const EMPTY: HostTold = {
  host: "a",
  serves: told([]),
  router: told(router([], { aliases: new Map() })),
};

Deno.test("on one host: every way to be served or not has its own verdict", () => {
  const table: readonly (readonly [string, Standing, Partial<HostTold>])[] = [
    ["all three agree", "served", {}],
    ["no answer at all", "unreachable", { serves: down, router: down }],
    ["nothing of that name", "empty", EMPTY],
    ["no serves and no router", "empty", { serves: none, router: none }],
    ["the router is silent", "unknown", { router: mute }],
    ["nothing there, and the router is silent", "unknown", { serves: told([]), router: mute }],
    ["the agent cannot tell, the router can", "served", { serves: mute }],
    ["a host without a router", "served", { router: none }],
    ["no alias leads there", "idle", { router: EMPTY.router }],
    ["quiesced", "idle", {
      router: told(router([member()], {
        tiers: [{ tier: "primary", intent: "quiesce", members: [member()] }],
      })),
    }],
    ["draining", "idle", { router: told(router([member()], { draining: true })) }],
    ["stopped", "idle", {
      serves: told([serve({ state: "stopped", proof: null })]),
      router: told(router([member({ state: "unreachable" })])),
    }],
    ["another model answers the router", "wrong", {
      router: told(router([member({ state: "identity_mismatch", observed: '"other"' })])),
    }],
    ["another process has the port", "wrong", {
      serves: told([serve({ proof: told(proof({ proof: "differs", model: null })) })]),
    }],
    ["something else under its name", "wrong", {
      serves: told([serve({ state: "foreign", proof: null })]),
    }],
    ["the router and the probe name different models", "wrong", {
      router: told(router([member({ expected: "example-org/other" })])),
    }],
    ["running, and nobody proves what", "unknown", {
      serves: told([serve({ proof: { kind: "unknown", code: "x", detail: "" } })]),
      router: none,
    }],
    ["no member was probed yet", "unknown", {
      router: told(router([member({ state: "unknown" })])),
    }],
    ["one of two members is ready", "served", {
      router: told(router([member(), member({ id: "b", state: "identity_mismatch" })])),
    }],
    ["an alias to a tier that is not told of", "unknown", {
      router: told(router([], { tiers: [] })),
    }],
  ];
  for (const [name, verdict, more] of table) {
    assert.equal(rowOf([{ ...GOOD, ...more }]).verdict, verdict, name);
  }
});

Deno.test("in the fleet: served anywhere is served; only a whole answer is a no", () => {
  const of = (...hosts: readonly HostTold[]) =>
    rowOf(hosts.map((one, at) => ({ ...one, host: `h-${at}` })));
  const dark: HostTold = { host: "a", serves: down, router: down };
  assert.equal(of(dark, GOOD, EMPTY).verdict, "served");
  const row = of(dark, EMPTY, EMPTY);
  assert.equal(row.verdict, "unreachable"); // one did not answer: unknown is not no
  assert.deepEqual([row.counts.unreachable, row.counts.empty, row.cells.length], [1, 2, 0]);
  assert.equal(of(EMPTY, EMPTY).verdict, "empty");
});

Deno.test("a promotion is kept, broken or unknown; the home's word counts", () => {
  assert.equal(rowOf([GOOD], "a").promotion?.state, "kept");
  assert.equal(rowOf([EMPTY], "a").promotion?.state, "broken");
  const dark: HostTold = { host: "a", serves: down, router: down };
  assert.equal(rowOf([dark], "a").promotion?.state, "unknown");
  // A host that is down and should serve it has a cell that says so.
  const [cell] = rowOf([dark], undefined, ["a"]).cells;
  assert.deepEqual([cell?.verdict, cell?.expected?.model], ["unreachable", MODEL]);
  const other = { ...GOOD, serves: told([serve({ revision: "r2" })]) };
  const [wrong] = rowOf([other], undefined, ["a"]).cells;
  assert.equal(wrong?.verdict, "wrong");
  assert.equal(wrong?.said[0]?.code, "revision_not_of_home");
  const elsewhere = {
    ...GOOD,
    router: told(router([member()], {
      aliases: new Map([[NAME, "second"]]),
      tiers: [{ tier: "second", intent: "admit", members: [member()] }],
    })),
    serves: none,
  };
  assert.equal(rowOf([elsewhere], "a").promotion?.state, "broken");
});

Deno.test("names that nodes make up are bounded, and cannot push out what is declared", () => {
  const aliases = new Map(Array.from({ length: 3000 }, (_, at) => [`a.${at}`, "primary"]));
  const loud: HostTold = { ...EMPTY, router: told(router([], { aliases })) };
  const index = indexFleet(fleetOf(["a"]));
  const matrix = capabilityMatrix({ index, told: [loud], expected: [], only: null });
  assert.equal(matrix.rows.length, MOST_CAPABILITIES);
  assert.equal(matrix.left_out, 3001 - MOST_CAPABILITIES);
  assert.ok(matrix.rows.some(({ capability }) => capability === NAME));
});

Deno.test("no host's verdict is `empty` while any perspective of it could not tell", () => {
  const said = fc.record({
    perspective: fc.constantFrom("agent", "router", "probe"),
    standing: fc.constantFrom(...STANDINGS),
  });
  fc.assert(fc.property(fc.array(said, { minLength: 1, maxLength: 6 }), (all) => {
    const verdict = verdictOf(all as unknown as readonly Said[]);
    const has = (standing: Standing) => all.some((one) => one.standing === standing);
    if (verdict === "empty") {
      assert.ok(all.every(({ standing }) => standing === "empty"));
    }
    if (has("wrong")) assert.equal(verdict, "wrong");
    if (verdict === "served") assert.ok(has("served"));
  }));
});

Deno.test("counts are of all hosts, whatever they say", () => {
  const dark: HostTold = { host: "x", serves: down, router: down };
  fc.assert(fc.property(fc.array(fc.constantFrom(GOOD, EMPTY, dark), { maxLength: 20 }), (all) => {
    const hosts = all.map((one, at) => ({ ...one, host: `h-${at}` }));
    if (hosts.length === 0) return;
    const { counts, cells } = rowOf(hosts, "h-0");
    assert.equal(Object.values(counts).reduce((sum, one) => sum + one, 0), hosts.length);
    assert.ok(cells.length >= 1);
  }));
});

Deno.test("two serves of one capability, declared before a promotion, are each held against their own", () => {
  const next = { serve: "next", model: "example-org/example-80b", revision: "r2" };
  const wanted = [{ serve: "primary", model: MODEL, revision: "r1" }, next].map((one) => ({
    ...{ host: "a", capability: NAME, tier: "primary" },
    ...one,
  }));
  const stopped = serve({ ...next, state: "stopped", proof: none });
  const cellOf = (second: ServeTold) => {
    const host: HostTold = { ...GOOD, serves: told([serve(), second]) };
    const index = indexFleet(fleetOf(["a"]));
    return capabilityMatrix({ index, told: [host], only: NAME, expected: wanted }).rows[0]
      ?.cells[0];
  };
  const cell = cellOf(stopped);
  assert.equal(cell?.verdict, "served", JSON.stringify(cell?.said));
  assert.equal(cell?.expected?.model, MODEL, "the one that is served");
  const revised = cellOf({ ...stopped, revision: "r3" });
  assert.ok(revised?.said.some(({ code }) => code === "revision_not_of_home"));
  const other = cellOf({ ...stopped, model: "example-org/other" });
  assert.ok(other?.said.some(({ code }) => code === "model_not_of_home"));
});

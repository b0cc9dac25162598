import assert from "node:assert/strict";
import fc from "fast-check";
import {
  DRIFT_STATES,
  type DriftItem,
  driftVerdict,
  type HostDigests,
  hostDrift,
} from "./host_drift.ts";
import type { HostExpected } from "./host_expected.ts";

const A = "a".repeat(64);
const B = "b".repeat(64);
const unknown = { kind: "unknown", code: "connection_closed" } as const;
const none = { kind: "none" } as const;

const EXPECTED: HostExpected = {
  host: "gpu-a",
  files: new Map([["router.toml", [A]], ["topology.toml", [A, B]]]),
  optional: new Set(),
  bytesOf: () => null,
  units: new Map([["engine.service", { sha256: A, dropIns: new Map() }]]),
  unitsListed: false,
  router: A,
  build: A,
};
const file = (
  name: string,
  sha256: string | null = A,
  code: string | null = null,
  own = false,
) => ({
  ...{ name, sha256, code, own },
});
const FINE: HostDigests = {
  files: {
    kind: "told",
    value: {
      files: [file("router.toml"), file("topology.toml", B)],
      whole: true,
      absent: [],
    },
  },
  units: {
    kind: "told",
    value: [{
      ...{ unit: "engine.service", state: "installed", sha256: A, dropIns: new Map() },
      ...{ reloadDue: false, code: null },
    }],
  },
  programs: {
    kind: "told",
    value: [{ name: "anvil-router", running: A, installed: A, code: null }],
  },
  router: { kind: "told", value: A },
  generation: { kind: "told", value: { current: "sha256:x", proven: "sha256:x" } },
  topology: { kind: "told", value: A },
};

const told = (more: Partial<HostDigests>, expected = EXPECTED) =>
  hostDrift(expected, { ...FINE, ...more }, A).filter(({ state }) => state !== "identical")
    .map(({ name, state, code }) => `${name} ${state} ${code ?? ""}`.trim());
const files = (
  all: readonly ReturnType<typeof file>[],
  whole = true,
  absent: readonly string[] = [],
): Partial<HostDigests> => ({ files: { kind: "told", value: { files: all, whole, absent } } });

Deno.test("drift: what is as it should be is identical, a view of either runtime too", () => {
  assert.deepEqual(told({}), []);
  assert.equal(driftVerdict(hostDrift(EXPECTED, FINE, A)), "identical");
});

Deno.test("drift: a file that was not listed is missing only when all were, or it was looked for", () => {
  const [router] = [file("router.toml")];
  assert.deepEqual(told(files([router])), ["topology.toml missing"]);
  assert.deepEqual(told(files([router], false)), [
    "topology.toml unknown not_listed",
    "… unknown files_left_out",
  ]);
  assert.deepEqual(told(files([router], false, ["topology.toml"])), [
    "topology.toml missing",
    "… unknown files_left_out",
  ]);
  const all = [router, file("topology.toml"), file("sub", null, "directory_unreadable")];
  assert.deepEqual(told(files(all, false)), [
    "sub unknown directory_unreadable",
    "… unknown files_left_out",
  ]);
  // In several folders, the copy that is right counts.
  assert.deepEqual(told(files([file("router.toml", B), router, file("topology.toml")])), []);
});

Deno.test("drift: a thing that nobody told of is unknown, each by its own code", () => {
  assert.deepEqual(told({ router: unknown }), [
    "running configuration unknown connection_closed",
  ]);
  assert.deepEqual(told({ units: unknown }), ["engine.service unknown connection_closed"]);
  assert.deepEqual(told({ programs: unknown }), ["programs unknown connection_closed"]);
  assert.deepEqual(told({ generation: unknown }), ["current unknown connection_closed"]);
  assert.deepEqual(told({ generation: none }), []);
  assert.deepEqual(
    told({ generation: { kind: "told", value: { current: "y", proven: "x" } } }),
    ["current differs not_known_good"],
  );
  assert.deepEqual(told({ topology: { kind: "told", value: B } }), ["fingerprint differs"]);
  assert.deepEqual(told({ topology: { kind: "told", value: null } }), []);
});

Deno.test("drift: without an expected build nothing is expected, and a restart that is due is found", () => {
  const programs = (running: string | null, installed: string | null): Partial<HostDigests> => ({
    programs: { kind: "told", value: [{ name: "r", running, installed, code: null }] },
  });
  const free = { ...EXPECTED, build: null };
  assert.deepEqual(told(programs(A, B), free), ["r running differs restart_due"]);
  assert.deepEqual(told(programs(null, null), free), []);
  assert.deepEqual(told(programs(null, null)), [
    "r running differs build_differs",
    "r installed differs build_differs",
  ]);
});

Deno.test("drift: no verdict is identical while anything is unknown or different", () => {
  const item = fc.constantFrom(...DRIFT_STATES).map((state) => ({ state }));
  fc.assert(fc.property(fc.array(item, { maxLength: 5 }), (items) => {
    const states = items.map(({ state }: Pick<DriftItem, "state">) => state);
    const fine = states.every((state) => state === "identical" || state === "own");
    assert.equal(driftVerdict(items) === "identical", fine);
  }));
});

Deno.test("drift: a view that nothing here reads is not missed, and held when it is there", () => {
  const without = { ...EXPECTED, optional: new Set(["topology.toml"]) };
  assert.deepEqual(told(files([file("router.toml")]), without), []);
  assert.deepEqual(told(files([file("router.toml")], false), without), [
    "… unknown files_left_out",
  ]);
  const other = files([file("router.toml"), file("topology.toml", "c".repeat(64))]);
  assert.deepEqual(told(other, without), ["topology.toml differs"]);
  assert.deepEqual(told(files([]), without), ["router.toml missing"]);
});

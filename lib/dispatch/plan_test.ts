import assert from "node:assert/strict";
import type { Fleet } from "../topology/shape.ts";
import { indexFleet } from "../topology/fleet_index.ts";
import type { Target } from "../topology/resolve.ts";
import { planDispatch } from "./plan.ts";
import { recover } from "./recovery.ts";

const host = { os: "linux", arch: "x64", availability: "continuous" } as const;
const agent = (id: string, port: number) =>
  ({
    host: id,
    kind: "agent",
    endpoint: `http://192.0.2.1:${port}`,
    expected_node: id,
    token: `of-${id}`,
  }) as const;

const FLEET: Fleet = {
  schema: 1,
  fleet: "f",
  operator: "a",
  hosts: {
    b: { ...host, roles: ["voice"], address: "192.0.2.1" },
    a: { ...host, roles: ["voice"], address: "192.0.2.1" },
    c: { ...host, roles: [], address: "192.0.2.1" },
  },
  transports: [agent("b", 2), agent("a", 1), {
    host: "a",
    kind: "ssh",
    address: "192.0.2.1",
    user: "anvil",
    known_host: "ssh-ed25519 AAAAAAAAAAAAAAAA",
    recovery_capable: true,
  }],
};
const INDEX = indexFleet(FLEET);
const plan = (target: Target, expected: string | null = null) =>
  planDispatch(INDEX, { target, expected, fingerprint: "f1", identity: null });

Deno.test("plan: each host with its endpoint, its node and the name of its token", () => {
  const { transports, hosts: { c: _c, ...hosts } } = FLEET;
  const two = indexFleet({ ...FLEET, hosts, transports: transports ?? [] });
  const planned = planDispatch(two, {
    ...{ target: { kind: "all" }, expected: "f1", fingerprint: "f1", identity: null },
  });
  assert.deepEqual(
    planned.kind === "plan" && planned.hosts,
    [1, 2].map((port) => {
      const id = port === 1 ? "a" : "b";
      const endpoint = { scheme: "http", hostname: "192.0.2.1", port };
      return { host: id, endpoint, node: id, token: `of-${id}` };
    }),
  );
});

Deno.test("plan: no guess, no host without an agent, no other topology", () => {
  const code = (got: ReturnType<typeof plan>) => got.kind === "refused" ? got.code : got.kind;
  assert.equal(code(plan({ kind: "role", role: "voice" })), "target_ambiguous");
  assert.equal(code(plan({ kind: "host", id: "z" })), "target_unknown");
  assert.equal(code(plan({ kind: "all" })), "agent_missing");
  assert.equal(code(plan({ kind: "host", id: "a" }, "f2")), "topology_changed");
  assert.equal(code(plan({ kind: "host", id: "a" }, "f1")), "plan");
});

Deno.test("recovery: without proof that nothing was sent it is ambiguous, whatever the code", () => {
  const of = (notSent: boolean, id = "a") =>
    recover(INDEX, { host: id, kind: "unreachable", failure: "connection_refused", notSent })?.code;
  assert.equal(of(true), "operation_not_over_ssh");
  assert.equal(of(false), "ssh_not_permitted");
  assert.equal(of(true, "b"), "ssh_unavailable");
  assert.equal(
    recover(INDEX, { host: "a", kind: "done", failure: null, notSent: false }),
    null,
  );
  assert.equal(
    recover(INDEX, { host: "a", kind: "unauthorized", failure: null, notSent: true })?.code,
    "agent_not_tried",
  );
});

import assert from "node:assert/strict";
import fc from "fast-check";
import { fleets, LAB } from "../../tests/fixtures/topology.ts";
import { explainCapability, explainHost } from "./explain.ts";
import { indexFleet } from "./fleet_index.ts";
import { readTopology } from "./read.ts";
import { type CommandIdentity, parseTarget, resolve, type Target } from "./resolve.ts";
import { type AgentFailure, chooseWay, recoveryWay, SSH_AFTER } from "./transport.ts";
import { RESOURCE_ROLES, type ResourceRole } from "./vocabulary.ts";

const read = readTopology(LAB);
assert.ok(read.kind === "ok");
const index = indexFleet(read.model);

const at = (host: string, runtime: CommandIdentity["runtime"] = "native"): CommandIdentity => ({
  host,
  runtime,
});
const role = (name: ResourceRole): Target => ({ kind: "role", role: name });

Deno.test("resolve: the target that is named, the sole owner, the command host's own", () => {
  const desk = at("desk");
  assert.deepEqual(resolve(index, desk, { kind: "host", id: "mac" }), {
    kind: "resolved",
    hosts: ["mac"],
    because: "the target names mac",
  });
  assert.deepEqual(resolve(index, desk, role("voice")), {
    kind: "resolved",
    hosts: ["voice"],
    because: "voice alone owns the role voice",
  });
  assert.deepEqual(resolve(index, at("mac"), role("serving")), {
    kind: "resolved",
    hosts: ["mac"],
    because: "of the 3 owners of serving, mac is the command host",
  });
  assert.deepEqual(resolve(index, null, { kind: "all" }), {
    kind: "resolved",
    hosts: ["desk", "gpu-a", "mac", "voice"],
    because: "every host was asked for",
  });
});

Deno.test("resolve: several owners elsewhere are listed, never guessed among", () => {
  assert.deepEqual(resolve(index, at("desk"), role("serving")), {
    kind: "refused",
    code: "target_ambiguous",
    detail: "3 hosts own the role serving and desk is none of them: gpu-a, mac, voice",
    nextStep: "name one with --target host:<id>, as --target host:gpu-a",
    candidates: ["gpu-a", "mac", "voice"],
  });
  assert.equal(resolve(index, null, role("router")).kind, "refused");
  assert.deepEqual(resolve(index, at("desk"), role("storage")), {
    kind: "refused",
    code: "role_unowned",
    detail: "no host owns the role storage",
    nextStep: "declare the role on the host that owns it",
    candidates: [],
  });
  const unknown = resolve(index, at("desk"), { kind: "host", id: "gpu-z" });
  assert.ok(unknown.kind === "refused" && unknown.code === "target_unknown");
  assert.deepEqual(unknown.candidates, ["desk", "gpu-a", "mac", "voice"]);
});

Deno.test("resolve: targets as they are written", () => {
  assert.deepEqual(parseTarget("host:gpu-a"), { kind: "host", id: "gpu-a" });
  assert.deepEqual(parseTarget("role:voice"), { kind: "role", role: "voice" });
  assert.deepEqual(parseTarget("all"), { kind: "all" });
  for (
    const text of [
      "",
      "gpu-a",
      "host:",
      "host:GPU",
      "role:",
      "role:king",
      "ALL",
      "host:a\n",
      "all ",
    ]
  ) {
    assert.equal(parseTarget(text).kind, "refused", text);
  }
});

const identities = fc.tuple(fleets, fc.nat(), fc.constantFrom("docker" as const, "native" as const))
  .map(([fleet, n, runtime]) => {
    const ids = Object.keys(fleet.hosts);
    return { fleet, identity: n % 3 === 0 ? null : at(ids[n % ids.length] ?? "", runtime) };
  });

Deno.test("resolve: never a remote guess, whatever the fleet", () => {
  const targets = fc.constantFrom(...RESOURCE_ROLES);
  fc.assert(
    fc.property(identities, targets, ({ fleet, identity }, name) => {
      const owners = Object.keys(fleet.hosts).filter((id) => fleet.hosts[id]?.roles.includes(name));
      const outcome = resolve(indexFleet(fleet), identity, role(name));
      if (outcome.kind === "refused") {
        assert.notEqual(owners.length, 1);
        assert.ok(identity === null || !owners.includes(identity.host));
        assert.deepEqual(outcome.candidates, owners.toSorted());
        return;
      }
      const [host = ""] = outcome.hosts;
      assert.equal(outcome.hosts.length, 1);
      assert.ok(owners.length === 1 ? host === owners[0] : host === identity?.host);
      assert.ok(owners.includes(host));
    }),
    { numRuns: 500 },
  );
});

Deno.test("ways: local, or the agent, never SSH, whatever the fleet", () => {
  fc.assert(fc.property(identities, ({ fleet, identity }) => {
    const index = indexFleet(fleet);
    for (const [id, host] of Object.entries(fleet.hosts)) {
      const way = chooseWay(index, identity, id);
      const runtime = host.runtime ?? "native";
      const local = identity?.host === id &&
        (identity.runtime === runtime || (identity.runtime === "native" && runtime === "docker"));
      assert.equal(way.kind, local ? "local" : "agent");
      if (way.kind === "agent") assert.equal(way.transport.expected_node, id);
    }
  }));
});

Deno.test("ways: by host and runtime of the command, literally", () => {
  const way = (identity: CommandIdentity | null, host: string) => {
    const chosen = chooseWay(index, identity, host);
    return chosen.kind === "refused" ? chosen.code : `${chosen.kind}: ${chosen.because}`;
  };
  assert.deepEqual([
    way(at("gpu-a", "native"), "gpu-a"),
    way(at("gpu-a", "docker"), "gpu-a"),
    way(at("mac", "native"), "mac"),
    way(at("mac", "docker"), "mac"),
    way(at("desk", "native"), "desk"),
    way(at("desk", "docker"), "desk"),
    way(at("desk", "native"), "gpu-a"),
    way(null, "gpu-a"),
  ], [
    "local: gpu-a is the command host, and a native command operates docker execution",
    "local: gpu-a is the command host, and a docker command operates docker execution",
    "local: mac is the command host, and a native command operates native execution",
    "agent: a docker command does not operate native execution",
    "local: desk is the command host, and a native command operates native execution",
    "agent: a docker command does not operate native execution",
    "agent: gpu-a is not the command host desk",
    "agent: no command host is known",
  ]);
});

Deno.test("recovery: SSH only by flag and after a proven failure before dispatch", () => {
  const ask = (host: string, recovery: boolean, failure: AgentFailure | null) => {
    const way = recoveryWay(index, { host, recovery, failure });
    return way.kind === "refused" ? way.code : way.kind;
  };
  const failures = Object.keys(SSH_AFTER) as AgentFailure[];
  assert.deepEqual(failures.filter((failure) => ask("gpu-a", true, failure) === "ssh"), [
    "connection_refused",
    "no_route",
    "connect_timeout",
  ]);
  for (const failure of failures) assert.equal(ask("gpu-a", false, failure), "ssh_not_asked_for");
  for (const failure of ["unauthorized", "forbidden", "wrong_node", "wrong_build"] as const) {
    assert.equal(ask("gpu-a", true, failure), "ssh_not_permitted");
  }
  assert.equal(ask("gpu-a", true, null), "agent_not_tried");
  assert.equal(ask("voice", true, "no_route"), "ssh_unavailable");
});

Deno.test("recovery: a transport that is not declared recovery_capable is not used", () => {
  const agentless = readTopology(
    LAB.replace("recovery_capable = true", "recovery_capable = false"),
  );
  assert.ok(agentless.kind === "ok");
  const way = recoveryWay(indexFleet(agentless.model), {
    ...{ host: "gpu-a", recovery: true, failure: "no_route" },
  });
  assert.ok(way.kind === "refused" && way.code === "ssh_unavailable");
});

Deno.test("explain: eligibility of every host, and of a capability", () => {
  const rows = [...index.hosts.keys()].map((id) => {
    const { eligible, reasons, way, memory } = explainHost(index, at("desk"), id);
    return { id, eligible, reasons, way, memory };
  });
  assert.deepEqual(rows, [
    { id: "desk", eligible: false, reasons: ["model_free"], way: "local", memory: "none declared" },
    {
      id: "gpu-a",
      eligible: true,
      reasons: [],
      way: "agent",
      memory: "2 devices, 191678 MiB to serve with",
    },
    {
      id: "voice",
      eligible: true,
      reasons: [],
      way: "agent",
      memory: "1 device, 31583 MiB to serve with",
    },
    {
      id: "mac",
      eligible: false,
      reasons: ["opportunistic"],
      way: "agent",
      memory: "36864 MiB of unified memory",
    },
  ]);
  assert.deepEqual(explainCapability(index, "llm.primary"), {
    capability: "llm.primary",
    promoted: { host: "gpu-a", tier: "primary", evidence: "ev-2026-01" },
    eligible: ["gpu-a"],
    ineligible: [
      { host: "desk", reasons: ["model_free"] },
      { host: "mac", reasons: ["opportunistic"] },
      { host: "voice", reasons: ["reserved_for_other"] },
    ],
  });
  assert.deepEqual(explainCapability(index, "voice.tts").eligible, ["gpu-a", "voice"]);
});

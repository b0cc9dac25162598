/**
 * What a shape cannot say about a fleet, as a table. Each rule looks at a draft and reports all it
 * finds; `anvil-operator topology explain --code CODE` prints a row.
 *
 * @module
 */

import { pathOf, type Problem } from "../core/problem.ts";
import type { Draft } from "./draft.ts";
import { INELIGIBLE, type Ineligible, ineligible } from "./eligibility.ts";
import { findDeviceFaults, findMemoryFaults } from "./memory_rules.ts";
import { findAgentCounts, findDuplicateTransports, findEndpointFaults } from "./transport_rules.ts";

/** A problem of a topology; `reason` says which of several reasons of one code it is. */
export interface Finding extends Problem {
  readonly reason?: Ineligible;
}

/** One rule. */
export interface Rule {
  /** Codes it reports. */
  readonly codes: readonly string[];
  /** What must hold, in a sentence. */
  readonly holds: string;
  readonly find: (draft: Draft) => readonly Finding[];
}

/** Every rule, in the order of the file. */
export const RULES: readonly Rule[] = [
  {
    codes: ["operator_unknown"],
    holds: "`operator` is one of the hosts.",
    find: ({ operator, hosts }) =>
      operator === null || hosts.has(operator)
        ? []
        : [finding(["operator"], "operator_unknown", noHost(operator))],
  },
  {
    codes: ["command_host_unknown", "command_identity_incomplete"],
    holds: "A derived view names its host and its runtime together, and the host is declared.",
    find: findCommandFaults,
  },
  {
    codes: ["duplicate_role"],
    holds: "A host owns a resource role once; other hosts may own it too.",
    find: findDuplicateRoles,
  },
  {
    codes: ["memory_missing", "reserve_exceeds_memory", "budget_leaves_no_reserve"],
    holds: "A host with a runtime has a memory model, and what must stay free fits into it.",
    find: findMemoryFaults,
  },
  {
    codes: ["duplicate_device"],
    holds: "Device ids are unique on a host, device identities in the fleet.",
    find: findDeviceFaults,
  },
  {
    codes: ["reserved_model_free"],
    holds: "Only a host that serves models can be reserved for a capability.",
    find: findReservedModelFree,
  },
  {
    codes: ["host_unknown"],
    holds: "Transports and promotions name declared hosts.",
    find: findUnknownHosts,
  },
  {
    codes: ["agent_missing"],
    holds: "Every host has exactly one agent transport.",
    find: findAgentCounts,
  },
  {
    codes: ["duplicate_agent", "duplicate_ssh"],
    holds: "A host has one agent transport and at most one ssh transport.",
    find: findDuplicateTransports,
  },
  {
    codes: ["expected_node_differs", "duplicate_endpoint"],
    holds: "Behind a transport stands its host, and no two agents share an endpoint.",
    find: findEndpointFaults,
  },
  {
    codes: ["promotion_ineligible", "promotion_reserved"],
    holds: "A promotion stands on a host with a runtime that is continuous and not reserved for " +
      "another capability.",
    find: findIneligiblePromotions,
  },
];

function findCommandFaults({ commandHost, commandRuntime, hosts }: Draft): readonly Finding[] {
  const findings: Finding[] = [];
  if (commandHost !== null && !hosts.has(commandHost)) {
    findings.push(finding(["command_host"], "command_host_unknown", noHost(commandHost)));
  }
  if ((commandHost === null) !== (commandRuntime === null)) {
    findings.push(finding(
      [commandHost === null ? "command_runtime" : "command_host"],
      "command_identity_incomplete",
      "a host's view holds `command_host` and `command_runtime`, the canonical file neither",
    ));
  }
  return findings;
}

function findDuplicateRoles({ hosts }: Draft): readonly Finding[] {
  return [...hosts].flatMap(([id, { written }]) => {
    const roles: readonly unknown[] = Array.isArray(written["roles"]) ? written["roles"] : [];
    return roles.flatMap((role, index) =>
      typeof role === "string" && roles.indexOf(role) < index
        ? [finding(["hosts", id, "roles", index], "duplicate_role", "listed already; remove it")]
        : []
    );
  });
}

function findReservedModelFree({ hosts }: Draft): readonly Finding[] {
  return [...hosts].flatMap(([id, { written, known }]) =>
    known.reserved !== undefined && !("runtime" in written)
      ? [finding(
        ["hosts", id, "reserved"],
        "reserved_model_free",
        "the host has no runtime class and serves nothing: declare its `runtime`, or remove this",
      )]
      : []
  );
}

function findUnknownHosts({ hosts, transports, capabilities }: Draft): readonly Finding[] {
  const unknown = (keys: readonly PropertyKey[], host: string | undefined) =>
    host === undefined || hosts.has(host) ? [] : [finding(keys, "host_unknown", noHost(host))];
  return [
    ...transports.flatMap(({ host }, index) => unknown(["transports", index, "host"], host)),
    ...[...capabilities].flatMap(([name, { promoted }]) =>
      unknown(["capabilities", name, "promoted", "host"], promoted?.host)
    ),
  ];
}

function findIneligiblePromotions({ hosts, capabilities }: Draft): readonly Finding[] {
  return [...capabilities].flatMap(([name, { promoted }]) => {
    const host = promoted?.host === undefined ? undefined : hosts.get(promoted.host);
    if (host === undefined) return [];
    const { written, known } = host;
    // What is written wrongly is reported as that, and is not taken for absent.
    const unclear: Ineligible[] = "runtime" in written ? ["model_free"] : [];
    return ineligible({ availability: "continuous", ...known }, name)
      .filter((reason) => !unclear.includes(reason))
      .map((reason) => ({
        ...finding(
          ["capabilities", name, "promoted"],
          reason === "reserved_for_other" ? "promotion_reserved" : "promotion_ineligible",
          `${promoted?.host} cannot back a promotion: ${INELIGIBLE[reason]}`,
        ),
        reason,
      }));
  });
}

function finding(keys: readonly PropertyKey[], code: string, message: string): Finding {
  return { path: pathOf(keys), code, message };
}

/** Only ids come here: a text of another form is reported as that and never quoted. */
function noHost(id: string): string {
  return `no host is called ${JSON.stringify(id)}; declare [hosts.${id}], or correct the name`;
}

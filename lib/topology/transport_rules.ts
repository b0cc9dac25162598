/**
 * Rules about how hosts are reached.
 *
 * @module
 */

import { pathOf, type Problem } from "../core/problem.ts";
import type { Draft } from "./draft.ts";

/** Hosts without an agent transport. */
export function findAgentCounts({ hosts, transports }: Draft): readonly Problem[] {
  const reached = new Set(
    // A transport of no readable kind may be meant as the agent's: its own problem is reported.
    transports.flatMap(({ host, kind }) => kind === "ssh" || host === undefined ? [] : [host]),
  );
  return [...hosts.keys()].filter((id) => !reached.has(id)).map((id) => ({
    path: pathOf(["hosts", id]),
    code: "agent_missing",
    message: 'no transport of kind "agent" names this host; every host has exactly one',
  }));
}

/** More than one transport of a kind. */
export function findDuplicateTransports({ transports }: Draft): readonly Problem[] {
  const seen = new Set<string>();
  return transports.flatMap(({ host, kind }, index) => {
    if (host === undefined || kind === undefined) return [];
    const name = `${kind} ${host}`;
    if (!seen.has(name)) {
      seen.add(name);
      return [];
    }
    return [{
      path: pathOf(["transports", index]),
      code: `duplicate_${kind}`,
      message: `${host} has a transport of kind "${kind}" already; keep one`,
    }];
  });
}

/** Another node expected than the host, and endpoints of two agents. */
export function findEndpointFaults({ transports }: Draft): readonly Problem[] {
  const endpoints = new Map<string, number>();
  return transports.flatMap(({ host, kind, endpoint, expected_node }, index) => {
    const problems: Problem[] = [];
    if (host !== undefined && expected_node !== undefined && expected_node !== host) {
      problems.push({
        path: pathOf(["transports", index, "expected_node"]),
        code: "expected_node_differs",
        message: `this transport is for ${host}, so ${host} must answer there`,
      });
    }
    if (kind !== "ssh" && endpoint !== undefined) {
      const place = endpoint.replace(/^https?:\/\//, "").replace(/\/$/, "");
      const first = endpoints.get(place);
      if (first === undefined) endpoints.set(place, index);
      else {
        problems.push({
          path: pathOf(["transports", index, "endpoint"]),
          code: "duplicate_endpoint",
          message: `transports[${first}] has the same; one agent answers at one endpoint`,
        });
      }
    }
    return problems;
  });
}

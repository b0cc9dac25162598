/**
 * `topology.toml`: text -> shape -> model, all problems at once, each with its place in the text.
 *
 * @module
 */

import type { z } from "zod";
import { pathOf, type Problem } from "../core/problem.ts";
import { keysOf, locate } from "../document/locate.ts";
import { checkShape } from "../document/shape.ts";
import { readToml } from "../document/toml.ts";
import { draftOf } from "./draft.ts";
import { findForbidden } from "./forbidden.ts";
import { type Finding, RULES } from "./rules.ts";
import {
  capabilityName,
  capabilityShape,
  type Fleet,
  fleetShape,
  hostShape,
  idShape,
} from "./shape.ts";

/** A text that became a fleet, or every problem that kept it from becoming one. */
export type TopologyRead =
  | { readonly kind: "ok"; readonly model: Fleet }
  | { readonly kind: "invalid"; readonly problems: readonly Finding[] };

/** Reads a topology, canonical or a host's view. */
export function readTopology(text: string): TopologyRead {
  const table = readToml(text);
  if (table.kind === "invalid") return table;
  const forbidden = findForbidden(table.model);
  const shaped = checkShape(fleetShape, table.model);
  const draft = draftOf(table.model, shaped.kind === "ok");
  const others: readonly Finding[] = [
    ...(shaped.kind === "invalid" ? shaped.problems : []),
    ...misnamed(table.model["hosts"], "hosts", idShape, hostShape),
    ...misnamed(table.model["capabilities"], "capabilities", capabilityName, capabilityShape),
    ...noHosts(table.model["hosts"]),
    ...RULES.flatMap((rule) => rule.find(draft)),
  ];
  const problems: readonly Finding[] = [
    ...forbidden.problems,
    // Of a text that is a secret, the shape has something of its own to say only here.
    ...others.filter(({ path, code }) => code === "endpoint_userinfo" || !forbidden.covers(path)),
  ];
  if (shaped.kind === "invalid" || problems.length > 0) {
    return { kind: "invalid", problems: inOrder(locate(text, problems)) };
  }
  return shaped;
}

/** What is wrong inside tables whose name is wrong: the shape looks no further than the name. */
function misnamed(
  tables: unknown,
  parent: string,
  name: z.ZodType,
  shape: z.ZodType,
): readonly Problem[] {
  if (typeof tables !== "object" || tables === null) return [];
  return Object.entries(tables).flatMap(([key, value]) => {
    if (name.safeParse(key).success) return [];
    const checked = checkShape(shape, value);
    const problems = checked.kind === "ok" ? [] : checked.problems;
    return problems.map((problem) => ({
      ...problem,
      path: pathOf([parent, key, ...keysOf(problem.path)]),
    }));
  });
}

function noHosts(hosts: unknown): readonly Problem[] {
  const isEmpty = typeof hosts === "object" && hosts !== null && Object.keys(hosts).length === 0;
  return isEmpty
    ? [{ path: "hosts", code: "hosts_missing", message: "a fleet has at least one host" }]
    : [];
}

/** As a person reads the file, top to bottom. */
function inOrder(problems: readonly Finding[]): readonly Finding[] {
  const place = ({ line = 0, column = 0 }: Finding) => [line, column] as const;
  return [...problems].sort((left, right) => {
    const [leftLine, leftColumn] = place(left);
    const [rightLine, rightColumn] = place(right);
    return leftLine - rightLine || leftColumn - rightColumn;
  });
}

/**
 * What a host's `serves.toml` claims, as far as the topology has a say in it: a model-free host serves
 * nothing, a reserved host serves its capability only, and a serve has its host's runtime.
 *
 * Everything else in the file (devices, images, units, budgets) is for the room of serves.
 *
 * @module
 */

import * as z from "zod";
import { ID_PATTERN } from "../core/ids.ts";
import { pathOf, type Problem } from "../core/problem.ts";
import { locate } from "../document/locate.ts";
import { checkShape } from "../document/shape.ts";
import { readToml } from "../document/toml.ts";
import type { Host } from "./shape.ts";
import { CAPABILITY_PATTERN, covers, RUNTIMES } from "./vocabulary.ts";

/** One `[[serve]]` table, as the topology sees it. */
export const serveShape = z.looseObject({
  name: z.string().regex(ID_PATTERN, "expected lower-case letters, digits and `-`").describe(
    "Unique on its host.",
  ),
  capability: z.string().regex(CAPABILITY_PATTERN, "expected ids joined by dots, as llm.primary"),
  runtime: z.enum(RUNTIMES).describe("Never assumed: the host's runtime class."),
  container: z.string().min(1).optional().describe("Required for docker, forbidden for native."),
});

/** The part of `serves.toml` that the topology judges. */
export const servesShape = z.looseObject({
  schema: z.literal(1),
  serve: z.array(serveShape).max(256).optional(),
});

/** Every problem of `text`, the serves of `host`. */
export function findServeProblems(text: string, id: string, host: Host): readonly Problem[] {
  const table = readToml(text);
  if (table.kind === "invalid") return table.problems;
  const shaped = checkShape(servesShape, table.model);
  const serves: readonly unknown[] = Array.isArray(table.model["serve"])
    ? table.model["serve"]
    : [];
  const names = serves.map((serve) => textAt(serve, "name"));
  const problems = [
    ...(shaped.kind === "invalid" ? shaped.problems : []),
    ...serves.flatMap((serve, index) => [
      ...judge(serve, index, id, host),
      ...containerFaults(serve, index),
      ...(names[index] !== null && names.indexOf(names[index] ?? null) < index
        ? [at(index, "name", "duplicate_id", "another serve of this host is called so already")]
        : []),
    ]),
  ];
  return locate(text, problems);
}

function judge(serve: unknown, index: number, id: string, host: Host): Problem[] {
  if (host.runtime === undefined) {
    const message = `${id} is model-free: declare its runtime in the topology, or serve elsewhere`;
    return [{ path: pathOf(["serve", index]), code: "serve_on_model_free", message }];
  }
  const problems: Problem[] = [];
  const runtime = textAt(serve, "runtime");
  if (RUNTIMES.some((one) => one === runtime) && runtime !== host.runtime) {
    const message = `${id} has the runtime class ${host.runtime}; its serves have it too`;
    problems.push(at(index, "runtime", "serve_runtime_differs", message));
  }
  const capability = textAt(serve, "capability");
  if (host.reserved !== undefined && capability !== null && !covers(host.reserved, capability)) {
    const message = `${id} is reserved for ${host.reserved} and serves nothing else`;
    problems.push(at(index, "capability", "serve_on_reserved", message));
  }
  return problems;
}

function containerFaults(serve: unknown, index: number): Problem[] {
  const runtime = textAt(serve, "runtime");
  const has = typeof serve === "object" && serve !== null && "container" in serve;
  if (runtime === "docker" && !has) {
    return [at(index, "container", "missing", "required with the runtime docker")];
  }
  return runtime === "native" && has
    ? [at(index, "container", "not_allowed", "a native serve has no container; remove it")]
    : [];
}

function at(index: number, key: string, code: string, message: string): Problem {
  return { path: pathOf(["serve", index, key]), code, message };
}

function textAt(value: unknown, key: string): string | null {
  const text = typeof value === "object" && value !== null
    ? (value as { readonly [name: string]: unknown })[key]
    : undefined;
  return typeof text === "string" ? text : null;
}

/**
 * `serves.toml`: text -> shape -> model, all problems at once, each with its place in the text.
 *
 * @module
 */

import { type Checked, pathOf, type Problem } from "../core/problem.ts";
import { keysOf, locate } from "../document/locate.ts";
import { checkShape } from "../document/shape.ts";
import { readToml, type Table } from "../document/toml.ts";
import { findSecretLines } from "../topology/forbidden.ts";
import type { Host } from "../topology/shape.ts";
import { findHostFaults } from "./host_rules.ts";
import { findManifestFaults } from "./manifest_rules.ts";
import {
  commonServeShape,
  dockerServeShape,
  type Manifest,
  manifestShape,
  nativeServeShape,
} from "./manifest_shape.ts";
import { findTierFaults, type TierView } from "./tier_view.ts";

/** What a manifest is held against, as far as it is known where it is read. */
export interface Surroundings {
  /** The host it is for, as the topology declares it. */
  readonly host?: { readonly id: string; readonly host: Host };
  /** The tiers of the router on that host. */
  readonly tiers?: readonly TierView[];
}

/** Reads a manifest. Paths in it are still as written: the caller knows where the file stands. */
export function readManifest(text: string, { host, tiers }: Surroundings = {}): Checked<Manifest> {
  const table = readToml(text);
  if (table.kind === "invalid") {
    return { kind: "invalid", problems: [...findSecretLines(text), ...table.problems] };
  }
  const serves = writtenServes(table.model);
  const shaped = checkShape(manifestShape, table.model);
  const problems = [
    ...findSecretLines(text),
    ...(shaped.kind === "invalid" ? shaped.problems.flatMap((one) => explained(one, serves)) : []),
    ...findManifestFaults(serves),
    ...(host === undefined ? [] : findHostFaults(serves, host.id, host.host)),
    ...(tiers === undefined ? [] : findTierFaults(serves, tiers)),
  ];
  if (shaped.kind === "invalid" || problems.length > 0) {
    return { kind: "invalid", problems: inOrder(locate(text, problems)) };
  }
  return shaped;
}

/** Every problem of `text` as the manifest of `host`. */
export function findServeProblems(text: string, id: string, host: Host): readonly Problem[] {
  const read = readManifest(text, { host: { id, host } });
  return read.kind === "ok" ? [] : read.problems;
}

function writtenServes(table: Table): readonly Table[] {
  const written = table["serve"];
  if (!Array.isArray(written)) return [];
  return written.map((one) => (typeof one === "object" && one !== null ? one : {}) as Table);
}

/** Keys one runtime has and the other does not. */
const ONLY_DOCKER = keysOnlyIn(dockerServeShape.shape, nativeServeShape.shape);
const ONLY_NATIVE = keysOnlyIn(nativeServeShape.shape, dockerServeShape.shape);

function keysOnlyIn(one: object, other: object): readonly string[] {
  return Object.keys(one).filter((key) => !Object.hasOwn(other, key));
}

/**
 * The library's faults of a serve in the words of this file: a key of the other runtime is said to
 * be that, and without a runtime everything both have is looked at all the same.
 */
function explained(problem: Problem, serves: readonly Table[]): readonly Problem[] {
  const [list, index, key, ...deeper] = keysOf(problem.path);
  if (list !== "serve" || typeof index !== "number" || deeper.length > 0) return [problem];
  const serve = serves[index] ?? {};
  if (problem.code === "unknown_key" && typeof key === "string") {
    const { runtime } = { runtime: serve["runtime"] };
    const misplaced = (runtime === "native" && ONLY_DOCKER.includes(key)) ||
      (runtime === "docker" && ONLY_NATIVE.includes(key));
    if (!misplaced) return [problem];
    const message = `a ${runtime} serve has no \`${key}\`; remove it`;
    return [{ ...problem, code: "not_allowed", message }];
  }
  if (key === "container" && problem.code === "missing") {
    return [{ ...problem, message: "required with the runtime docker" }];
  }
  if (key !== "runtime") return [problem];
  const rest = checkShape(commonServeShape, serve);
  return [
    problem,
    ...(rest.kind === "ok" ? [] : rest.problems).map((one) => ({
      ...one,
      path: pathOf(["serve", index, ...keysOf(one.path)]),
    })),
  ];
}

/** As a person reads the file, top to bottom. */
function inOrder(problems: readonly Problem[]): readonly Problem[] {
  return [...problems].sort((left, right) =>
    (left.line ?? 0) - (right.line ?? 0) || (left.column ?? 0) - (right.column ?? 0)
  );
}

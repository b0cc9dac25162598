/**
 * Whether a set of files can be a home: a valid topology at its root, files for declared hosts only,
 * serves that their hosts may run, and no secret anywhere.
 *
 * @module
 */

import { readToml } from "../document/toml.ts";
import { findSecretLines } from "../topology/forbidden.ts";
import { readTopology } from "../topology/read.ts";
import { findServeProblems } from "../serves/manifest.ts";
import type { Fleet } from "../topology/shape.ts";
import { BUILDS, readBuilds } from "./builds.ts";
import type { ExportedFile } from "./export_commit.ts";
import type { FileProblem, InvalidSet } from "./ports.ts";

/** The topology's name in every set. */
export const TOPOLOGY = "topology.toml";
/** The host a path belongs to, and its name there; null for what belongs to none. */
export type Owner = { readonly host: string; readonly name: string } | null;

/**
 * Whose a file is: `hosts/<id>/NAME`, or, in a fleet of one, `NAME` beside the topology when it is
 * one of the files a host has.
 */
export function ownerOf(path: string, hosts: readonly string[]): Owner {
  const [, host = "", name = ""] = /^hosts\/([^/]+)\/(.+)$/s.exec(path) ?? [];
  if (host !== "") return { host, name };
  const [only] = hosts;
  const isFlat = /^(router|serves|agent|adopter)\.toml$/.test(path);
  return only !== undefined && hosts.length === 1 && isFlat ? { host: only, name: path } : null;
}

/** The fleet of a set, or every problem in its files. */
export function checkSet(
  files: readonly ExportedFile[],
): { readonly kind: "ok"; readonly fleet: Fleet; readonly topology: string } | InvalidSet {
  const texts = new Map(files.map(({ path, bytes }) => [path, textOf(bytes)]));
  const topology = texts.get(TOPOLOGY);
  if (topology === undefined || topology === null) {
    const message = "the root of a home is a topology.toml; name its directory with --path";
    return invalid([{ file: TOPOLOGY, path: "$", code: "file_absent", message }]);
  }
  const read = readTopology(topology);
  const problems: FileProblem[] = read.kind === "ok"
    ? viewProblems(read.model)
    : read.problems.map((problem) => ({ ...problem, file: TOPOLOGY }));
  const fleet = read.kind === "ok" ? read.model : null;
  for (const [path, text] of texts) {
    if (path !== TOPOLOGY) {
      problems.push(...fileProblems(path, text, fleet).map((one) => ({ ...one, file: path })));
    }
  }
  return fleet === null || problems.length > 0
    ? invalid(problems)
    : { kind: "ok", fleet, topology };
}

function viewProblems(fleet: Fleet): FileProblem[] {
  if (fleet.command_host === undefined) return [];
  const message = "a home holds the canonical topology, not a host's view: remove this line";
  return [{ file: TOPOLOGY, path: "command_host", code: "already_a_view", message }];
}

function fileProblems(path: string, text: string | null, fleet: Fleet | null) {
  const isToml = path.endsWith(".toml");
  if (text === null) {
    return isToml ? [{ path: "$", code: "not_utf8", message: "the file is not UTF-8 text" }] : [];
  }
  const secrets = findSecretLines(text);
  const syntax = isToml ? readToml(text) : null;
  if (path === BUILDS) {
    const read = readBuilds(text, fleet === null ? undefined : Object.keys(fleet.hosts));
    return read.kind === "invalid" ? read.problems : [];
  }
  const owner = fleet === null ? null : ownerOf(path, Object.keys(fleet.hosts));
  if (fleet === null || owner === null) {
    return [...secrets, ...(syntax?.kind === "invalid" ? syntax.problems : [])];
  }
  const host = Object.hasOwn(fleet.hosts, owner.host) ? fleet.hosts[owner.host] : undefined;
  const unknown = host === undefined
    ? [{ path: "$", code: "host_unknown", message: "the topology declares no host of that name" }]
    : [];
  if (host !== undefined && owner.name === "serves.toml") {
    return findServeProblems(text, owner.host, host);
  }
  return [...secrets, ...unknown, ...(syntax?.kind === "invalid" ? syntax.problems : [])];
}

function invalid(problems: readonly FileProblem[]): InvalidSet {
  return { kind: "invalid", problems };
}

/** UTF-8 text of `bytes`; null when they are not. */
export function textOf(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

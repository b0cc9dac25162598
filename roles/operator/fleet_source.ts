/**
 * The topology a command is about: a file that is named, or the live one of the home.
 *
 * @module
 */

import type { Problem } from "../../lib/core/problem.ts";
import { type Refusal, refuse } from "../../lib/core/refusal.ts";
import { beside } from "../../lib/host/paths.ts";
import { textOf } from "../../lib/home/check_set.ts";
import { liveTopology, openHome } from "../../lib/home/open_home.ts";
import type { HomePorts } from "../../lib/home/ports.ts";
import { readTopology } from "../../lib/topology/read.ts";
import { findServeProblems } from "../../lib/serves/manifest.ts";
import type { Fleet } from "../../lib/topology/shape.ts";
import type { Operator } from "./operator.ts";

/** A topology and where it is from. */
export interface FleetSource {
  readonly kind: "fleet";
  readonly name: string;
  readonly text: string;
  readonly fleet: Fleet;
}

/** A file that is wrong. */
export interface WrongFile {
  readonly kind: "invalid";
  readonly file: string;
  readonly problems: readonly Problem[];
}

/** Bytes of a topology or of a serves file: the bound on characters is checked by the reader. */
const MOST_BYTES = 8 * 1024 * 1024;

/** Reads `file`, or the home's live topology when there is none. */
export async function fleetSource(
  operator: Operator,
  file: string | undefined,
  home: string | undefined,
): Promise<FleetSource | WrongFile | Refusal> {
  if (file !== undefined) return await fleetFile(operator.ports.files, file);
  const place = home ?? operator.home;
  if (place === null) return noHome();
  const live = await openHome(operator.ports, place);
  if (live.kind === "refused") return live;
  const topology = await liveTopology(operator.ports, place, live);
  if ("kind" in topology) return topology;
  return { kind: "fleet", name: `live ${live.current.digest.slice(0, 12)}`, ...topology };
}

/** Says that no home is known. */
export function noHome(): Refusal<"home_unnamed"> {
  return refuse(
    "home_unnamed",
    "no home is named, and the environment does not tell where the user's is",
    "name one with --home or ANVIL_HOME",
  );
}

/** Reads one topology file. */
export async function fleetFile(
  files: HomePorts["files"],
  file: string,
): Promise<FleetSource | WrongFile> {
  const text = await fileText(files, file);
  if (typeof text !== "string") return { kind: "invalid", file, problems: [text] };
  const read = readTopology(text);
  return read.kind === "ok"
    ? { kind: "fleet", name: file, text, fleet: read.model }
    : { kind: "invalid", file, problems: read.problems };
}

/** Every problem in the serves files beside a topology: `hosts/<id>/serves.toml`, or the one of a fleet of one. */
export async function servesBeside(
  { files, directories }: Pick<HomePorts, "files" | "directories">,
  { name, fleet }: FleetSource,
): Promise<readonly WrongFile[]> {
  const list = await directories.list(beside(name, "hosts"), 10_000);
  const below = list.kind === "ok" ? list.entries.map((entry) => entry.name) : [];
  const [only = "", second] = Object.keys(fleet.hosts);
  const places: (readonly [host: string, path: string])[] = [
    ...(second === undefined ? [[only, "serves.toml"] as const] : []),
    ...below.map((host) => [host, `hosts/${host}/serves.toml`] as const),
  ];
  const wrong: WrongFile[] = [];
  for (const [id, path] of places) {
    const file = siblingOf(name, path);
    const text = await fileText(files, beside(name, path));
    const host = Object.hasOwn(fleet.hosts, id) ? fleet.hosts[id] : undefined;
    if (typeof text !== "string") {
      if (text.code !== "file_absent") wrong.push({ kind: "invalid", file, problems: [text] });
    } else if (host !== undefined) {
      const problems = findServeProblems(text, id, host);
      if (problems.length > 0) wrong.push({ kind: "invalid", file, problems });
    } else {
      const message = "the topology declares no host of that name";
      wrong.push({
        kind: "invalid",
        file,
        problems: [{ path: "$", code: "host_unknown", message }],
      });
    }
  }
  return wrong;
}

/** As a person would write it, beside the file they wrote. */
function siblingOf(file: string, path: string): string {
  return `${file.replace(/[^/\\]*$/, "")}${path}`;
}

async function fileText(files: HomePorts["files"], file: string): Promise<string | Problem> {
  const read = await files.readBounded(file, MOST_BYTES);
  if (read.kind === "absent") {
    return { path: "$", code: "file_absent", message: "there is no such file" };
  }
  if (read.kind === "refused") return { path: "$", code: read.code, message: read.detail };
  return textOf(read.bytes) ??
    { path: "$", code: "not_utf8", message: "the file is not UTF-8 text" };
}

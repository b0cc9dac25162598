/**
 * What one host should have, out of the live set: its files, its units, its router's configuration,
 * its build.
 *
 * @module
 */

import { hex } from "../core/ids.ts";
import type { Refusal } from "../core/refusal.ts";
import { readManifest } from "../serves/manifest.ts";
import { unitFile } from "../serves/unit_file.ts";
import type { Fleet } from "../topology/shape.ts";
import { viewText } from "../topology/view.ts";
import { ViewDigests } from "../topology/view_digests.ts";
import { RUNTIMES } from "../topology/vocabulary.ts";
import { buildOf, type Builds } from "./builds.ts";
import { ownerOf, textOf, TOPOLOGY } from "./check_set.ts";
import type { ExportedFile } from "./export_commit.ts";
import type { HomePorts } from "./ports.ts";

/** Files of a set below this folder of a host are units, under the names systemd knows. */
export const UNITS = "units/";

/** What one host should have. */
export interface HostExpected {
  readonly host: string;
  /** By name below the configuration folder: digests of which any will do. */
  readonly files: ReadonlyMap<string, readonly string[]>;
  /** Names among them that are held when they are there, and not missed when they are not. */
  readonly optional: ReadonlySet<string>;
  /** The bytes of one of them, made anew: to say which keys differ. */
  readonly bytesOf: (name: string) => Uint8Array | null;
  /** By unit: the digest of its text, and of its drop-ins by their names. */
  readonly units: ReadonlyMap<string, UnitExpected>;
  /** True when the set itself lists this host's units: then any other of ours is extra. */
  readonly unitsListed: boolean;
  /** Digest of `router.toml`; null when the set has none for the host. */
  readonly router: string | null;
  /** Null when no `builds.toml` names one. */
  readonly build: string | null;
}

/** One unit. */
export interface UnitExpected {
  /** Null when only drop-ins are in the set. */
  readonly sha256: string | null;
  readonly dropIns: ReadonlyMap<string, string>;
}

/** A set, with the files of each host found once. */
export interface OwnedSet {
  readonly topology: string;
  readonly views: ViewDigests;
  readonly own: ReadonlyMap<string, readonly ExportedFile[]>;
}

/** Sorts a set by hosts, so that a look at every host stays linear. */
export function ownedSet(
  sha256: HomePorts["sha256"],
  set: readonly ExportedFile[],
  fleet: Fleet,
): OwnedSet {
  const hosts = Object.keys(fleet.hosts);
  const own = new Map<string, ExportedFile[]>();
  let topology = "";
  for (const { path, bytes } of set) {
    if (path === TOPOLOGY) topology = textOf(bytes) ?? "";
    const owner = ownerOf(path, hosts);
    if (owner === null) continue;
    const file = { path: owner.name, bytes };
    const files = own.get(owner.host);
    if (files === undefined) own.set(owner.host, [file]);
    else files.push(file);
  }
  return { topology, views: new ViewDigests(sha256, topology, fleet), own };
}

/** Derives it. The host's view of the topology may be of either runtime. */
export function hostExpected(
  sha256: HomePorts["sha256"],
  set: OwnedSet,
  fleet: Fleet,
  host: string,
  builds: Builds | null,
): HostExpected | Refusal {
  const own = set.own.get(host) ?? [];
  const files = new Map<string, readonly string[]>(
    own.map(({ path, bytes }) => [path, [hex(sha256(bytes))]]),
  );
  const bytesOf = (name: string) => {
    if (name !== TOPOLOGY) return own.find(({ path }) => path === name)?.bytes ?? null;
    const view = viewText(set.topology, fleet, host, "native");
    return view.kind === "refused" ? null : new TextEncoder().encode(view.text);
  };
  const views: string[] = [];
  for (const runtime of RUNTIMES) {
    const view = set.views.of(host, runtime);
    if (typeof view !== "string") return view;
    views.push(view);
  }
  files.set(TOPOLOGY, views);
  const units = new Map<string, { sha256: string | null; dropIns: Map<string, string> }>();
  const unitAt = (name: string) => {
    const unit = units.get(name) ?? { sha256: null, dropIns: new Map() };
    units.set(name, unit);
    return unit;
  };
  const digestOf = (text: string) => hex(sha256(unitText(text)));
  for (const serve of nativeServes(bytesOf("serves.toml"))) {
    unitAt(serve.unit).sha256 = digestOf(unitFile(serve));
  }
  let unitsListed = false;
  for (const { path, bytes } of own) {
    if (!path.startsWith(UNITS)) continue;
    unitsListed = true;
    const [name = "", dropIn] = path.slice(UNITS.length).split("/");
    const text = digestOf(textOf(bytes) ?? "");
    if (dropIn === undefined) unitAt(name).sha256 = text;
    else if (name.endsWith(".d")) unitAt(name.slice(0, -2)).dropIns.set(dropIn, text);
  }
  return {
    host,
    files,
    // Serves alone are held against the view: a host that has none may do without.
    optional: new Set(files.has("serves.toml") ? [] : [TOPOLOGY]),
    bytesOf,
    units,
    unitsListed,
    router: files.get("router.toml")?.[0] ?? null,
    build: builds === null ? null : buildOf(builds, host),
  };
}

/** Native serves under systemd whose unit can be written without knowing where it is installed. */
function nativeServes(bytes: Uint8Array | null) {
  const text = bytes === null ? null : textOf(bytes);
  const read = text === null ? null : readManifest(text);
  if (read?.kind !== "ok") return [];
  return read.model.serve.flatMap((serve) =>
    serve.runtime === "native" && serve.supervisor === "systemd-system" &&
      (serve.env_file === undefined || serve.env_file.startsWith("/"))
      ? [serve]
      : []
  );
}

/** As agents hash it: line ends and the newlines at its end are nobody's drift. */
export function unitText(text: string): string {
  return `${text.replaceAll("\r\n", "\n").replace(/\n*$/, "")}\n`;
}

/**
 * The backend of plain directories: a store of generations named by digest, `current` and `previous`
 * pointers that launchers read, and units that are restarted.
 *
 *     stage: manifest blob -> file blobs not here yet -> staged, compared -> generations/<digest>
 *     launch: previous = current -> current = digest -> units restarted
 *
 * A launch that died between pointer and units is `half`: it is finished, not begun again.
 *
 * @module
 */

import type { Refusal } from "../../core/refusal.ts";
import { refuse } from "../../core/refusal.ts";
import { loadManifest, refuseDamaged, type Store } from "../../generation/store.ts";
import { readPointers, switchTo } from "../../generation/pointer.ts";
import { retire } from "../../generation/retention.ts";
import type { Manifest } from "../../generation/manifest.ts";
import {
  type Backend,
  type Facts,
  type Impact,
  type Inspection,
  type Launch,
  type LaunchAsk,
  type StageAsk,
  type StageOutcome,
} from "../backend.ts";
import { fetchTree, ofGeneration, type TreeSource } from "./fetch_tree.ts";
import type { Supervisor } from "./supervisor.ts";

/** What it needs. */
export interface BundleParts {
  readonly store: Store;
  readonly source: TreeSource;
  readonly supervisor: Supervisor;
  /** Restarted after each switch, in this order. */
  readonly units: readonly string[];
  readonly bootId: () => Promise<string | Refusal>;
}

/** The backend. */
export function bundleBackend(parts: BundleParts): Backend {
  const { store } = parts;
  return {
    kind: "bundle",
    facts: () => facts(parts),
    missing: async (candidate) => {
      const here = await loadManifest(store, digestOf(candidate.id));
      return "kind" in here ? candidate.size + candidate.download_size : 0;
    },
    stage: (ask) => stage(parts, ask),
    verify: async (path) => {
      const refusal = await refuseDamaged(store, digestOf(path));
      return refusal === null ? { kind: "ok" } : ofGeneration(refusal);
    },
    impact: (path) => impact(parts, path),
    launch: (ask) => launch(parts, ask),
    inspect: (ask) => inspect(parts, ask),
    // The pointer is on the disk since the launch: a boot takes what runs.
    commit: () => Promise.resolve({ kind: "ok" }),
    collect: async (keep) => {
      const retired = await retire(store, keep.map(digestOf));
      return retired.kind === "refused" ? retired : { kind: "ok", removed: retired.removed.length };
    },
    forget: () => Promise.resolve(),
    reboot: () =>
      Promise.resolve(refuse("reboot_unsupported", "a bundle never needs a boot, so none is made")),
  };
}

/** A generation is called by its digest with its algorithm; the store leaves that out. */
function digestOf(path: string): string {
  return path.replace(/^sha256:/, "");
}

function pathOf(digest: string | null): string | null {
  return digest === null ? null : `sha256:${digest}`;
}

async function facts({ store, bootId }: BundleParts): Promise<Facts | Refusal> {
  const pointers = await readPointers(store);
  if ("kind" in pointers) return pointers;
  const boot_id = await bootId();
  if (typeof boot_id !== "string") return boot_id;
  const current = pathOf(pointers.current);
  return { kind: "facts", current, booted: current, selected: current, boot_id };
}

async function stage({ store, source }: BundleParts, ask: StageAsk): Promise<StageOutcome> {
  const digest = digestOf(ask.candidate.id);
  if (await refuseDamaged(store, digest) === null) {
    return { kind: "staged", path: ask.candidate.id };
  }
  const staged = await fetchTree(store, source, ask);
  return staged.kind === "refused" ? staged : { kind: "staged", path: ask.candidate.id };
}

async function impact(
  { store, units }: BundleParts,
  path: string,
): Promise<Impact | Refusal> {
  const next = await loadManifest(store, digestOf(path));
  if ("kind" in next) return next;
  const pointers = await readPointers(store);
  if ("kind" in pointers) return pointers;
  const now = pointers.current === null ? null : await loadManifest(store, pointers.current);
  if (now !== null && "kind" in now) return now;
  const { added, removed, changed } = difference(now, next);
  const some = added.length + removed.length + changed.length > 0;
  return {
    mode: "switch",
    boot_parts: [],
    stop: [],
    restart: some ? units : [],
    reload: [],
    start: [],
    // Unit files are the host's own to install: told, so that somebody does.
    skipped: [...added, ...changed].filter((file) => /\.(service|timer|plist)$/.test(file)),
    added: added.length,
    removed: removed.length,
    changed: changed.length,
  };
}

/** Files that are new, gone, or other than they were. */
function difference(now: Manifest | null, next: Manifest) {
  const before = new Map((now?.files ?? []).map((file) => [file.path, file]));
  const after = new Set(next.files.map(({ path }) => path));
  return {
    added: next.files.map(({ path }) => path).filter((path) => !before.has(path)),
    removed: [...before.keys()].filter((path) => !after.has(path)),
    changed: next.files.filter(({ path, sha256, mode }) => {
      const old = before.get(path);
      return old !== undefined && (old.sha256 !== sha256 || old.mode !== mode);
    }).map(({ path }) => path),
  };
}

async function launch(
  { store, supervisor, units }: BundleParts,
  { path, deadlineMs }: LaunchAsk,
): Promise<Launch> {
  const switched = await switchTo(store, digestOf(path));
  if ("kind" in switched) {
    const { code, detail } = switched;
    const cls = ofGeneration(switched).class === "environment" ? "environment" : "candidate";
    return { kind: "nothing", class: cls, code, detail };
  }
  const restarted = await supervisor.restart(units, deadlineMs);
  // Units that did not come up, or not yet: the probes judge, and nothing else does.
  return restarted.kind === "ok"
    ? { kind: "switched", degraded: false, detail: `${units.length} units restarted` }
    : { kind: "switched", degraded: true, detail: restarted.detail };
}

async function inspect(
  { store }: BundleParts,
  { path, previous }: LaunchAsk,
): Promise<Inspection> {
  const pointers = await readPointers(store);
  if ("kind" in pointers) return { kind: "unknown", detail: pointers.detail };
  const current = pathOf(pointers.current);
  if (current === path) return { kind: "half" };
  return current === previous
    ? { kind: "never_started" }
    : { kind: "unknown", detail: "`current` names neither generation" };
}

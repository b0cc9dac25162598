/**
 * What a host has against what it should have. Reported, never mended; what could not be looked at is
 * `unknown`, and unknown is not identical.
 *
 *     expected ── files, units, router, build ──┐
 *                                               ├──> one item per thing ──> a verdict
 *     told ────── digests, or why there are none┘
 *
 * @module
 */

import type { HostExpected } from "./host_expected.ts";

/** What a thing is. */
export const DRIFT_KINDS = [
  "file", // below a configuration folder
  "router", // the configuration that the running router has
  "unit", // a unit file, or a drop-in over it
  "build", // the build of a program
  "generation", // what the adopter made current
  "topology", // the topology that the agent was set up from
] as const;
/** How it stands. */
export const DRIFT_STATES = [
  "differs",
  "missing",
  "extra",
  "unknown", // it could not be looked at, or not held against anything
  "own", // this host made it for itself: tokens, clients, secrets
  "identical",
] as const;

/** One thing. */
export type DriftItem = {
  readonly kind: (typeof DRIFT_KINDS)[number];
  readonly name: string;
  readonly state: (typeof DRIFT_STATES)[number];
  readonly expected: string | null;
  readonly observed: string | null;
  /** Why it is unknown, or in which way it differs; null where the state says it all. */
  readonly code: string | null;
  /** For `differs` in TOML, when the host told the text: the keys that differ. */
  readonly keys: readonly string[];
};

/** A part of what a host told, or why there is none. */
export type DriftTold<Value> =
  | { readonly kind: "told"; readonly value: Value }
  | { readonly kind: "unknown"; readonly code: string }
  /** The host has no such thing. */
  | { readonly kind: "none" };

/** One installed file. */
export interface FileTold {
  readonly name: string;
  readonly own: boolean;
  /** Null: not hashed, and `code` says why. */
  readonly sha256: string | null;
  readonly code: string | null;
}

/** One unit. */
export interface UnitTold {
  readonly unit: string;
  readonly state: "installed" | "absent" | "unknown";
  readonly sha256: string | null;
  readonly dropIns: ReadonlyMap<string, string>;
  readonly reloadDue: boolean;
  readonly code: string | null;
}

/** One program; a digest of null is a program that runs from source. */
export interface ProgramTold {
  readonly name: string;
  readonly running: string | null | undefined;
  readonly installed: string | null | undefined;
  readonly code: string | null;
}

/** What one host told. */
export interface HostDigests {
  readonly files: DriftTold<{
    readonly files: readonly FileTold[];
    /** Whether every file was listed: else a missing one may only be unlisted, and extras hide. */
    readonly whole: boolean;
    /** Names that were looked for and are not there. */
    readonly absent: readonly string[];
  }>;
  readonly units: DriftTold<readonly UnitTold[]>;
  readonly programs: DriftTold<readonly ProgramTold[]>;
  /** The digest of the configuration that the router runs with. */
  readonly router: DriftTold<string>;
  /** What is current and what is proven, by the adopter. */
  readonly generation: DriftTold<
    { readonly current: string | null; readonly proven: string | null }
  >;
  /** The topology's fingerprint in agent.toml; null when it names none. */
  readonly topology: DriftTold<string | null>;
}

/** Every item of one host, problems first. */
export function hostDrift(
  expected: HostExpected,
  told: HostDigests,
  fingerprint: string,
): readonly DriftItem[] {
  const items = [
    ...fileItems(expected, told.files),
    ...routerItems(expected, told.router),
    ...unitItems(expected, told.units),
    ...buildItems(expected, told.programs),
    ...generationItems(told.generation),
    ...topologyItems(told.topology, fingerprint),
  ];
  const rank = ({ state }: DriftItem) => DRIFT_STATES.indexOf(state);
  return items.sort((left, right) => rank(left) - rank(right)); // stable
}

/** `drift` when anything differs, is missing or extra; else `unknown` when anything is. */
export function driftVerdict(
  items: readonly Pick<DriftItem, "state">[],
): "drift" | "unknown" | "identical" {
  if (items.some(({ state }) => ["differs", "missing", "extra"].includes(state))) return "drift";
  return items.some(({ state }) => state === "unknown") ? "unknown" : "identical";
}

function item(
  kind: DriftItem["kind"],
  name: string,
  state: DriftItem["state"],
  more: Partial<DriftItem> = {},
): DriftItem {
  return { kind, name, state, expected: null, observed: null, code: null, keys: [], ...more };
}

/** What a folder that could not be listed is told with: nobody knows what is in it. */
const FOLDER_CODES: readonly string[] = [
  "directory_unreadable",
  "directory_too_many",
  "not_a_directory",
];

function fileItems(
  { files, optional }: HostExpected,
  told: HostDigests["files"],
): readonly DriftItem[] {
  // What the set keeps of units is compared as units; beside the configuration it need not lie.
  const wanted = [...files].filter(([name]) => !name.startsWith("units/"));
  if (told.kind !== "told") {
    const code = told.kind === "none" ? "not_told" : told.code;
    return wanted.map(([name]) => item("file", name, "unknown", { code }));
  }
  const { files: installed, whole, absent } = told.value;
  const byName = new Map<string, FileTold>();
  for (const one of installed) {
    // With several folders, the copy that is as it should be counts.
    const fits = one.sha256 !== null && files.get(one.name)?.includes(one.sha256) === true;
    if (fits || !byName.has(one.name)) byName.set(one.name, one);
  }
  const items = wanted.flatMap(([name, digests]) => {
    const have = byName.get(name);
    const expected = digests[0] ?? null;
    if (have === undefined) {
      if (optional.has(name)) return [];
      return whole || absent.includes(name)
        ? item("file", name, "missing", { expected })
        : item("file", name, "unknown", { expected, code: "not_listed" });
    }
    const { sha256: observed, code } = have;
    if (observed === null) return item("file", name, "unknown", { expected, code });
    return digests.includes(observed)
      ? item("file", name, "identical", { expected, observed })
      : item("file", name, "differs", { expected, observed });
  });
  const others = installed.filter(({ name }) => !files.has(name)).map((one) => {
    const { name, own, sha256: observed, code } = one;
    if (own) return item("file", name, "own", { observed });
    if (code !== null && FOLDER_CODES.includes(code)) {
      return item("file", name, "unknown", { code });
    }
    return item("file", name, "extra", { observed, code });
  });
  // Files of units lying beside the configuration are compared where they are.
  const beside = [...files].filter(([name]) => name.startsWith("units/") && byName.has(name))
    .map(([name, digests]) => {
      const observed = byName.get(name)?.sha256 ?? null;
      const same = observed !== null && digests.includes(observed);
      return item("file", name, same ? "identical" : "differs", { observed });
    });
  return [
    ...items,
    ...others,
    ...beside,
    ...(whole ? [] : [item("file", "…", "unknown", { code: "files_left_out" })]),
  ];
}

function routerItems({ router: expected }: HostExpected, told: HostDigests["router"]) {
  const name = "running configuration";
  if (expected === null) {
    // Nothing is expected: a router that runs all the same is told of by its file.
    return [];
  }
  if (told.kind === "none") return [item("router", name, "missing", { expected })];
  if (told.kind === "unknown") {
    return [item("router", name, "unknown", { expected, code: told.code })];
  }
  const observed = told.value;
  return observed === expected
    ? [item("router", name, "identical", { expected, observed })]
    : [item("router", name, "differs", { expected, observed, code: "router_digest_differs" })];
}

function unitItems(
  { units, unitsListed }: HostExpected,
  told: HostDigests["units"],
): readonly DriftItem[] {
  if (told.kind !== "told") {
    const code = told.kind === "none" ? "not_told" : told.code;
    return [...units.keys()].map((name) => item("unit", name, "unknown", { code }));
  }
  const byName = new Map(told.value.map((one) => [one.unit, one]));
  const items: DriftItem[] = [];
  for (const [name, { sha256: expected, dropIns }] of units) {
    const have = byName.get(name);
    if (have === undefined || have.state === "unknown") {
      const code = have?.code ?? "not_told";
      items.push(item("unit", name, "unknown", { expected, code }));
      continue;
    }
    if (have.state === "absent") {
      items.push(item("unit", name, "missing", { expected }));
      continue;
    }
    const observed = have.sha256;
    if (expected !== null) {
      items.push(
        item("unit", name, observed === expected ? "identical" : "differs", { expected, observed }),
      );
    }
    for (const dropIn of new Set([...dropIns.keys(), ...have.dropIns.keys()])) {
      const [want, got] = [dropIns.get(dropIn) ?? null, have.dropIns.get(dropIn) ?? null];
      const state = want === null
        ? "extra"
        : got === null
        ? "missing"
        : want === got
        ? "identical"
        : "differs";
      items.push(item("unit", `${name}.d/${dropIn}`, state, { expected: want, observed: got }));
    }
  }
  for (const { unit, state, sha256: observed } of told.value) {
    if (unitsListed && state === "installed" && !units.has(unit)) {
      items.push(item("unit", unit, "extra", { observed }));
    }
  }
  for (const { unit, reloadDue } of told.value) {
    if (reloadDue) items.push(item("unit", unit, "differs", { code: "unit_reload_due" }));
  }
  return items;
}

function buildItems(
  { build: expected }: HostExpected,
  told: HostDigests["programs"],
): readonly DriftItem[] {
  if (told.kind !== "told") {
    const code = told.kind === "none" ? "not_told" : told.code;
    return expected === null ? [] : [item("build", "programs", "unknown", { expected, code })];
  }
  return told.value.flatMap(({ name, running, installed, code }) => {
    const items: DriftItem[] = [];
    const hold = (which: string, observed: string | null | undefined) => {
      if (expected === null || observed === undefined) return;
      items.push(
        item("build", `${name} ${which}`, observed === expected ? "identical" : "differs", {
          expected,
          observed: observed ?? "source",
          code: observed === expected ? null : "build_differs",
        }),
      );
    };
    hold("running", running);
    hold("installed", installed);
    if (running !== undefined && installed !== undefined && running !== installed) {
      items.push(
        item("build", `${name} running`, "differs", {
          expected: installed ?? "source",
          observed: running ?? "source",
          code: "restart_due",
        }),
      );
    }
    if (code !== null) items.push(item("build", name, "unknown", { expected, code }));
    return items;
  });
}

function generationItems(told: HostDigests["generation"]): readonly DriftItem[] {
  if (told.kind === "none") return [];
  if (told.kind === "unknown") {
    return [item("generation", "current", "unknown", { code: told.code })];
  }
  const { current: observed, proven: expected } = told.value;
  if (observed === null || expected === null) {
    const code = observed === null ? "current_untold" : "nothing_proven";
    return [item("generation", "current", "unknown", { expected, observed, code })];
  }
  return observed === expected
    ? [item("generation", "current", "identical", { expected, observed })]
    : [item("generation", "current", "differs", { expected, observed, code: "not_known_good" })];
}

function topologyItems(told: HostDigests["topology"], expected: string): readonly DriftItem[] {
  if (told.kind === "none") return [];
  if (told.kind === "unknown") {
    return [item("topology", "fingerprint", "unknown", { expected, code: told.code })];
  }
  const observed = told.value;
  // An agent.toml that names none binds its runs to none, and that is allowed.
  if (observed === null) return [];
  return observed === expected
    ? [item("topology", "fingerprint", "identical", { expected, observed })]
    : [item("topology", "fingerprint", "differs", { expected, observed })];
}

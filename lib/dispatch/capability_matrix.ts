/**
 * The matrix: what every host told, joined into one verdict per capability and host, and per
 * capability. Pure; linear in hosts and in what they told.
 *
 *     on a host, the first that holds:
 *       any perspective wrong                          wrong
 *       the home or the other perspective names another model   wrong
 *       the router serves it                           served
 *       no router there, and the probe serves it       served
 *       the probe serves it, the router says no        idle: no client gets there
 *       otherwise the first of                         unreachable, unknown, idle, empty
 *     in the fleet: served where any host serves it; else the first of
 *                                                      wrong, unreachable, unknown, idle, empty
 *
 * @module
 */

import { ineligible } from "../topology/eligibility.ts";
import type { FleetIndex } from "../topology/fleet_index.ts";
import {
  type CapabilityCell,
  type CapabilityMatrix,
  type CapabilityRow,
  type HostOtherwise,
  type HostTold,
  type Perspective,
  type Promotion,
  type Said,
  type ServeExpected,
  type Standing,
  STANDINGS,
} from "./capability.ts";
import { saidOf } from "./capability_said.ts";

/** Capabilities that one matrix holds; aliases are other people's words, so they are bounded. */
export const MOST_CAPABILITIES = 500;

/** What the matrix is made of. */
export interface MatrixAsk {
  readonly index: Pick<FleetIndex, "fleet" | "hosts">;
  readonly told: readonly HostTold[];
  /** What the home declares; empty when no home was read. */
  readonly expected: readonly ServeExpected[];
  /** One capability; null for all that are declared, expected or told of. */
  readonly only: string | null;
}

/** Makes it. */
export function capabilityMatrix({ index, told, expected, only }: MatrixAsk): CapabilityMatrix {
  const hosts = [...told].sort((left, right) => left.host < right.host ? -1 : 1);
  const names = only === null ? namesOf(index, hosts, expected) : [only];
  const shown = names.slice(0, MOST_CAPABILITIES);
  const otherwise = hosts.map(otherwiseOf);
  const plain = Object.fromEntries(STANDINGS.map((one) => [one, 0])) as Record<Standing, number>;
  for (const { verdict } of otherwise) plain[verdict]++;
  const speakers = speakersOf(hosts, expected);
  const wanted = Map.groupBy(expected, (one) => keyOf(one.host, one.capability));
  return {
    rows: shown.map((name) => {
      const promoted = index.fleet.capabilities?.[name]?.promoted;
      const about = new Set([...speakers.get(name) ?? [], ...promoted ? [promoted.host] : []]);
      const counts = { ...plain };
      const cells: CapabilityCell[] = [];
      for (const [at, one] of hosts.entries()) {
        if (!about.has(one.host)) continue;
        const want = wanted.get(keyOf(one.host, name)) ?? [];
        const cell = cellOf(index, one, name, want, promoted?.host === one.host);
        counts[otherwise[at]?.verdict ?? "unknown"]--;
        counts[cell.verdict]++;
        cells.push(cell);
      }
      return {
        capability: name,
        declared: Object.hasOwn(index.fleet.capabilities ?? {}, name),
        verdict: verdictOfAll(counts),
        promotion: promoted === undefined ? null : { ...promoted, ...promotionOf(promoted, cells) },
        cells: problemsFirst(cells),
        counts,
      } satisfies CapabilityRow;
    }),
    hosts: otherwise,
    left_out: names.length - shown.length,
  };
}

function keyOf(host: string, capability: string): string {
  return `${host} ${capability}`; // an id holds no blank
}

function namesOf(
  { fleet }: MatrixAsk["index"],
  told: readonly HostTold[],
  expected: readonly ServeExpected[],
): readonly string[] {
  const names = new Set([
    ...Object.keys(fleet.capabilities ?? {}),
    ...expected.map(({ capability }) => capability),
  ]);
  // Declared names come first into the bound: what nodes say cannot push them out.
  const said = new Set<string>();
  for (const { serves, router } of told) {
    if (serves.kind === "told") { for (const { capability } of serves.value) said.add(capability); }
    if (router.kind === "told") {
      for (const alias of router.value.aliases.keys()) said.add(alias);
    }
  }
  const more = [...said].filter((name) => !names.has(name)).sort();
  const kept = [...[...names].sort(), ...more];
  return [...kept.slice(0, MOST_CAPABILITIES).sort(), ...kept.slice(MOST_CAPABILITIES)];
}

/** Hosts that have something of their own to say, by capability. */
function speakersOf(
  told: readonly HostTold[],
  expected: readonly ServeExpected[],
): ReadonlyMap<string, ReadonlySet<string>> {
  const speakers = new Map<string, Set<string>>();
  const add = (capability: string, host: string) => {
    const hosts = speakers.get(capability);
    if (hosts === undefined) speakers.set(capability, new Set([host]));
    else hosts.add(host);
  };
  for (const { host, serves, router } of told) {
    if (serves.kind === "told") {
      for (const { capability } of serves.value) add(capability, host);
    }
    if (router.kind === "told") {
      for (const alias of router.value.aliases.keys()) add(alias, host);
    }
  }
  for (const { capability, host } of expected) add(capability, host);
  return speakers;
}

/** What a host says of a capability of which it has no word. */
function otherwiseOf(told: HostTold): HostOtherwise {
  const said = saidOf(told, "");
  const verdict = verdictOf(said);
  const first = said.find(({ standing }) => standing === verdict);
  return { host: told.host, verdict, code: first?.code ?? "", why: first?.why ?? "" };
}

function cellOf(
  { hosts }: MatrixAsk["index"],
  told: HostTold,
  capability: string,
  wanted: readonly ServeExpected[],
  promoted: boolean,
): CapabilityCell {
  const said = compared(saidOf(told, capability), wanted);
  const host = hosts.get(told.host);
  return {
    host: told.host,
    verdict: verdictOf(said),
    said,
    promoted,
    ineligible: host === undefined ? [] : ineligible(host, capability),
    // Of several serves the one that is there: before a promotion the home declares both models.
    expected:
      wanted.find((one) =>
        said.some(({ standing, model }) => standing === "served" && model === one.model)
      ) ?? wanted[0] ?? null,
  };
}

/** Holds what is said against the home, and the router's word against the probe's. */
function compared(said: readonly Said[], wanted: readonly ServeExpected[]): readonly Said[] {
  const probed = said.filter(({ perspective, model }) => perspective === "probe" && model !== null);
  return said.map((one): Said => {
    const { perspective, standing, model, revision } = one;
    const other = (code: string, why: string): Said => ({ ...one, standing: "wrong", code, why });
    if (perspective === "agent" && wanted.length > 0 && model !== null) {
      const same = wanted.filter((serve) => serve.model === model);
      if (same.length === 0) {
        const models = wanted.map((serve) => serve.model).join(", ");
        return other("model_not_of_home", `the home declares ${models}`);
      }
      if (revision !== null && !same.some((serve) => serve.revision === revision)) {
        const revisions = same.map((serve) => serve.revision).join(", ");
        return other("revision_not_of_home", `the home declares revision ${revisions}`);
      }
    }
    const contradicted = perspective === "router" && standing === "served" && probed.length > 0 &&
      !probed.some((probe) => probe.model === model);
    return contradicted
      ? other("perspectives_differ", `the probe proves ${probed[0]?.model ?? "another model"}`)
      : one;
  });
}

/** One host's verdict, by the table above. */
export function verdictOf(said: readonly Said[]): Standing {
  const has = (standing: Standing, perspective?: Perspective) =>
    said.some((one) =>
      one.standing === standing && (perspective ?? one.perspective) === one.perspective
    );
  if (has("wrong")) return "wrong";
  if (has("served", "router")) return "served";
  if (has("served", "probe")) {
    const router = said.find(({ perspective }) => perspective === "router");
    if (router?.standing === "empty") return router.code === "no_alias" ? "idle" : "served";
    if (router?.standing === "idle") return "idle";
  }
  if (has("unreachable")) return "unreachable";
  // Running, and nobody proves what.
  if (has("unknown")) return "unknown";
  return has("idle") || has("served") ? "idle" : "empty";
}

const FLEET_ORDER = ["served", "wrong", "unreachable", "unknown", "idle"] as const;

function verdictOfAll(counts: Readonly<Record<Standing, number>>): Standing {
  return FLEET_ORDER.find((one) => counts[one] > 0) ?? "empty";
}

function promotionOf(
  { host, tier }: Pick<Promotion, "host" | "tier">,
  cells: readonly CapabilityCell[],
): Pick<Promotion, "state" | "why"> {
  const cell = cells.find((one) => one.host === host);
  if (cell === undefined) return { state: "unknown", why: "the host was not asked" };
  const { verdict, said } = cell;
  if (verdict === "unknown" || verdict === "unreachable") {
    return { state: "unknown", why: said.find((one) => one.standing === verdict)?.why ?? "" };
  }
  if (verdict !== "served") {
    return { state: "broken", why: `the promoted host says: ${verdict}` };
  }
  const tiers = said.flatMap((one) => one.standing === "served" ? one.tier ?? [] : []);
  return tiers.length === 0 || tiers.includes(tier)
    ? { state: "kept", why: "" }
    : { state: "broken", why: `it is served by the tier ${tiers[0]}, promoted is ${tier}` };
}

const PROBLEMS = ["wrong", "unreachable", "unknown", "idle", "empty", "served"] as const;

function problemsFirst(cells: readonly CapabilityCell[]): readonly CapabilityCell[] {
  const rank = ({ verdict }: CapabilityCell) => PROBLEMS.indexOf(verdict);
  return cells.toSorted((left, right) => rank(left) - rank(right)); // stable: hosts stay in order
}

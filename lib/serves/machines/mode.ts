/**
 * Exclusive modes of one host: while a mode is in force, its serves run and their competitors do not.
 *
 *     enter:  quiesce ─> drain ─> stop competitors ─> grant ─> start, verify the mode ─> readmit
 *     leave:  quiesce ─> drain ─> stop the mode ─> grant ─> start, verify what it displaced ─> readmit
 *
 *     every arrow is a step of transaction.ts, and a step that fails turns the walk round:
 *
 *     outside ──enter──> (forward) ──> in force ──leave──> (forward) ──> outside
 *        ^                  │ failed       ^                  │ failed
 *        └───── (back) <────┘              └───── (back) <────┘
 *
 * Whether a mode is in force is read from what runs, never remembered. Host-scoped: it says nothing
 * about another host.
 *
 * @module
 */

import { type Refusal, refuse } from "../../core/refusal.ts";
import { claimOf, type Serve } from "../manifest_shape.ts";
import type { Survey } from "./survey.ts";
import { type PlanPorts, planSwap } from "./swap.ts";
import type { Plan } from "./transaction.ts";

/** What is known of one mode. */
export interface ModeView {
  readonly mode: string;
  /** `partly`: some of its serves run. */
  readonly state: "in_force" | "partly" | "outside";
  readonly serves: readonly string[];
  readonly running: readonly string[];
}

/** Every mode of the manifest. */
export function modesOf({ facts, running }: Pick<Survey, "facts" | "running">): ModeView[] {
  const names = new Set(facts.serves.flatMap(({ mode }) => mode === undefined ? [] : [mode]));
  return [...names].toSorted().map((mode) => {
    const serves = inMode(facts.serves, mode).map(({ name }) => name).toSorted();
    const up = serves.filter((name) => running.has(name));
    const state = up.length === serves.length ? "in_force" : up.length > 0 ? "partly" : "outside";
    return { mode, state, serves, running: up };
  });
}

/** How a mode is entered. */
export async function planEnter(
  survey: Survey,
  { mode, drainSeconds }: { readonly mode: string; readonly drainSeconds: number },
  ports: PlanPorts,
  signal: AbortSignal,
): Promise<Plan | Refusal> {
  const { serves } = survey.facts;
  const own = inMode(serves, mode);
  if (own.length === 0) return unknownMode(survey, mode);
  const starts = withDependencies(serves, own);
  const stops = competitors(survey, mode, own, starts);
  if (!(stops instanceof Set)) return stops;
  return await planSwap(
    survey,
    {
      ...PLAIN,
      kind: "enter",
      subject: mode,
      stops: [...stops],
      starts: [...starts],
      drainSeconds,
      notes: [],
    },
    ports,
    signal,
  );
}

/** How it is left. `displaced`: what entering it stopped; null when no record of that is left. */
export async function planLeave(
  survey: Survey,
  wish: {
    readonly mode: string;
    readonly drainSeconds: number;
    readonly displaced: readonly string[] | null;
  },
  ports: PlanPorts,
  signal: AbortSignal,
): Promise<Plan | Refusal> {
  const { serves } = survey.facts;
  const own = inMode(serves, wish.mode);
  if (own.length === 0) return unknownMode(survey, wish.mode);
  const declared = new Set(serves.map(({ name }) => name));
  const back = wish.displaced?.filter((name) => declared.has(name)) ??
    serves.filter((one) => one.mode === undefined && one.residency !== "on-demand")
      .map(({ name }) => name);
  return await planSwap(
    survey,
    {
      ...PLAIN,
      kind: "leave",
      subject: wish.mode,
      stops: own.map(({ name }) => name),
      starts: back,
      drainSeconds: wish.drainSeconds,
      notes: [
        wish.displaced === null
          ? "no record of what the mode displaced: every serve outside of modes comes back"
          : "what the mode displaced comes back",
      ],
    },
    ports,
    signal,
  );
}

const PLAIN = { middle: [], tiersAfter: null, alsoTiers: [] } as const;

function inMode(serves: readonly Serve[], mode: string): readonly Serve[] {
  return serves.filter((serve) => serve.mode === mode);
}

/** The serves themselves and what they need to run. */
function withDependencies(serves: readonly Serve[], own: readonly Serve[]): ReadonlySet<string> {
  const names = new Set<string>();
  const add = (name: string) => {
    if (names.has(name)) return;
    names.add(name);
    serves.find((serve) => serve.name === name)?.depends.forEach(add);
  };
  for (const { name } of own) add(name);
  return names;
}

/** Running serves that must go, and those that depend on them. */
function competitors(
  { facts, running }: Survey,
  mode: string,
  own: readonly Serve[],
  kept: ReadonlySet<string>,
): Set<string> | Refusal {
  const devices = new Set(own.flatMap(devicesOf));
  const others = facts.serves.filter(({ name }) => running.has(name) && !kept.has(name));
  const stops = new Set<string>();
  for (const serve of others) {
    const otherMode = serve.mode !== undefined && serve.mode !== mode;
    const shares = devicesOf(serve).some((device) => devices.has(device));
    if (otherMode || (shares && serve.residency !== "resident")) stops.add(serve.name);
  }
  for (let grew = true; grew;) {
    grew = false;
    for (const { name, residency, depends } of others) {
      if (stops.has(name) || !depends.some((needed) => stops.has(needed))) continue;
      if (residency === "resident") {
        return refuse("mode_blocked", `${name} is resident and depends on what would be stopped`);
      }
      stops.add(name);
      grew = true;
    }
  }
  return stops;
}

/** On unified memory everything shares the one. */
function devicesOf(serve: Serve): readonly string[] {
  const claim = claimOf(serve);
  return claim.kind === "unified" ? ["unified"] : claim.devices.map(({ device }) => device);
}

function unknownMode(survey: Survey, mode: string): Refusal {
  const known = modesOf(survey).map((one) => one.mode).join(", ") || "none";
  return refuse("mode_unknown", `no serve has the mode ${mode}; there are: ${known}`);
}

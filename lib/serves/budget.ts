/**
 * Whether what is to start fits beside what runs: arithmetic over what was seen, printable.
 *
 *     discrete, per device:  room  = memory - reserve
 *                            taken = ours, each at least its claim
 *                                  + all measured memory that no process of ours explains
 *     unified:               sum   = ours, each at least its claim, + undeclared ones seen <= budget
 *                            and   available - what ours may still grow by - os_reserve >= request
 *
 * Memory that nobody proves to be ours is somebody else's; memory nobody measured is used.
 *
 * @module
 */

import type { Host } from "../topology/shape.ts";
import type { Occupant } from "./driver.ts";
import type { Claim } from "./manifest_shape.ts";

/** The memory of a host, as its topology declares it. */
export type Memory = NonNullable<Host["memory"]>;

/** What a device said of itself. */
export interface DeviceUse {
  readonly usedMib: number;
  /** Whose it is, by process of the host; null where the device does not tell. */
  readonly processes: readonly { readonly pid: number; readonly mib: number }[] | null;
}

/** What the host said of its memory. */
export interface MemoryFacts {
  /** By device id of the topology; a device that is not here was not measured. */
  readonly devices: ReadonlyMap<string, DeviceUse>;
  /** Main memory that can be had without swapping; null: not measured. */
  readonly availableMib: number | null;
}

/** What is to be decided. */
export interface BudgetAsk {
  readonly memory: Memory;
  /** Every serve of the manifest. */
  readonly claims: ReadonlyMap<string, Claim>;
  /** Names of serves that are to start; those that run are not counted twice. */
  readonly start: readonly string[];
  /** Names of serves that are gone before that. */
  readonly stop: readonly string[];
  readonly facts: MemoryFacts;
  /** What runs, ours and others', as the drivers see it. */
  readonly occupants: readonly Occupant[];
}

/** One line of the sum. */
export interface Share {
  readonly [key: string]: string | number;
  readonly label: string;
  readonly mib: number;
}

/** One memory, and how it is shared. */
export interface BudgetRow {
  readonly [key: string]: string | number | readonly Share[] | null;
  /** A device id, or `unified`. */
  readonly place: string;
  /** What serves may take of it. */
  readonly room_mib: number;
  /** Serves that stay. */
  readonly ours: readonly Share[];
  /** What nobody declared: containers and processes. */
  readonly others_mib: number;
  /** Serves that start. */
  readonly starting: readonly Share[];
  /** What is left then; negative: so much too little; null: not known, so nothing is. */
  readonly left_mib: number | null;
  /** Why that is, in words. */
  readonly because: string;
}

/** The decision. */
export interface Budget {
  readonly kind: "fits" | "over" | "unknown";
  readonly rows: readonly BudgetRow[];
}

/** Decides. */
export function budget(ask: BudgetAsk): Budget {
  const rows = ask.memory.model === "discrete"
    ? ask.memory.devices.map((device) => deviceRow(ask, device))
    : unifiedRows(ask, ask.memory);
  // A place where nothing starts is shown and decides nothing.
  const asked = rows.filter(({ starting }) => starting.length > 0);
  const kind = asked.some(({ left_mib }) => left_mib !== null && left_mib < 0)
    ? "over"
    : asked.some(({ left_mib }) => left_mib === null)
    ? "unknown"
    : "fits";
  return { kind, rows };
}

/** The rows that do not fit, as one sentence. */
export function explainBudget({ rows }: Budget): string {
  return rows.filter(({ starting, left_mib }) =>
    starting.length > 0 && (left_mib === null || left_mib < 0)
  ).map(({ place, because }) => `${place}: ${because}`).join("; ");
}

interface Device {
  readonly id: string;
  readonly memory_mib: number;
  readonly reserve_mib: number;
}

function deviceRow(ask: BudgetAsk, { id, memory_mib, reserve_mib }: Device): BudgetRow {
  const room = memory_mib - reserve_mib;
  const claimed = (name: string) => {
    const claim = ask.claims.get(name);
    if (claim?.kind !== "discrete") return 0;
    return claim.devices.find(({ device }) => device === id)?.mib ?? 0;
  };
  const use = ask.facts.devices.get(id) ?? null;
  const seen = (pids: readonly number[]) =>
    sum((use?.processes ?? []).filter(({ pid }) => pids.includes(pid)).map(({ mib }) => mib));
  const running = ask.occupants.filter(isOurs);
  const ours = running.filter(({ serve }) => !ask.stop.includes(serve)).map((one) => ({
    label: one.serve,
    mib: Math.max(claimed(one.serve), seen(one.pids)),
  })).filter(({ mib }) => mib > 0);
  const explained = sum(running.map(({ pids }) => seen(pids)));
  const others = use === null ? 0 : Math.max(0, use.usedMib - explained);
  const starting = toStart(ask, claimed);
  const taken = sum(ours.map(({ mib }) => mib)) + others + sum(starting.map(({ mib }) => mib));
  const left = use === null ? null : room - taken;
  const because = use === null
    ? "its memory was not measured, and counts as used"
    : `${taken} MiB of ${room} would be taken, ${others} of them by what is not ours`;
  return {
    place: id,
    room_mib: room,
    ours,
    others_mib: others,
    starting,
    left_mib: left,
    because,
  };
}

function unifiedRows(
  ask: BudgetAsk,
  { budget_mib, os_reserve_mib }: Extract<Memory, { model: "unified" }>,
): BudgetRow[] {
  const claimed = (name: string) => {
    const claim = ask.claims.get(name);
    return claim?.kind === "unified" ? claim.mib : 0;
  };
  const running = ask.occupants.filter(isOurs);
  const staying = running.filter(({ serve }) => !ask.stop.includes(serve));
  const ours = staying.map((one) => ({
    label: one.serve,
    mib: Math.max(claimed(one.serve), one.mib ?? 0),
  })).filter(({ mib }) => mib > 0);
  const strangers = ask.occupants.filter((one) => !isOurs(one));
  const unseen = strangers.find(({ mib }) => mib === null);
  const others = sum(strangers.map(({ mib }) => mib ?? 0));
  const starting = toStart(ask, claimed);
  const request = sum(starting.map(({ mib }) => mib));
  const taken = sum(ours.map(({ mib }) => mib)) + others;
  const shared = { place: "unified", room_mib: budget_mib, ours, others_mib: others, starting };
  const { availableMib } = ask.facts;
  if (unseen !== undefined || availableMib === null) {
    const because = availableMib === null
      ? "the available memory was not measured, and counts as used"
      : `what ${unseen?.label} takes is not known, and counts as all`;
    return [{ ...shared, left_mib: null, because }];
  }
  // What ours have claimed and not taken yet is still in `available`; what stops comes back to it.
  const growth = sum(staying.map((one) => Math.max(0, claimed(one.serve) - (one.mib ?? 0))));
  const back = sum(
    running.filter(({ serve }) => ask.stop.includes(serve)).map(({ mib }) => mib ?? 0),
  );
  const live = availableMib + back - growth - os_reserve_mib - request;
  const declared = budget_mib - taken - request;
  const because = live < declared
    ? `${availableMib} MiB are available` + (back > 0 ? `, ${back} come back` : "") +
      (growth > 0 ? `, ${growth} are promised to what runs` : "") +
      `, ${os_reserve_mib} stay for the system, ${request} are asked for`
    : `${taken + request} MiB of the budget of ${budget_mib} would be taken`;
  return [{ ...shared, left_mib: Math.min(live, declared), because }];
}

function toStart(ask: BudgetAsk, claimed: (name: string) => number): Share[] {
  const staying = ask.occupants.filter(isOurs).map(({ serve }) => serve)
    .filter((name) => !ask.stop.includes(name));
  return [...new Set(ask.start)].filter((name) => !staying.includes(name))
    .map((name) => ({ label: name, mib: claimed(name) })).filter(({ mib }) => mib > 0);
}

function isOurs(one: Occupant): one is Occupant & { readonly serve: string } {
  return one.serve !== null;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

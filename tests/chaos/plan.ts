/**
 * A walk as data: which faults and which acts, when. The seed decides all of it.
 *
 *     |- warm-up -|- faults and acts ... -|- lull: gateway gone -|- faults and acts ... -| healed
 *
 * In a lull nothing but the gateway is gone, so that what its loss changes can be seen.
 *
 * @module
 */

import { type Act, type ActKind, ACTS } from "./act.ts";
import { type Fault, type FaultKind, FAULTS, HOST_PROGRAMS, TAILS, targetOf } from "./fault.ts";
import { SeededRandom } from "./random.ts";

/** A walk. */
export interface Walk {
  readonly seed: string;
  readonly minutes: number;
  readonly hosts: readonly string[];
  /** By `at`. */
  readonly faults: readonly Fault[];
  /** By `at`. */
  readonly acts: readonly Act[];
}

/** Nothing goes wrong before. Milliseconds, as all of these. */
const WARM_UP_MS = 3000;
/** So long nothing begins and nothing lasts before the gateway goes. */
const SETTLE_MS = 9000;
/** The least and the most time from one lull to the next. */
const BETWEEN_LULLS: readonly [number, number] = [40_000, 70_000];
const MOST_AT_ONCE = 3;
/** A walk of less has no lull. */
const LEAST_FOR_LULL_MS = 35_000;

/** The walk of a seed. */
export function plan(seed: string, minutes: number, hosts: readonly string[]): Walk {
  const ends = minutes * 60_000;
  const random = new SeededRandom(`${seed}/faults`);
  const lulls = lullsOf(new SeededRandom(`${seed}/lulls`), ends);
  const faults: Fault[] = lulls.map(({ from, to }) => ({
    kind: "gateway_gone",
    at: from + SETTLE_MS,
    lasts: to - from - SETTLE_MS,
  }));
  for (let at = WARM_UP_MS; at < ends; at += random.whole(800, 4500)) {
    const fault = faultAt(random, at, hosts);
    const over = fault.at + fault.lasts;
    const fits = over < ends &&
      lulls.every(({ from, to }) => over < from || fault.at > to) &&
      faults.filter((one) => overlap(one, fault)).length < MOST_AT_ONCE &&
      faults.every((one) => !overlap(one, fault) || targetOf(one) !== targetOf(fault));
    if (fits) faults.push(fault);
  }
  return {
    seed,
    minutes,
    hosts,
    faults: faults.toSorted((a, b) => a.at - b.at),
    acts: actsOf(new SeededRandom(`${seed}/acts`), ends, lulls, hosts),
  };
}

interface Lull {
  readonly from: number;
  readonly to: number;
}

function lullsOf(random: SeededRandom, ends: number): readonly Lull[] {
  const lulls: Lull[] = [];
  if (ends < LEAST_FOR_LULL_MS) return lulls;
  const lasts = SETTLE_MS + FAULTS.gateway_gone.lasts[0];
  let from = random.whole(12_000, Math.min(BETWEEN_LULLS[1], ends - lasts - 3000));
  while (from + lasts < ends) {
    lulls.push({ from, to: from + lasts });
    from += lasts + random.whole(...BETWEEN_LULLS);
  }
  return lulls;
}

const KINDS = (Object.keys(FAULTS) as FaultKind[]).map((kind) => ({ kind, ...FAULTS[kind] }));

function faultAt(random: SeededRandom, at: number, hosts: readonly string[]): Fault {
  const { kind, lasts: [least, most] } = random.weighted(KINDS);
  const when = { at, lasts: random.whole(least, most) };
  const host = random.pick(hosts);
  switch (kind) {
    case "kill":
      return { ...when, kind, host, program: random.pick(HOST_PROGRAMS) };
    case "torn_tail": {
      const program = random.pick(["router", "agent", "adopter"] as const);
      return { ...when, kind, host, program, tail: random.pick(TAILS) };
    }
    case "swap":
      return { ...when, kind, host, program: random.pick(["chat", "embed"] as const) };
    case "skew": {
      const seconds = random.whole(60, 3 * 86_400) * (random.chance(0.5) ? 1 : -1);
      return { ...when, kind, host, seconds };
    }
    case "publisher_gone":
    case "gateway_gone":
      return { ...when, kind };
    case "pause":
    case "cut":
    case "delay":
    case "disk_full":
      return { ...when, kind, host };
  }
}

function overlap(a: Fault, b: Fault): boolean {
  return a.at < b.at + b.lasts && b.at < a.at + a.lasts;
}

const WEIGHTED = (Object.keys(ACTS) as ActKind[]).map((kind) => ({ kind, weight: ACTS[kind] }));

function actsOf(
  random: SeededRandom,
  ends: number,
  lulls: readonly Lull[],
  hosts: readonly string[],
): readonly Act[] {
  const acts: Act[] = [];
  for (let at = 1000; at < ends; at += random.whole(1500, 5000)) {
    const act: Act = {
      at,
      kind: random.weighted(WEIGHTED).kind,
      host: random.pick(hosts),
      name: `a${acts.length + 1}`,
      again: random.pick([0, 0, 1, 1, 2, 3]),
      atOnce: random.chance(0.5),
    };
    if (lulls.every(({ from, to }) => at < from || at > to)) acts.push(act);
  }
  return acts;
}

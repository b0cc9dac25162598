/**
 * A walk in words: what happened, and each violation with the seed that replays it.
 *
 * @module
 */

import type { Facts } from "./facts.ts";
import type { Walked } from "./walk.ts";

/** Violations of one kind that are shown. */
const SHOWN = 12;

/** The text. */
export function reportOf(seed: string, minutes: number, hosts: number, walked: Walked): string {
  const { facts, violations } = walked;
  const counts = (of: readonly string[]) => {
    const found = new Map<string, number>();
    for (const one of of) found.set(one, (found.get(one) ?? 0) + 1);
    return [...found].toSorted(([, a], [, b]) => b - a).map(([name, n]) => `${name} ${n}`).join(
      ", ",
    );
  };
  const { transcripts, asks, inflicted, diary, decisions, adoption } = facts;
  const proven = new Set(adoption.flatMap((one) => one.proven === null ? [] : [one.proven])).size;
  const lines = [
    `faults      ${inflicted.length}: ${counts(inflicted.map(({ fault }) => fault.kind))}`,
    `requests    ${transcripts.length}: ${counts(transcripts.map(({ end }) => end))}`,
    `dispatched  ${
      diary.filter(({ when }) => when === "came").length
    }, decided ${decisions.length}`,
    `asks        ${asks.length} of ${new Set(asks.map(({ key }) => key)).size} keys: ` +
    counts(asks.map(({ said }) => said ?? "no answer")),
    `adopted     ${proven} proven of ${facts.published.length} published; ` +
    `${facts.samples.length} looks at routers`,
  ];
  if (violations.length === 0) {
    return [...lines, `chaos seed ${seed}: no violation in ${minutes} min`].join("\n");
  }
  const shown = violations.slice(0, SHOWN).map(({ invariant, detail }) =>
    `VIOLATED  ${invariant}: ${detail}`
  );
  return [
    ...lines,
    ...shown,
    ...(violations.length > SHOWN ? [`… and ${violations.length - SHOWN} more`] : []),
    `chaos seed ${seed}: ${violations.length} violations. ` +
    `Replay: make chaos SEED=${seed} MINUTES=${minutes} HOSTS=${hosts}`,
  ].join("\n");
}

/** What a walk must have seen to prove anything; what is missing. */
export function tooQuiet(facts: Facts): readonly string[] {
  const missing: string[] = [];
  const need = (is: boolean, what: string) => is || missing.push(what);
  need(facts.inflicted.length > 0, "a fault");
  need(facts.transcripts.some(({ end }) => end === "whole"), "an answer");
  need(facts.decisions.length > 0, "a decision");
  need(facts.asks.some(({ said }) => said === "done"), "an operation that was done");
  need(facts.ledger.length > 0, "a row of a ledger");
  need(facts.probes.length > 0, "a probe");
  need(facts.samples.length > 0, "a look at a router");
  return missing;
}

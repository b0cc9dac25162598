/**
 * Carries out what the machine owes, by the ports: looks, launches, waits, judges.
 *
 * @module
 */

import { type Clock, timestamp } from "../core/clock.ts";
import type { Perform } from "../core/machine.ts";
import type { Backend, Facts, LaunchAsk } from "./backend.ts";
import { takeBaseline, takeProof } from "./baseline.ts";
import { offerAgainst } from "./candidate.ts";
import type { Effect, Event } from "./event.ts";
import { type Gate, type GateMemory, reasonsOf } from "./gate.ts";
import { settleIdle } from "./hysteresis.ts";
import { onLaunch, settle } from "./recovery.ts";
import { readGates, readProbes } from "./sample.ts";
import type { Attempt, Condemned, Slots } from "./slots.ts";
import {
  asIfPassed,
  judge,
  type Probe,
  type Sample,
  type TimedSample,
  type Verdict,
  type VerdictRules,
} from "./verdict.ts";

/** What an adoption acts through. */
export interface AdoptionPorts {
  readonly backend: Backend;
  readonly clock: Clock;
  readonly gates: readonly Gate[];
  readonly idleMs: { readonly [gate: string]: number };
  readonly gateMemory: GateMemory;
  readonly probes: readonly Probe[];
  /** Writes receipt, marker and summary of the attempt that ended. Safe to repeat. */
  readonly record: (slots: Slots) => Promise<void>;
}

/** What an adoption goes by. Times are milliseconds. */
export interface AdoptionRules {
  readonly verdict: VerdictRules;
  readonly sampleEveryMs: number;
  readonly launchMs: number;
  /** How long a launch of unknown end is watched before a person must look. */
  readonly settleMs: number;
  /** An older baseline is taken anew before a launch. */
  readonly baselineMs: number;
  readonly restartSensitive: readonly string[];
}

const SETTLE_EVERY_MS = 2000;

/** Pays effects. `now` is the state that owes: `drive` asks the machine right before it pays. */
export function performer(
  ports: AdoptionPorts,
  rules: AdoptionRules,
  now: () => Slots,
): Perform<Event, Effect> {
  return async (effect, again) => {
    const slots = now();
    if (effect.kind === "collect") return await collect(ports, slots);
    const { attempt } = slots;
    if (attempt === null) throw new Error(`${effect.kind} is owed without an attempt`);
    switch (effect.kind) {
      case "baseline":
        return attempt.purpose === "prove"
          ? await takeProof(ports, rules, slots, attempt)
          : await takeBaseline(ports, rules, slots, attempt);
      case "activate":
        return await activate(ports, rules, slots, attempt, again);
      case "revert":
        return await revert(ports, rules, effect, again);
      case "inspect":
        return await inspect(ports, rules, effect);
      case "probe":
        return probed(await watch(ports, rules, attempt, effect.path), ports);
      case "probe_reverted": {
        const seen = await watch(ports, rules, attempt, effect.path);
        if (seen.kind === "superseded" || seen.kind === "booted_back") {
          const found = seen.kind === "superseded" ? seen.found : attempt.path;
          return { kind: "superseded", found, at: at(ports) };
        }
        const good = seen.kind === "good";
        return { kind: "reverted_judged", evidence: seen.evidence, good, at: at(ports) };
      }
      case "commit":
        return await commit(ports, attempt, effect.path);
      case "record":
        await ports.record(slots);
        await ports.backend.forget(effect.attempt);
        return { kind: "recorded", at: at(ports) };
    }
  };
}

/** Every gate, with its hysteresis. */
export async function gateReadings(ports: AdoptionPorts) {
  const seen = await readGates(ports.gates, ports.clock);
  const remembered = await ports.gateMemory.read();
  const settled = settleIdle(remembered, seen, ports.idleMs, ports.clock.now());
  await ports.gateMemory.write(settled.remembered);
  return settled.readings;
}

async function activate(
  ports: AdoptionPorts,
  rules: AdoptionRules,
  slots: Slots,
  attempt: Attempt,
  again: boolean,
): Promise<Event> {
  const { backend, clock } = ports;
  const ask: LaunchAsk = {
    attempt: attempt.id,
    step: "activate",
    path: attempt.path,
    previous: attempt.previous,
    mode: attempt.mode,
    deadlineMs: rules.launchMs,
  };
  const facts = await backend.facts();
  if (facts.kind === "refused") return unknownFacts(ports, facts.detail, again);
  const launched = (launch: Awaited<ReturnType<Backend["launch"]>>): Event => ({
    kind: "launched",
    launch,
    boot_id: facts.boot_id,
    at: at(ports),
  });
  const next = onLaunch(again ? await backend.inspect(ask) : null);
  switch (next.kind) {
    case "answer":
      return launched(next.launch);
    case "unknown":
      return launched({ kind: "unknown", code: "launch_interrupted", detail: next.detail });
    case "finish":
      return launched(await backend.launch(ask));
    case "from_start":
      break;
  }
  if (facts.current !== attempt.previous) {
    return { kind: "superseded", found: facts.current, at: at(ports) };
  }
  if (baselineStale(attempt, facts, rules, clock.now())) return { kind: "baseline_stale" };
  const against = offerAgainst(attempt.candidate, slots.withdrawn, clock.now());
  if (against !== null) return { kind: "refused", ...against, class: null, at: at(ports) };
  if (!(attempt.overrides?.rules.includes("gates") ?? false)) {
    const reasons = reasonsOf(await gateReadings(ports));
    if (reasons.length > 0) return { kind: "gates_busy", reasons, at: at(ports) };
  }
  return launched(await backend.launch(ask));
}

function unknownFacts(ports: AdoptionPorts, detail: string, again: boolean): Event {
  if (again) {
    const launch = { kind: "unknown", code: "facts_unknown", detail } as const;
    return { kind: "launched", launch, boot_id: "", at: at(ports) };
  }
  return { kind: "refused", code: "facts_unknown", detail, class: "environment", at: at(ports) };
}

function baselineStale(attempt: Attempt, facts: Facts, rules: AdoptionRules, now: number): boolean {
  const { baseline } = attempt;
  if (baseline === null || baseline.boot_id !== facts.boot_id) return true;
  const age = now - Date.parse(baseline.at);
  return age < 0 || age > rules.baselineMs;
}

async function revert(
  ports: AdoptionPorts,
  rules: AdoptionRules,
  effect: Extract<Effect, { kind: "activate" | "revert" }>,
  again: boolean,
): Promise<Event> {
  const { backend } = ports;
  const { attempt, path, previous, mode } = effect;
  const ask: LaunchAsk = {
    attempt,
    step: "revert",
    path,
    previous,
    mode,
    deadlineMs: rules.launchMs,
  };
  const facts = await backend.facts();
  const boot_id = facts.kind === "refused" ? "" : facts.boot_id;
  const next = onLaunch(again ? await backend.inspect(ask) : null);
  const ours = facts.kind === "refused" || facts.current === path || facts.current === previous;
  if (next.kind === "from_start" && !ours) {
    return { kind: "superseded", found: facts.current, at: at(ports) };
  }
  const launch = next.kind === "answer"
    ? next.launch
    : next.kind === "unknown"
    ? { kind: "unknown", code: "revert_interrupted", detail: next.detail } as const
    : await backend.launch(ask);
  return { kind: "launched", launch, boot_id, at: at(ports) };
}

/** Watches a launch of unknown end; answers what it turned out to be, or that a person must look. */
async function inspect(
  ports: AdoptionPorts,
  rules: AdoptionRules,
  effect: Extract<Effect, { kind: "inspect" }>,
): Promise<Event> {
  const { backend, clock } = ports;
  const { attempt, step, path, previous, mode } = effect;
  const ask: LaunchAsk = { attempt, step, path, previous, mode, deadlineMs: rules.launchMs };
  const until = clock.monotonic() + rules.settleMs;
  for (;;) {
    const facts = await backend.facts();
    if (facts.kind === "refused") {
      return { kind: "unsettled", code: "facts_unknown", detail: facts.detail, at: at(ports) };
    }
    const settled = settle(await backend.inspect(ask), facts, { from: previous, to: path });
    const answer = (launch: Awaited<ReturnType<Backend["launch"]>>): Event => ({
      kind: "launched",
      launch,
      boot_id: facts.boot_id,
      at: at(ports),
    });
    switch (settled.kind) {
      case "answer":
        return answer(settled.launch);
      case "finish":
        return answer(await backend.launch(ask));
      case "runs":
        // Back where it was by a boot, perhaps; what is selected has to follow.
        if (step === "revert" && facts.selected !== path) return answer(await backend.launch(ask));
        return answer({ kind: "switched", degraded: true, detail: "found running" });
      case "restore":
        return await restored(ports, rules, effect, answer);
      case "superseded":
        return { kind: "superseded", found: settled.found, at: at(ports) };
      case "wait":
        break;
    }
    if (clock.monotonic() >= until) {
      const detail = "the activation is still at work after all that time";
      return { kind: "unsettled", code: "activation_still_running", detail, at: at(ports) };
    }
    await clock.sleep(SETTLE_EVERY_MS);
  }
}

/** What was selected before is selected again; a way back that did not happen is not retried. */
async function restored(
  ports: AdoptionPorts,
  rules: AdoptionRules,
  effect: Extract<Effect, { kind: "inspect" }>,
  answer: (launch: Awaited<ReturnType<Backend["launch"]>>) => Event,
): Promise<Event> {
  const { attempt, step, path, previous } = effect;
  if (step === "activate" && previous !== null) {
    const back = await ports.backend.launch({
      attempt,
      step: "revert",
      path: previous,
      previous: path,
      mode: "switch",
      deadlineMs: rules.launchMs,
    });
    if (back.kind !== "switched") {
      const detail = `what ran before could not be made whole again: ${back.detail}`;
      return { kind: "unsettled", code: "restore_failed", detail, at: at(ports) };
    }
  }
  const detail = "it was begun and did not take effect";
  return answer({ kind: "nothing", class: "environment", code: "activation_lost", detail });
}

/**
 * Only what runs is committed: the machine may have booted between verdict and here. A proof moves
 * nothing: it only tells when the next boot takes something else.
 */
async function commit(ports: AdoptionPorts, attempt: Attempt, path: string): Promise<Event> {
  const facts = await ports.backend.facts();
  if (facts.kind !== "refused" && facts.current !== path) {
    return bootedBack(attempt, facts)
      ? probed({ kind: "booted_back" }, ports)
      : { kind: "superseded", found: facts.current, at: at(ports) };
  }
  if (attempt.purpose === "prove") {
    const elsewhere = facts.kind === "refused"
      ? facts.detail
      : facts.selected === path
      ? null
      : `it runs and is good, and ${
        facts.selected ?? "nothing known"
      } is selected for the next boot`;
    return { kind: "committed", problem: elsewhere, at: at(ports) };
  }
  const done = await ports.backend.commit(path);
  const problem = done.kind === "ok" ? null : `${done.code}: ${done.detail}`;
  return { kind: "committed", problem, at: at(ports) };
}

type Watched =
  | Exclude<Verdict, { kind: "more" }>
  | Extract<Event, { kind: "superseded" }>
  /** The machine went down before the verdict, and came back with what it booted before. */
  | { readonly kind: "booted_back" };

/** Samples until there is a verdict on exactly `path`, or somebody moved it. */
async function watch(
  ports: AdoptionPorts,
  rules: AdoptionRules,
  attempt: Attempt,
  path: string,
): Promise<Watched> {
  const { backend, clock, probes } = ports;
  // Neither changed anything for the better yet: what failed before is not forgiven.
  const strict = attempt.purpose === "prove" || attempt.purpose === "back";
  const before = strict ? asIfPassed(attempt.baseline) : attempt.baseline;
  const samples: TimedSample[] = [];
  for (;;) {
    const facts = await backend.facts();
    if (facts.kind !== "refused" && facts.current !== path) {
      if (bootedBack(attempt, facts)) return { kind: "booted_back" };
      return { kind: "superseded", found: facts.current, at: at(ports) };
    }
    const sample = await readProbes(probes, clock);
    samples.push({
      sample: facts.kind === "refused" ? allUnknown(sample) : sample,
      takenMs: clock.monotonic(),
    });
    const verdict = judge(before, samples, rules.verdict);
    if (verdict.kind !== "more") return verdict;
    await clock.sleep(rules.sampleEveryMs);
  }
}

/** Not somebody's doing: what is not committed does not survive a boot. */
function bootedBack({ purpose, baseline, condemned, previous }: Attempt, facts: Facts): boolean {
  return purpose !== "prove" && condemned === null && baseline !== null &&
    baseline.boot_id !== facts.boot_id &&
    facts.current === previous;
}

function allUnknown(sample: Sample): Sample {
  return {
    at: sample.at,
    readings: sample.readings.map((reading) => ({
      ...reading,
      state: "unknown",
      code: "facts_unknown",
      detail: "nobody can tell which generation runs",
    })),
  };
}

function probed(seen: Watched, ports: AdoptionPorts): Event {
  if (seen.kind === "superseded") return seen;
  if (seen.kind === "booted_back") {
    const detail = "the machine booted before the verdict, into the earlier generation";
    const code = "boot_before_verdict";
    const condemned: Condemned = { class: "environment", code, detail, evidence: null };
    return { kind: "judged_bad", condemned, at: at(ports) };
  }
  const { evidence } = seen;
  if (seen.kind === "good") return { kind: "judged_good", evidence, at: at(ports) };
  const said = [...evidence.failed, ...evidence.unknown].map(({ probe, code }) =>
    `${probe} ${code}`
  );
  return {
    kind: "judged_bad",
    condemned: {
      class: seen.code === "probe_silent" ? "environment" : "candidate",
      code: seen.code,
      detail: said.join(", "),
      evidence,
    },
    at: at(ports),
  };
}

async function collect(ports: AdoptionPorts, slots: Slots): Promise<Event> {
  const { proven, staged, pending, last } = slots;
  const keep = [
    ...[proven?.path, staged?.path, pending?.path, pending?.previous, pending?.revert_to],
    ...[last?.path, last?.previous],
  ].filter((path) => path !== undefined && path !== null);
  const done = await ports.backend.collect([...new Set(keep)]);
  return done.kind === "ok"
    ? { kind: "collected", removed: done.removed, problem: null }
    : { kind: "collected", removed: 0, problem: `${done.code}: ${done.detail}` };
}

function at({ clock }: AdoptionPorts): string {
  return timestamp(clock.now());
}

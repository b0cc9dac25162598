/**
 * Probes and what they prove: a baseline before, the same set after, samples over a window.
 *
 *     baseline ──cannotJudge──> may begin | cannot_judge
 *     samples  ──judge──> good | bad | more samples wanted
 *
 * @module
 */

/** What a probe says. */
export type ProbeState = "pass" | "fail" | "unknown";

/** What one probe saw. `count` is for probes that count, such as restarts of a unit. */
export type ProbeReading = {
  readonly probe: string;
  readonly state: ProbeState;
  /** Stable: `unit_failed`, `status_500`, `timed_out`. */
  readonly code: string;
  readonly detail: string;
  readonly count: number | null;
};

/** One configured probe. `read` never rejects for what it sees and gives up when `signal` aborts. */
export interface Probe {
  readonly name: string;
  /** A required probe that is unknown before the switch stops the attempt. */
  readonly required: boolean;
  readonly read: (signal: AbortSignal) => Promise<Omit<ProbeReading, "probe">>;
  /** How long it may take, in milliseconds. */
  readonly deadlineMs: number;
}

/** All probes at one time. */
export type Sample = { readonly at: string; readonly readings: readonly ProbeReading[] };

/** A sample, and when it was taken by a clock that nobody sets, in milliseconds. */
export interface TimedSample {
  readonly sample: Sample;
  readonly takenMs: number;
}

/** What was so before. */
export type Baseline = Sample & {
  /** The boot it was taken in: counts start anew with each. */
  readonly boot_id: string;
  /** True when parts of the target still wait for a boot after it is switched to. */
  readonly boot_pending: boolean;
};

/** When a path is known good. */
export interface VerdictRules {
  /** Clean samples in a row. */
  readonly clean: number;
  /** They must span this long, in milliseconds. */
  readonly windowMs: number;
  /** Without them by then the verdict is bad, in milliseconds from the first sample. */
  readonly deadlineMs: number;
  readonly required: readonly string[];
}

/** What a bad verdict rests on. */
export type Evidence = {
  /** Probes that passed before and failed after, with what they said last. */
  readonly failed: readonly ProbeReading[];
  /** Probes that passed before and said nothing after. */
  readonly unknown: readonly ProbeReading[];
  /** Probes that were not judged, because they failed or said nothing before. */
  readonly not_judged: readonly string[];
  readonly samples: number;
  readonly clean: number;
};

/** What the samples so far prove. */
export type Verdict =
  | { readonly kind: "good"; readonly evidence: Evidence }
  | { readonly kind: "bad"; readonly code: BadCode; readonly evidence: Evidence }
  | { readonly kind: "more" };

/** Why a path is not known good. */
export type BadCode =
  | "probe_failed" // what passed before fails
  | "probe_flapping" // it passes and fails
  | "restarts_counted" // something restarts again and again
  | "probe_silent"; // nothing failed, but somebody could not tell

/** Required probes that could not tell before: no verdict could be trusted after. */
export function cannotJudge(before: Sample, required: readonly string[]): readonly ProbeReading[] {
  return required.flatMap((name) => {
    const reading = before.readings.find(({ probe }) => probe === name);
    if (reading?.state === "pass" || reading?.state === "fail") return [];
    return [
      reading ?? {
        probe: name,
        state: "unknown" as const,
        code: "not_read",
        detail: "the probe was not read",
        count: null,
      },
    ];
  });
}

/**
 * What a path is held against that ran already when it was first looked at. Whatever could tell then
 * is judged: a probe that fails from the start says nothing about a change, and all about the path.
 */
export function asIfPassed(before: Sample | null): Sample | null {
  return before === null ? null : {
    at: before.at,
    readings: before.readings.map((one) => one.state === "fail" ? { ...one, state: "pass" } : one),
  };
}

/**
 * Judges `samples`, oldest first, of one path, all taken by one process: spans are measured by its
 * monotonic clock, so that a wall clock that is set meanwhile makes no window of nothing. A probe that did not pass before cannot condemn. A
 * count that grows between the first sample and a later one fails that one: a slow crash loop looks
 * clean in between. Without a baseline every probe is judged.
 */
export function judge(
  before: Sample | null,
  samples: readonly TimedSample[],
  rules: VerdictRules,
): Verdict {
  const passedBefore = (name: string) =>
    before === null || before.readings.find(({ probe }) => probe === name)?.state === "pass";
  const first = samples[0];
  const last = samples.at(-1);
  if (first === undefined || last === undefined) return { kind: "more" };
  const judged = samples.map(({ sample }) =>
    sample.readings.filter(({ probe }) => passedBefore(probe))
      .map((reading) => counted(reading, first.sample))
  );
  let clean = 0;
  for (const readings of judged.toReversed()) {
    if (!readings.every(({ state }) => state === "pass")) break;
    clean++;
  }
  const firstClean = samples[samples.length - clean];
  const spans = firstClean !== undefined && clean >= rules.clean &&
    last.takenMs - firstClean.takenMs >= rules.windowMs;
  const notJudged = first.sample.readings.map(({ probe }) => probe).filter((one) =>
    !passedBefore(one)
  );
  const evidence = evidenceOf(judged, notJudged, clean);
  if (spans) return { kind: "good", evidence };
  if (last.takenMs - first.takenMs < rules.deadlineMs) return { kind: "more" };
  return { kind: "bad", code: codeOf(judged, evidence), evidence };
}

/** A reading whose count grew since the first sample is a failure, whatever else it says. */
function counted(reading: ProbeReading, first: Sample): ProbeReading {
  const at = first.readings.find(({ probe }) => probe === reading.probe)?.count ?? null;
  if (reading.count === null || at === null || reading.count <= at) return reading;
  const detail = `${reading.count - at} more than at the first look`;
  return { ...reading, state: "fail", code: "restarts_counted", detail };
}

function evidenceOf(
  judged: readonly (readonly ProbeReading[])[],
  notJudged: readonly string[],
  clean: number,
): Evidence {
  const newest = new Map<string, ProbeReading>();
  const silent = new Map<string, ProbeReading>();
  for (const reading of judged.flat()) {
    if (reading.state === "fail") newest.set(reading.probe, reading);
    if (reading.state === "unknown") silent.set(reading.probe, reading);
  }
  return {
    failed: [...newest.values()],
    unknown: [...silent.values()].filter(({ probe }) => !newest.has(probe)),
    not_judged: notJudged,
    samples: judged.length,
    clean,
  };
}

function codeOf(
  judged: readonly (readonly ProbeReading[])[],
  evidence: Evidence,
): BadCode {
  if (evidence.failed.length === 0) return "probe_silent";
  if (evidence.failed.some(({ code }) => code === "restarts_counted")) return "restarts_counted";
  const flaps = evidence.failed.every(({ probe }) =>
    judged.some((sample) => sample.some((one) => one.probe === probe && one.state === "pass"))
  );
  return flaps ? "probe_flapping" : "probe_failed";
}

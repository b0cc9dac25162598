/**
 * The benchmarks of one host: one at a time, begun or gone on with, cancelled, looked at.
 *
 * @module
 */

import { canonicalJson, type Json } from "../../../lib/core/canonical_json.ts";
import { timestamp } from "../../../lib/core/clock.ts";
import type { TryLock } from "../../../lib/core/lock.ts";
import { type Refusal, refuse } from "../../../lib/core/refusal.ts";
import type { Remarks } from "../../../lib/core/remarks.ts";
import type { Build } from "../../../lib/core/version.ts";
import { corpusNamed } from "../../../lib/benchmark/corpora.ts";
import type { Corpus } from "../../../lib/benchmark/corpus.ts";
import {
  type Benchmark,
  type BenchmarkState,
  type Ending,
  leftOf,
  stepBenchmark,
} from "../../../lib/benchmark/run_state.ts";
import type { Changes } from "../changes.ts";
import type { FactPorts } from "../facts/fact.ts";
import { beingMeasured, disturbed, type Stillness } from "../stillness.ts";
import { axesOf } from "./axes.ts";
import { conditionsOf, lookAt, type Seen } from "./conditions.ts";
import { Session, type SessionEnd } from "./session.ts";
import type { BenchmarkStore } from "./store.ts";
import type { Target, TargetAsk, TargetPorts } from "./target.ts";
import { findTarget } from "./targets.ts";

/** What benchmarks need. */
export interface BenchPorts extends TargetPorts {
  readonly remarks: Remarks;
  readonly build: Build;
  readonly facts: FactPorts;
  readonly tryLock: TryLock;
  readonly lockPath: string;
  readonly store: BenchmarkStore;
  readonly stillness: Stillness;
  readonly changes: Pick<Changes, "newest" | "looked">;
}

/** A benchmark that is wanted. */
export interface BenchAsk {
  readonly target: TargetAsk;
  readonly corpus: string;
  /** The digest the caller means; null: whatever this agent has under that name. */
  readonly corpusDigest: string | null;
  readonly repeats: number;
  readonly concurrency: number;
  readonly topLogprobs: number;
  readonly requestSeconds: number;
}

/** What would be measured, proven and whole. */
export interface Prepared {
  readonly kind: "prepared";
  readonly target: Target;
  readonly corpus: Corpus;
  readonly benchmark: Omit<Benchmark, "id">;
  /** The benchmark that is gone on with; null for a new one. */
  readonly resumed: BenchmarkState | null;
}

/** Bytes that the answers of one benchmark may take on the disk. */
const MOST_BYTES = 48 * 1024 * 1024;
/** A token in a record, and each alternative of it. */
const TOKEN_BYTES = 64;
const ALTERNATIVE_BYTES = 40;
/** A benchmark that was told to end may take so long before its canceller is answered. */
const CANCEL_MS = 4000;

interface Live {
  readonly id: string;
  readonly session: Session;
  readonly ended: Promise<SessionEnd>;
}

/** How a cancellation went. */
export interface Cancelled {
  readonly kind: "asked";
  readonly id: string;
  /** It is over; false: what was under way is still being cut off. */
  readonly over: boolean;
}

/** The benchmarks of this host. */
export class Bench {
  readonly #ports: BenchPorts;
  #live: Live | null = null;

  constructor(ports: BenchPorts) {
    this.#ports = ports;
  }

  /** The benchmark that is worked on now; null when there is none. */
  get live(): { readonly id: string; readonly state: BenchmarkState } | null {
    return this.#live === null ? null : { id: this.#live.id, state: this.#live.session.state };
  }

  /** Decides about a new one; asks nothing of an engine but what it serves. */
  async prepare(ask: BenchAsk, signal: AbortSignal): Promise<Prepared | Refusal> {
    const busy = await this.#busy();
    if (busy !== null) return busy;
    const corpus = await corpusNamed(ask.corpus, ask.corpusDigest);
    if ("code" in corpus) return corpus;
    const { sampling, prompts } = corpus;
    const tokens = prompts.length * ask.repeats * sampling.max_tokens;
    const bytes = tokens * (TOKEN_BYTES + ask.topLogprobs * ALTERNATIVE_BYTES);
    if (bytes > MOST_BYTES) {
      return refuse(
        "benchmark_too_large",
        `${prompts.length * ask.repeats} answers may take ${bytes} bytes, at most ${MOST_BYTES}`,
        "fewer repeats, or fewer top_logprobs",
      );
    }
    const found = await this.#proven(ask.target, signal);
    if ("code" in found) return found;
    const { config, facts, files, build } = this.#ports;
    const host = await axesOf(config, files, facts, signal);
    if ("code" in host) return host;
    if (host.runtime === null && found.through.kind === "member") {
      return refuse(
        "benchmark_host_model_free",
        "the topology gives this host no runtime class, so it has no engine to measure",
        "declare the runtime of this host, or measure through a router",
      );
    }
    const benchmark: Omit<Benchmark, "id"> = {
      subject: found.subject,
      through: found.through,
      host,
      workload: {
        corpus: { name: corpus.name, digest: corpus.digest, prompts: prompts.length },
        sampling,
        repeats: ask.repeats,
        warmup: 0,
        concurrency: ask.concurrency,
        stream: true,
      },
      top_logprobs: ask.topLogprobs,
      request_seconds: ask.requestSeconds,
      prompts: prompts.map(({ id }) => id),
      tool: { name: build.name, version: build.version, build_digest: build.build_digest },
    };
    return { kind: "prepared", target: found, corpus, benchmark, resumed: null };
  }

  /** Decides about going on with `id`: the same corpus, the same model, on the same host. */
  async prepareResume(id: string, signal: AbortSignal): Promise<Prepared | Refusal> {
    const busy = await this.#busy();
    if (busy !== null) return busy;
    const state = await this.#ports.store.state(id);
    if (state === null) return unknownBenchmark();
    if ("code" in state) return state;
    const { id: _id, ...benchmark } = state.benchmark;
    if (leftOf(state) === 0 && state.evidence !== null) {
      return refuse("benchmark_over", `${id} has asked everything and is concluded`, "run it anew");
    }
    const changed = await this.#changedSince(state);
    if (changed !== null) return changed;
    const { workload, through } = benchmark;
    const corpus = await corpusNamed(workload.corpus.name, workload.corpus.digest);
    if ("code" in corpus) return corpus;
    const target = await this.#proven(askOf(through), signal);
    if ("code" in target) return target;
    const { config, facts, files } = this.#ports;
    const host = await axesOf(config, files, facts, signal);
    if ("code" in host) return host;
    const pairs: readonly (readonly [Json, Json])[] = [
      [target.subject, benchmark.subject],
      [target.through, through],
      [host, benchmark.host],
    ];
    const same = pairs.every(([now, then]) => canonicalJson(now) === canonicalJson(then));
    return same ? { kind: "prepared", target, corpus, benchmark, resumed: state } : refuse(
      "benchmark_subject_changed",
      `${id} measured another model, configuration or host than there is now`,
      "run it anew",
    );
  }

  /** Works on what was prepared, until it is over. */
  async run(
    { target, corpus, benchmark, resumed }: Prepared,
    about: { readonly run: string; readonly deadlineMs: number },
    tell: (state: BenchmarkState) => void,
    signal: AbortSignal,
  ): Promise<SessionEnd | Refusal> {
    const { stillness, changes, tryLock, lockPath, store, clock, upstream, facts, remarks } =
      this.#ports;
    const still = stillness.measure(target.through);
    if (still.kind === "refused") return still;
    using _still = still;
    const changed = resumed === null ? null : await this.#changedSince(resumed);
    if (changed !== null) return changed;
    const change = await changes.newest();
    const lock = await tryLock(lockPath);
    if (lock.kind === "busy") return beingMeasured("another benchmark");
    if (lock.kind === "refused") return refuse(lock.code, lock.detail);
    await using _held = lock;
    if (still.signal.aborted) return disturbed(String(still.signal.reason));
    const made = resumed === null ? await store.create() : resumed.benchmark;
    if ("code" in made) return made;
    const { id } = made;
    still.id = id;
    const opened = await store.open(id);
    if (opened.kind === "busy") return beingMeasured(id);
    if (opened.kind === "refused") return refuse(opened.code, opened.detail);
    await using journal = opened.journal;
    let state = resumed;
    if (state === null) {
      const at = timestamp(clock.now());
      const begun = { kind: "begun", benchmark: { id, ...benchmark }, at } as const;
      try {
        await journal.append(begun);
      } catch (error) {
        remarks.warn("{benchmark} cannot be begun: {error}", { benchmark: id, error });
        return refuse("benchmark_not_kept", "the journal of the benchmark takes no writes");
      }
      state = stepBenchmark(null, begun);
    }
    let first: Seen | null = null;
    const look = async (until: AbortSignal) => {
      const seen = await lookAt(facts, until);
      first ??= seen;
      return conditionsOf(first, seen);
    };
    const ports = { clock, upstream, journal, store, look, onChange: tell };
    const session = new Session(ports, { ...about, target, corpus, change }, state);
    const halt = () => session.halt(signal.reason === "agent_stopping" ? "stopped" : "cancelled");
    signal.addEventListener("abort", halt, { once: true });
    if (signal.aborted) halt();
    const giveWay = () => {
      const what = String(still.signal.reason);
      remarks.warn("{benchmark} gives way to {what}", { benchmark: id, what });
      session.giveWay(what);
    };
    still.signal.addEventListener("abort", giveWay, { once: true });
    if (still.signal.aborted) giveWay();
    const ended = session.work();
    this.#live = { id, session, ended };
    try {
      return await ended;
    } finally {
      this.#live = null;
      signal.removeEventListener("abort", halt);
      await store.prune();
    }
  }

  /** Asks the live one to end, and waits a little for it. */
  async cancel(id: string | null): Promise<Cancelled | Refusal> {
    const live = this.#live;
    if (live === null || (id !== null && live.id !== id)) {
      return refuse(
        "benchmark_not_running",
        "no such benchmark is worked on now",
        "see `benchmarks.status`",
      );
    }
    live.session.halt("cancelled" satisfies Ending);
    const over = new AbortController();
    const late = this.#ports.clock.sleep(CANCEL_MS, over.signal).then(() => false, () => false);
    const ended = live.ended.then(() => true, () => true);
    const done = await Promise.race([ended, late]);
    over.abort();
    return { kind: "asked", id: live.id, over: done };
  }

  async #proven(ask: TargetAsk, signal: AbortSignal): Promise<Target | Refusal> {
    const target = await findTarget(this.#ports, ask, signal);
    if ("code" in target) return target;
    return await target.prove(signal) ?? target;
  }

  async #busy(): Promise<Refusal | null> {
    // What an earlier process left of a change goes first.
    await this.#ports.changes.looked();
    return this.#live === null ? this.#ports.stillness.refusal() : beingMeasured(this.#live.id);
  }

  /** Why `state` cannot be gone on with: its host was changed since, by what is written down. */
  async #changedSince({ benchmark, ending, endedBy, change }: BenchmarkState): Promise<
    Refusal | null
  > {
    const gaveWay = ending === "conditions_changed";
    const now = change === undefined ? undefined : await this.#ports.changes.newest();
    if (!gaveWay && (change === undefined || (change !== null && change === now))) return null;
    const by = gaveWay ? endedBy ?? "a change" : now ?? "nobody can say by what";
    return refuse(
      "benchmark_conditions_changed",
      `this host was changed since ${benchmark.id} began: ${by}`,
      "run it anew",
    );
  }
}

/** No benchmark of that id. */
export function unknownBenchmark(): Refusal {
  return refuse("benchmark_unknown", "no benchmark here has this id", "see `benchmarks.status`");
}

function askOf(through: Benchmark["through"]): TargetAsk {
  if (through.kind === "router") return { kind: "alias", name: through.alias };
  // A serve has its tier; what agent.toml declares has none.
  return { kind: through.tier === null ? "member" : "serve", name: through.serve };
}

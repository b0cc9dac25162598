/**
 * One session of a benchmark: from its first request to its conclusion, every step on the disk before
 * the next one is taken.
 *
 *     session ──> [asked ──> sent ──> answered]* ──> looked ──> ended ──> proven again ──> concluded
 *                   ^ as many at once as the workload says
 *     halt: cancelled, stopped, conditions changed ──> what is under way is cut off; deadline ──> it
 *           may end
 *
 * @module
 */

import { type Clock, timestamp } from "../../../lib/core/clock.ts";
import { type Refusal, refuse } from "../../../lib/core/refusal.ts";
import { conclude } from "../../../lib/benchmark/conclude.ts";
import type { Corpus } from "../../../lib/benchmark/corpus.ts";
import type { Outcome } from "../../../lib/benchmark/outcome.ts";
import {
  askedAt,
  type BenchmarkEvent,
  type BenchmarkState,
  type Ending,
  leftOf,
  owedRequests,
  stepBenchmark,
} from "../../../lib/benchmark/run_state.ts";
import type { Journal } from "../../../lib/core/journal.ts";
import type { Conditions } from "../../../lib/evidence/evidence_shape.ts";
import { askOnce, type AskPorts, requestBody } from "./ask.ts";
import type { BenchmarkStore } from "./store.ts";
import type { Target } from "./target.ts";

/** What a session works with. */
export interface SessionPorts extends AskPorts {
  readonly clock: Clock;
  readonly journal: Journal<BenchmarkEvent>;
  readonly store: BenchmarkStore;
  /** Looks at the machine; the first look of a session is what later ones are compared with. */
  readonly look: (signal: AbortSignal) => Promise<Conditions>;
  /** Told after each event. Throws when nobody wants to hear more: then nothing more is sent. */
  readonly onChange: (state: BenchmarkState) => void;
}

/** What it works on. */
export interface SessionWork {
  /** The run of the agent that asked for it. */
  readonly run: string;
  readonly target: Target;
  readonly corpus: Corpus;
  readonly deadlineMs: number;
  /** The newest change of the host; null: nobody knows. */
  readonly change: string | null;
}

/** How a session ended. */
export type SessionEnd =
  | { readonly kind: "ended"; readonly state: BenchmarkState; readonly how: Ending }
  /** The disk said no: what is on it is true, and the rest is not known to anybody. */
  | { readonly kind: "not_kept"; readonly state: BenchmarkState; readonly why: Refusal };

/** So many requests in a row that could not even be sent: nobody is there. */
const LOST_AFTER = 5;
/** Between two looks at the machine: each starts a handful of processes. */
const LOOK_MS = 30_000;
/** Looks and proofs have times of their own, of a few seconds; a halt must not cut them off. */
const UNCUT = new AbortController().signal;

/** A benchmark being worked on. */
export class Session {
  readonly #ports: SessionPorts;
  readonly #work: SessionWork;
  readonly #cut = new AbortController();
  readonly #over = new AbortController();
  #state: BenchmarkState;
  #halted: Ending | null = null;
  #by: string | null = null;
  #unsent = 0;

  constructor(ports: SessionPorts, work: SessionWork, state: BenchmarkState) {
    this.#ports = ports;
    this.#work = work;
    this.#state = state;
  }

  /** Where it stands now. */
  get state(): BenchmarkState {
    return this.#state;
  }

  /** Ends it for `what`, which waits for that: nothing is looked at any more. */
  giveWay(what: string): void {
    if (this.#halted === null) this.#by = what;
    this.halt("conditions_changed");
  }

  /** Asks for no more; what is under way is cut off, but for a deadline. The first reason holds. */
  halt(how: Ending): void {
    this.#halted ??= how;
    if (how !== "deadline") this.#cut.abort();
  }

  /** Works until everything was asked, or it is halted. */
  async work(): Promise<SessionEnd> {
    const { clock } = this.#ports;
    const { run, change } = this.#work;
    const first = await this.#ports.look(UNCUT);
    try {
      await this.#append({ kind: "session", run, change, conditions: first });
      const began = clock.monotonic();
      const looking = this.#watch();
      void clock.sleep(this.#work.deadlineMs, this.#over.signal)
        .then(() => this.halt("deadline"), () => {});
      await this.#askAll();
      this.#over.abort();
      await looking;
      const took_ms = clock.monotonic() - began;
      if (this.#halted === null) await this.#proveAgain();
      const how = this.#halted ?? "complete";
      if (this.#by === null) {
        await this.#append({ kind: "looked", conditions: await this.#ports.look(UNCUT) });
      }
      const by = this.#by === null ? {} : { by: this.#by };
      await this.#append({ kind: "ended", how, took_ms, ...by });
      const no = await this.#conclude(how);
      return no === null
        ? { kind: "ended", state: this.#state, how }
        : { kind: "not_kept", state: this.#state, why: no };
    } catch (error) {
      this.#cut.abort();
      if (!(error instanceof NotWritten)) throw error;
      const why = refuse("benchmark_not_kept", "the journal of the benchmark takes no writes");
      return { kind: "not_kept", state: this.#state, why };
    } finally {
      this.#over.abort();
    }
  }

  async #askAll(): Promise<void> {
    const open = new Map<number, Promise<readonly [number, Outcome]>>();
    try {
      for (;;) {
        const owed = this.#halted === null ? owedRequests(this.#state, open.size) : [];
        for (const index of owed) {
          await this.#append({ kind: "asked", index });
          open.set(index, this.#ask(index));
        }
        if (open.size === 0) return;
        const [index, outcome] = await Promise.race(open.values());
        open.delete(index);
        await this.#append({ kind: "answered", index, outcome });
        this.#unsent = outcome.record.error === "not_sent" ? this.#unsent + 1 : 0;
        if (this.#unsent >= LOST_AFTER) this.halt("target_lost");
      }
    } finally {
      // Nothing of ours goes on after this, whatever was thrown.
      if (open.size > 0) this.#cut.abort();
      await Promise.allSettled(open.values());
    }
  }

  async #ask(index: number): Promise<readonly [number, Outcome]> {
    const { target, corpus } = this.#work;
    const { benchmark } = this.#state;
    const body = requestBody(corpus, index, target.door, benchmark.top_logprobs);
    const requestMs = benchmark.request_seconds * 1000;
    const asked = askedAt(benchmark, index);
    const signal = this.#cut.signal;
    return [index, await askOnce(this.#ports, target.door, asked, body, requestMs, signal)];
  }

  /** Looks again and again while requests are under way. */
  async #watch(): Promise<void> {
    for (;;) {
      try {
        await this.#ports.clock.sleep(LOOK_MS, this.#over.signal);
      } catch {
        return;
      }
      const conditions = await this.#ports.look(this.#over.signal);
      if (this.#over.signal.aborted) return;
      // What the disk says to this is heard at the next answer.
      await this.#append({ kind: "looked", conditions }).catch(() => {});
    }
  }

  /** A model that was replaced in between was not measured. */
  async #proveAgain(): Promise<void> {
    const no = await this.#work.target.prove(UNCUT);
    if (no !== null) this.halt("target_lost");
  }

  /** As far as it came; not when nobody can say of what, or when it can never become whole. */
  async #conclude(how: Ending): Promise<Refusal | null> {
    if (how === "target_lost" || how === "conditions_changed") return null;
    if (this.#state.answered.size === 0) return null;
    const conclusion = await conclude(this.#state);
    const no = await this.#ports.store.keep(this.#state.benchmark.id, conclusion);
    if (no !== null) return refuse("benchmark_not_kept", `its evidence: ${no.detail}`);
    await this.#append({ kind: "concluded", evidence: conclusion.evidence.digest });
    return null;
  }

  async #append(event: Timeless<BenchmarkEvent>): Promise<void> {
    const at = timestamp(this.#ports.clock.now());
    const whole = { ...event, at } as BenchmarkEvent;
    try {
      await this.#ports.journal.append(whole);
    } catch (error) {
      throw new NotWritten("the journal", { cause: error });
    }
    this.#state = stepBenchmark(this.#state, whole);
    try {
      this.#ports.onChange(this.#state);
    } catch {
      // The ledger settled the run without us.
      this.halt("cancelled");
    }
  }
}

/** An event before it has its time. */
type Timeless<Event> = Event extends unknown ? Omit<Event, "at"> : never;

/** The journal did not take a line. */
class NotWritten extends Error {
  override readonly name = "NotWritten";
}

/** How far it is, in words. */
export function progressText(state: BenchmarkState): string {
  const { benchmark, answered, asked } = state;
  const errors = [...answered.values()].filter(({ record }) => record.error !== null).length;
  const all = asked.size + leftOf(state);
  return `${benchmark.id}: ${answered.size} of ${all} answered` +
    (errors === 0 ? "" : `, ${errors} not`);
}

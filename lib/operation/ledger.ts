/**
 * The ledger: each key runs at most once, and answers truthfully ever after.
 *
 * Claim and lease are one transaction, owned by an epoch: random per start of the process, so that
 * no clock decides who is alive. A running row of another epoch belongs to nobody and is settled by
 * whoever sees it first, never run again.
 *
 * @module
 */

import type { Json } from "../core/canonical_json.ts";
import type { Clock } from "../core/clock.ts";
import { type Refusal, refuse } from "../core/refusal.ts";
import type { Database } from "../host/sqlite.ts";
import type { Effect } from "./operation.ts";
import {
  BEGUN,
  fingerprintOf,
  freshView,
  type RunEnd,
  type RunSubject,
  type RunView,
  viewOf,
} from "./run_record.ts";

/** How much is kept. */
export interface LedgerBounds {
  /** Bytes of one stored result. */
  readonly resultBytes: number;
  /** Ended runs that keep their result. */
  readonly results: number;
  /** Milliseconds that they keep it. */
  readonly resultsMs: number;
  /** Tombstones: beyond it the oldest keys are let go. */
  readonly tombstones: number;
}

/** A month and ten thousand results; a million keys, about 300 MB. */
export const LEDGER_BOUNDS: LedgerBounds = {
  resultBytes: 256 * 1024,
  results: 10_000,
  resultsMs: 30 * 86_400_000,
  tombstones: 1_000_000,
};

/** What a claim gave. */
export type Claimed =
  /** The run is the caller's to do. */
  | { readonly kind: "claimed"; readonly run: RunView }
  /** The same was asked before: it runs now, or it ended as the view tells. */
  | { readonly kind: "known"; readonly run: RunView }
  | Refusal<"key_conflict">;

/** Who writes in the ledger, and when. */
export interface LedgerPorts {
  readonly clock: Clock;
  /** Random per start of the process. */
  readonly epoch: string;
}

/** One claim in so many sweeps, and lets go of twice as many rows: most claims stay short. */
const SWEEP = 64;

const INTERRUPTED = "the agent ended before this run did; it was not and will not be run again";

/** The ledger in an open database; see {@link LEDGER_MIGRATIONS}. */
export class Ledger {
  readonly epoch: string;
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #bounds: LedgerBounds;
  #claims = 0;

  constructor(database: Database, ports: LedgerPorts, bounds: LedgerBounds = LEDGER_BOUNDS) {
    this.#database = database;
    this.#clock = ports.clock;
    this.epoch = ports.epoch;
    this.#bounds = bounds;
  }

  /** Settles what other epochs left running; gives those runs. Called once, before anything else. */
  settleOthers(): readonly RunView[] {
    const left = this.#database.all(
      "SELECT * FROM runs WHERE state = 'running' AND epoch <> ? ORDER BY seq",
      this.epoch,
    );
    return left.map((row) => this.#settled(viewOf(row)));
  }

  /** Makes the run under `key` the caller's, unless the key was used before. */
  claim(id: string, key: string, subject: RunSubject): Claimed {
    const fingerprint = fingerprintOf(subject);
    return this.#database.transaction<Claimed>(() => {
      const row = this.#database.get("SELECT * FROM runs WHERE key = ?", key);
      if (row !== null) {
        if (row["fingerprint"] !== fingerprint) {
          return refuse(
            "key_conflict",
            "this idempotency key was used for another request",
            "take a fresh key for what is not the same request",
          );
        }
        return { kind: "known", run: this.#trueView(row) };
      }
      if (this.#claims++ % SWEEP === 0) this.#sweep();
      const { principal, operation } = subject;
      const started = this.#clock.now();
      this.#database.run(
        `INSERT INTO runs (id, key, fingerprint, principal, operation, epoch, state, effect, started_at)
         VALUES (?, ?, ?, ?, ?, ?, 'running', 'none', ?)`,
        ...[id, key, fingerprint, principal, operation, this.epoch, started],
      );
      return { kind: "claimed", run: freshView({ id, key, principal, operation }, started) };
    });
  }

  /**
   * Journals how far a run is. Throws when it is not running any more.
   *
   * On the disk before it returns, if without it the row would claim less than may have happened: a
   * step into the unknown. Not so for what only adds to knowledge, an effect that is over or a name for
   * what {@link BEGUN} said: a power cut that takes it leaves `unknown`, which is still true.
   */
  step(id: string, step: string, effect: Effect): void {
    const before = this.#database.get("SELECT step, effect FROM runs WHERE id = ?", id);
    const said = before?.["effect"] === "unknown" && before["step"] === BEGUN;
    const sql =
      "UPDATE runs SET step = ?, effect = ? WHERE id = ? AND epoch = ? AND state = 'running'";
    const values = [step, effect, id, this.epoch] as const;
    const changed = effect !== "unknown" || said
      ? this.#database.runSoon(sql, ...values)
      : this.#database.run(sql, ...values);
    if (changed !== 1) throw new Error(`run ${id} was settled; step ${step} must not be taken`);
  }

  /** Ends a run of this epoch; one that ended before stays as it was. */
  settle(id: string, end: RunEnd): RunView {
    const now = this.#clock.now();
    if (end.state === "done") {
      const text = JSON.stringify(end.result);
      const fits = new TextEncoder().encode(text).length <= this.#bounds.resultBytes;
      this.#database.run(
        `UPDATE runs SET state = 'done', effect = 'applied', result = ?, truncated = ?, ended_at = ?
         WHERE id = ? AND epoch = ? AND state = 'running'`,
        ...[fits ? text : null, fits ? 0 : 1, now, id, this.epoch],
      );
    } else {
      this.#database.run(
        `UPDATE runs SET state = ?, effect = COALESCE(?, effect), code = ?, detail = ?, ended_at = ?
         WHERE id = ? AND epoch = ? AND state = 'running'`,
        ...[end.state, end.effect ?? null, end.code, end.detail, now, id, this.epoch],
      );
    }
    return this.#need(id);
  }

  /** The run called `id`; null when there is none. */
  get(id: string): RunView | null {
    const row = this.#database.get("SELECT * FROM runs WHERE id = ?", id);
    return row === null ? null : this.#trueView(row);
  }

  /** The newest runs, of one principal or of all, without their results. */
  list(most: number, principal: string | null): readonly RunView[] {
    return this.#database.all(
      `SELECT *, NULL AS result FROM runs WHERE ?1 IS NULL OR principal = ?1
       ORDER BY seq DESC LIMIT ?2`,
      principal,
      most,
    ).map((row) => this.#trueView(row));
  }

  /** How many rows there are. */
  count(): { readonly [key: string]: Json; readonly runs: number; readonly running: number } {
    const row = this.#database.get(
      `SELECT (SELECT COUNT(*) FROM runs) AS runs,
              (SELECT COUNT(*) FROM runs WHERE state = 'running') AS running`,
    );
    return { runs: Number(row?.["runs"]), running: Number(row?.["running"]) };
  }

  /** A view that says `running` only of what runs. */
  #trueView(row: Parameters<typeof viewOf>[0]): RunView {
    const view = viewOf(row);
    const left = view.state === "running" && row["epoch"] !== this.epoch;
    return left ? this.#settled(view) : view;
  }

  #settled(run: RunView): RunView {
    this.#database.run(
      `UPDATE runs SET state = 'failed', code = 'operation_interrupted', detail = ?, ended_at = ?
       WHERE id = ? AND state = 'running' AND epoch <> ?`,
      INTERRUPTED,
      this.#clock.now(),
      run.id,
      this.epoch,
    );
    return this.#need(run.id);
  }

  /** Lets results go by age and count, and the oldest keys beyond the most there may be. */
  #sweep(): void {
    const { results, resultsMs, tombstones } = this.#bounds;
    this.#database.run(
      `UPDATE runs SET result = NULL, forgotten = 1 WHERE seq IN (
         SELECT seq FROM runs WHERE forgotten = 0 AND state <> 'running'
           AND (ended_at < ? OR seq <= (
             SELECT seq FROM runs WHERE forgotten = 0 AND state <> 'running'
             ORDER BY seq DESC LIMIT 1 OFFSET ?))
         ORDER BY seq LIMIT ${2 * SWEEP})`,
      this.#clock.now() - resultsMs,
      results,
    );
    // Keys count up and go from the old end, so the span bounds the count without counting.
    this.#database.run(
      `DELETE FROM runs WHERE seq IN (
         SELECT seq FROM runs WHERE forgotten = 1
           AND seq <= (SELECT MAX(seq) FROM runs) - ? ORDER BY seq LIMIT ${2 * SWEEP})`,
      results + tombstones,
    );
  }

  #need(id: string): RunView {
    const row = this.#database.get("SELECT * FROM runs WHERE id = ?", id);
    if (row === null) throw new Error(`run ${id} has no row`);
    return viewOf(row);
  }
}

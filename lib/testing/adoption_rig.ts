/**
 * An adoption on a fake world: ports, rules, a candidate, and lives that can end at any moment.
 *
 * @module
 */

import { type Adoption, openAdoption } from "../adoption/adopt.ts";
import type { Candidate } from "../adoption/candidate.ts";
import type { Effect, Event } from "../adoption/event.ts";
import { type Gate, type Observed, observed } from "../adoption/gate.ts";
import { decodeLine, type Line, NumberedJournal } from "../adoption/journal_entry.ts";
import type { AdoptionPorts, AdoptionRules } from "../adoption/perform.ts";
import type { Attempt, Override, Proven, Slots } from "../adoption/slots.ts";
import type { Probe, ProbeReading } from "../adoption/verdict.ts";
import type { Clock } from "../core/clock.ts";
import type { Journal } from "../core/journal.ts";
import type { Entry } from "../core/machine.ts";
import { FakeBackend, type FakeWorld, type LaunchStyle } from "./fake_backend.ts";
import type { FakeDisk } from "./fake_disk.ts";

/** Midnight of the first of January 2026. */
export const RIG_EPOCH = Date.UTC(2026, 0, 1);

/** A candidate named `id`. */
export function candidate(id: string, more: Partial<Candidate> = {}): Candidate {
  return {
    id,
    backend: "bundle",
    channel: "rolling",
    sequence: 1,
    rev: `rev-${id}`,
    committed_at: "2025-12-31T00:00:00Z",
    issued_at: "2026-01-01T00:00:00Z",
    expires_at: "2026-02-01T00:00:00Z",
    hash: id,
    manifest_size: 0,
    size: 1000,
    download_size: 100,
    restart_sensitive: [],
    allow_downgrade_from: [],
    ...more,
  };
}

/** A generation that was proven once. */
export function provenOnce(path: string): Proven {
  const at = new Date(RIG_EPOCH).toISOString();
  return { path, rev: `rev-${path}`, sequence: 1, committed_at: at, at, attempt: "before" };
}

/** Time that passes only when somebody sleeps, and then at once. */
export class LeapingClock implements Clock {
  #passed = 0;
  now(): number {
    return RIG_EPOCH + this.#passed;
  }
  monotonic(): number {
    return this.#passed;
  }
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    // Deadlines of gates and probes carry a signal: they are never reached, nobody is late here.
    if (signal !== undefined) {
      return new Promise((_, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason), { once: true })
      );
    }
    this.#passed += ms;
    return Promise.resolve();
  }
  leap(ms: number): void {
    this.#passed += ms;
  }
}

/** What the facts of the host say, by which generation runs. */
export interface RigFacts {
  gate: () => Observed;
  /** The reading of the one probe, `health`, by what runs and how often it was asked. */
  probe: (current: string | null, asked: number) => Partial<ProbeReading>;
}

/** Rules that need few samples. */
export const RIG_RULES: AdoptionRules = {
  verdict: { clean: 2, windowMs: 10_000, deadlineMs: 60_000, required: ["health"] },
  sampleEveryMs: 10_000,
  launchMs: 60_000,
  settleMs: 60_000,
  baselineMs: 600_000,
  restartSensitive: [],
};

/** A rig: one world, one disk, lives as many as there are restarts. */
export class AdoptionRig {
  readonly clock = new LeapingClock();
  readonly facts: RigFacts = {
    gate: () => observed("clear", "idle", "nothing in flight"),
    probe: () => ({ state: "pass", code: "ok" }),
  };
  readonly records: Slots[] = [];
  readonly world: FakeWorld;
  readonly disk: FakeDisk;
  readonly style: LaunchStyle;
  rules: AdoptionRules = RIG_RULES;
  #asked = 0;
  #attempts = 0;

  constructor(world: FakeWorld, disk: FakeDisk, style: LaunchStyle) {
    this.world = world;
    this.disk = disk;
    this.style = style;
  }

  get journal(): Journal<Line> {
    return this.disk.journal<Line>("/disk/journal", decodeLine);
  }

  /** The machine's own entries, numbered and stamped on the disk. */
  entries(): Journal<Entry<Event, Effect>> {
    return new NumberedJournal(this.journal, this.clock, `boot-${this.world.boot}`, () => 1000);
  }

  ports(): AdoptionPorts {
    const gate: Gate = {
      name: "load",
      deadlineMs: 1000,
      read: () => Promise.resolve(this.facts.gate()),
    };
    const probe: Probe = {
      name: "health",
      required: true,
      deadlineMs: 1000,
      read: () => {
        const seen = this.facts.probe(this.world.current, this.#asked++);
        return Promise.resolve({
          state: "unknown",
          code: "none",
          detail: "",
          count: null,
          ...seen,
        });
      },
    };
    return {
      backend: new FakeBackend(this.world, this.disk, this.style),
      clock: this.clock,
      gates: [gate],
      idleMs: {},
      gateMemory: { read: () => Promise.resolve({}), write: () => Promise.resolve() },
      probes: [probe],
      record: (slots) =>
        this.disk.effect(() => {
          if (this.records.at(-1)?.last?.attempt !== slots.last?.attempt) this.records.push(slots);
        }),
    };
  }

  /** A life: a process that has just started. */
  open(): Adoption {
    return openAdoption(this.ports(), this.rules, this.entries(), () => `a${this.#attempts++}`);
  }

  /** The event that begins an attempt at `path`. */
  began(
    path: string,
    despite: readonly Override[] = [],
    purpose: Attempt["purpose"] = "adopt",
  ): Event {
    return {
      kind: "began",
      attempt: `a${this.#attempts++}`,
      purpose,
      path,
      candidate: candidate(path),
      by: { who: "timer", kind: "timer" },
      overrides: despite.length === 0 ? null : { rules: despite, why: "a test" },
      at: new Date(this.clock.now()).toISOString(),
    };
  }
}

/**
 * The line a journal holds: the machine's entry, and when, where and in which boot it was written.
 *
 *     {seq, at, boot_id, attempt, phase, kind: intent|done|offer, path, previous, deadline, ...}
 *
 * @module
 */

import { z } from "zod";
import type { Json } from "../core/canonical_json.ts";
import { type Clock, timestamp } from "../core/clock.ts";
import type { Journal } from "../core/journal.ts";
import type { Entry } from "../core/machine.ts";
import type { Effect, Event } from "./event.ts";
import type { Slots } from "./slots.ts";

/** A line. */
export type Line = {
  readonly seq: number;
  readonly at: string;
  readonly boot_id: string | null;
  readonly attempt: string | null;
  readonly phase: string;
  readonly path: string | null;
  readonly previous: string | null;
  /** By when the effect should be over, ISO 8601; of an intent only. */
  readonly deadline: string | null;
  readonly entry: Entry<Event, Effect>;
};

const EVENT_KINDS = {
  snapshot: true,
  offered: true,
  taken_back: true,
  staged: true,
  rejected: true,
  unrejected: true,
  paused: true,
  resumed: true,
  recovered: true,
  waited: true,
  nothing_waits: true,
  boot_cancelled: true,
  boot_other: true,
  began: true,
  baseline_taken: true,
  refused: true,
  baseline_stale: true,
  gates_busy: true,
  launched: true,
  superseded: true,
  judged_good: true,
  judged_bad: true,
  committed: true,
  reverted_judged: true,
  unsettled: true,
  recorded: true,
  collected: true,
} as const satisfies Record<Event["kind"], true>;

const EFFECT_KINDS = {
  baseline: true,
  activate: true,
  revert: true,
  inspect: true,
  probe: true,
  probe_reverted: true,
  commit: true,
  record: true,
  collect: true,
} as const satisfies Record<Effect["kind"], true>;

const kindOf = (kinds: object) => z.looseObject({ kind: z.string().refine((k) => k in kinds) });

const lineShape = z.looseObject({
  seq: z.int().min(0),
  at: z.string(),
  phase: z.string(),
  entry: z.discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("offer"), event: kindOf(EVENT_KINDS) }),
    z.strictObject({ kind: z.literal("intent"), effect: kindOf(EFFECT_KINDS) }),
    z.strictObject({ kind: z.literal("done"), event: kindOf(EVENT_KINDS) }),
  ]),
});

/** A line as the journal decodes it; null when it is none of ours. */
export function decodeLine(value: Json): Line | null {
  return lineShape.safeParse(value).success ? value as Line : null;
}

/** The entries in `lines`, whose numbers must follow each other; null when one is missing. */
export function entriesOf(lines: readonly Line[]): readonly Entry<Event, Effect>[] | null {
  const first = lines[0]?.seq ?? 0;
  return lines.every(({ seq }, index) => seq === first + index)
    ? lines.map(({ entry }) => entry)
    : null;
}

/** Writes the machine's entries as numbered lines. */
export class NumberedJournal implements Journal<Entry<Event, Effect>> {
  readonly #lines: Journal<Line>;
  readonly #clock: Clock;
  readonly #bootId: string | null;
  readonly #deadlineMs: (effect: Effect) => number;
  #next: number | null = null;

  constructor(
    lines: Journal<Line>,
    clock: Clock,
    bootId: string | null,
    deadlineMs: (effect: Effect) => number,
  ) {
    this.#lines = lines;
    this.#clock = clock;
    this.#bootId = bootId;
    this.#deadlineMs = deadlineMs;
  }

  /** Throws when a line is missing: the file was edited, and nobody may guess what it said. */
  async read(): Promise<readonly Entry<Event, Effect>[]> {
    const lines = await this.#lines.read();
    const entries = entriesOf(lines);
    if (entries === null) throw new Error("the journal lacks a line: its numbers have a gap");
    this.#next = (lines.at(-1)?.seq ?? -1) + 1;
    return entries;
  }

  async append(entry: Entry<Event, Effect>): Promise<void> {
    if (this.#next === null) await this.read();
    const seq = this.#next ?? 0;
    const now = this.#clock.now();
    const about = entry.kind === "intent" ? entry.effect : entry.event;
    const text = (key: string) => {
      const value = (about as { readonly [key: string]: Json })[key];
      return typeof value === "string" ? value : null;
    };
    await this.#lines.append({
      seq,
      at: timestamp(now),
      boot_id: this.#bootId,
      attempt: text("attempt"),
      phase: about.kind,
      path: text("path"),
      previous: text("previous"),
      deadline: entry.kind === "intent" ? timestamp(now + this.#deadlineMs(entry.effect)) : null,
      entry,
    });
    this.#next = seq + 1;
  }
}

/** The one line that stands for everything before it. */
export function snapshotLine(slots: Slots, seq: number, clock: Clock): Line {
  return {
    seq,
    at: timestamp(clock.now()),
    boot_id: null,
    attempt: null,
    phase: "snapshot",
    path: null,
    previous: null,
    deadline: null,
    entry: { kind: "offer", event: { kind: "snapshot", slots } },
  };
}

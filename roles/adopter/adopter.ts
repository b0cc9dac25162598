/**
 * An adopter at work: one writer, one journal, one backend.
 *
 *     open: state folder ─> lock ─> journal (compacted when long and quiet) ─> verbs
 *
 * @module
 */

import { type Adoption, openAdoption } from "../../lib/adoption/adopt.ts";
import type { Backend } from "../../lib/adoption/backend.ts";
import { byUserManager } from "../../lib/adoption/backends/supervisor.ts";
import type { Effect } from "../../lib/adoption/event.ts";
import type { Remembered } from "../../lib/adoption/hysteresis.ts";
import {
  decodeLine,
  entriesOf,
  type Line,
  NumberedJournal,
  snapshotLine,
} from "../../lib/adoption/journal_entry.ts";
import { adoption } from "../../lib/adoption/machine.ts";
import type { AdoptionPorts, AdoptionRules } from "../../lib/adoption/perform.ts";
import type { By, Slots } from "../../lib/adoption/slots.ts";
import { summarize } from "../../lib/adoption/status.ts";
import type { Json } from "../../lib/core/canonical_json.ts";
import { newId } from "../../lib/core/ids.ts";
import { CorruptLine, decodeLines, encodeLine } from "../../lib/core/json_lines.ts";
import { recall } from "../../lib/core/machine.ts";
import { type Refusal, refuse } from "../../lib/core/refusal.ts";
import { parent, within } from "../../lib/host/paths.ts";
import { backendOf } from "./backend.ts";
import type { AdopterConfig } from "./config.ts";
import { gateOf, probeOf } from "./facts.ts";
import type { AdopterPorts } from "./ports.ts";
import { recordEnding } from "./ending.ts";
import { Records } from "./records.ts";

/** Open, and the only one. */
export interface Adopter extends AsyncDisposable {
  readonly kind: "open";
  readonly config: AdopterConfig;
  readonly ports: AdopterPorts;
  readonly adoption: Adoption;
  readonly acting: AdoptionPorts;
  readonly rules: AdoptionRules;
  readonly backend: Backend;
  readonly records: Records;
  readonly by: By;
  readonly newAttempt: () => string;
  /** Writes the summary as things are now. */
  summarize(): Promise<void>;
}

/** What opening gave. */
export type Opened = Adopter | { readonly kind: "busy" } | Refusal<OpenFault>;

/** Why there is no adopter. */
export type OpenFault =
  | "state_unusable" // the folder cannot be made, read or locked
  | "journal_damaged"; // nobody may guess what it said

/** A journal with more lines than this is compacted, once nothing is going on. */
const MOST_LINES = 400;
const MOST_JOURNAL_BYTES = 64 * 1024 * 1024;

/** Opens the adopter of `config` for `verb`, given by `by`. */
export async function openAdopter(
  config: AdopterConfig,
  given: AdopterPorts,
  by: By,
  verb: string,
): Promise<Opened> {
  const ports = config.bundle?.supervisor === "systemd-user"
    ? { ...given, run: byUserManager(given.run, given.uid ?? 0) }
    : given;
  const folders = [
    [config.state, 0o700],
    [within(config.state, "roots"), 0o700],
    [config.failures, 0o755], // anybody may read what failed
    [parent(config.summary), 0o755],
  ] as const;
  for (const [folder, mode] of folders) {
    const made = await ports.directories.make(folder, mode);
    if (made.kind === "refused") return refuse("state_unusable", made.detail, "see to its owner");
  }
  const lock = await ports.tryLock(within(config.state, "lock"));
  const records = new Records(config, ports);
  if (lock.kind === "busy") {
    await records.contended(verb);
    return { kind: "busy" };
  }
  if (lock.kind === "refused") return refuse("state_unusable", lock.detail, "see to its owner");
  const path = within(config.state, "journal.jsonl");
  const compacted = await compact(path, ports);
  const opened = compacted ?? await ports.openJournal<Line>(path, decodeLine);
  if (opened.kind !== "open") {
    await lock.release();
    if (opened.kind === "busy") return refuse("state_unusable", "somebody reads the journal");
    return opened.code === "journal_damaged"
      ? refuse("journal_damaged", opened.detail, opened.nextStep)
      : refuse("state_unusable", opened.detail);
  }
  const backend = (ports.backend ?? ((one) => backendOf(one, ports)))(config);
  const before = await backend.facts();
  const bootId = before.kind === "refused" ? null : before.boot_id;
  const rules = rulesOf(config);
  const lines = opened.journal;
  const journal = new NumberedJournal(lines, ports.clock, bootId, (effect) => msOf(effect, rules));
  const parts: { adopter: Adopter | null } = { adopter: null };
  const acting = actingPorts(config, ports, backend, {
    candidate: async () => {
      const { staged, offered } = await current.slots();
      return staged?.candidate ?? offered?.candidate ?? null;
    },
    record: async (slots) => {
      if (parts.adopter !== null) await recordEnding(parts.adopter, slots);
    },
  });
  const newAttempt = () => newId("a", ports.random);
  const current = openAdoption(acting, rules, journal, newAttempt);
  const adopter: Adopter = {
    ...{ kind: "open", config, ports, adoption: current, acting, rules, backend, records, by },
    newAttempt,
    summarize: () => writeSummary(adopter),
    [Symbol.asyncDispose]: async () => {
      await lines[Symbol.asyncDispose]();
      await lock.release();
    },
  };
  parts.adopter = adopter;
  return adopter;
}

function actingPorts(
  config: AdopterConfig,
  ports: AdopterPorts,
  backend: Backend,
  more: {
    readonly candidate: Parameters<typeof gateOf>[3];
    readonly record: (slots: Slots) => Promise<void>;
  },
): AdoptionPorts {
  const memory = within(config.state, "idle.json");
  return {
    backend,
    clock: ports.clock,
    gates: config.gates.map((gate) => gateOf(gate, ports, backend, more.candidate)),
    idleMs: Object.fromEntries(
      config.gates.filter((gate) => gate.idle_minutes > 0)
        .map((gate) => [gate.name, gate.idle_minutes * 60_000]),
    ),
    gateMemory: {
      read: async () => {
        const read = await ports.files.readBounded(memory, 64 * 1024);
        if (read.kind !== "ok") return {};
        try {
          return JSON.parse(new TextDecoder().decode(read.bytes)) as Remembered;
        } catch {
          return {}; // nothing is known of the past: idle begins now
        }
      },
      write: async (remembered) => {
        const bytes = new TextEncoder().encode(JSON.stringify(remembered));
        await ports.files.replaceFile(memory, bytes, 0o600);
      },
    },
    probes: config.probes.map((probe) => probeOf(probe, ports)),
    record: more.record,
  };
}

function rulesOf({ verdict, limits, policy, probes }: AdopterConfig): AdoptionRules {
  return {
    verdict: {
      clean: verdict.samples,
      windowMs: verdict.window_seconds * 1000,
      deadlineMs: verdict.deadline_seconds * 1000,
      required: probes.filter(({ required }) => required).map(({ name }) => name),
    },
    sampleEveryMs: verdict.every_seconds * 1000,
    launchMs: limits.launch_minutes * 60_000,
    settleMs: limits.settle_minutes * 60_000,
    baselineMs: limits.baseline_minutes * 60_000,
    restartSensitive: policy.restart_sensitive,
  };
}

/** How long an effect may take: what its line in the journal says. */
function msOf(effect: Effect, rules: AdoptionRules): number {
  switch (effect.kind) {
    case "activate":
    case "revert":
    case "commit":
      return rules.launchMs;
    case "inspect":
      return rules.settleMs;
    case "probe":
    case "probe_reverted":
      return rules.verdict.deadlineMs + rules.sampleEveryMs;
    case "baseline":
    case "record":
    case "collect":
      return rules.baselineMs;
  }
}

/** Makes a long journal short, when nothing is going on. Null: go on and open it. */
async function compact(
  path: string,
  { files, clock }: AdopterPorts,
): Promise<Refusal | null> {
  const read = await files.readBounded(path, MOST_JOURNAL_BYTES);
  if (read.kind === "absent") return null;
  if (read.kind === "refused") return refuse("state_unusable", read.detail);
  let values: readonly Json[];
  try {
    values = decodeLines(read.bytes).values;
  } catch (error) {
    if (!(error instanceof CorruptLine)) throw error;
    return damaged(`line ${error.line}`);
  }
  const lines: Line[] = [];
  for (const value of values) {
    const line = decodeLine(value);
    if (line === null) return damaged(`line ${lines.length + 1}`);
    lines.push(line);
  }
  const entries = entriesOf(lines);
  if (entries === null) return damaged("a gap in its numbers");
  if (lines.length <= MOST_LINES) return null;
  const { state } = recall(adoption, entries);
  if (adoption.owed(state) !== null) return null;
  const line = encodeLine(snapshotLine(state, (lines.at(-1)?.seq ?? 0) + 1, clock));
  const done = await files.replaceFile(path, new TextEncoder().encode(line), 0o600);
  return done.kind === "ok" ? null : refuse("state_unusable", done.detail);
}

function damaged(where: string): Refusal {
  return refuse(
    "journal_damaged",
    `the journal is not what was written: ${where}`,
    "see docs/runbooks/adopter-codes.md, journal_damaged",
  );
}

/** Writes what anybody may read. */
export async function writeSummary(adopter: Adopter): Promise<void> {
  const { config, ports, backend, records } = adopter;
  const facts = await backend.facts();
  const summary = summarize(
    await adopter.adoption.slots(),
    facts.kind === "refused" ? null : facts,
    {
      host: config.host,
      backend: config.backend,
      channel: config.channel,
      policy: config.policy.adopt,
      rebootPolicy: config.policy.reboot,
      staleAfterMs: config.policy.stale_after_hours * 3_600_000,
      contact: await records.contact(),
      now: ports.clock.now(),
    },
  );
  await records.summarize(summary);
}

/** `anvil-adopter status|receipts`. @module */

import { buildCommand } from "@stricli/core";
import { RECEIPT_KINDS, type ReceiptKind } from "../../../lib/adoption/receipts.ts";
import { readSummary, type Summary, summaryShape } from "../../../lib/adoption/status.ts";
import { refuse } from "../../../lib/core/refusal.ts";
import { within } from "../../../lib/host/paths.ts";
import {
  printEnvelope,
  type ProgramContext,
  reportProblems,
  reportRefusal,
} from "../../../lib/terminal/program.ts";
import { table } from "../../../lib/terminal/table.ts";
import type { AdopterConfig } from "../config.ts";
import { loadConfig } from "../config_file.ts";
import type { AdopterPorts } from "../ports.ts";
import { Records, UNITS } from "../records.ts";
import { VERB_FLAGS, type VerbFlags, type Wiring } from "./verb.ts";

const MOST_SUMMARY = 1024 * 1024;

/** Reads the summary, and says what it could not read. Takes no lock. */
export function statusCommand(wiring: Wiring) {
  return buildCommand<VerbFlags, [], ProgramContext>({
    parameters: { flags: VERB_FLAGS },
    docs: {
      brief: "Say what runs, what waits, and how old all of it is",
      fullDescription: "Anybody may ask. Who may not read the adopter's own state sees the " +
        "summary, is told what\ncould not be read, and gets exit code 1.\n\nExample:\n" +
        "  anvil-adopter status --json",
    },
    async func({ config: file, json }) {
      const loaded = await loadConfig(file);
      if (loaded.kind === "invalid") return reportProblems(this, file, loaded.problems, json);
      const { ports } = wiring;
      const found = await readAll(loaded.model, ports);
      if (found.summary === null) {
        const next = "run `anvil-adopter offer` once, as the user that adopts";
        const no = refuse(
          "summary_unreadable",
          `the summary: ${found.unreadable.join(", ")}`,
          next,
        );
        return reportRefusal(this, no, json);
      }
      const read = readSummary(found.summary, ports.clock.now());
      const { unreadable, markers } = found;
      this.exit(unreadable.length > 0 ? 1 : 0);
      if (json) {
        printEnvelope(this, {
          ok: unreadable.length === 0,
          data: {
            ...found.summary,
            freshness: read.freshness,
            why: read.why,
            ages_seconds: { ...read.ages },
            failures: markers.map((marker) => ({ ...marker })),
            unreadable: [...unreadable],
          },
          problems: unreadable.map((what) => ({
            path: what,
            code: "state_unreadable",
            message: "this user may not read it",
          })),
        });
        return;
      }
      this.terminal.out(statusText(found.summary, read, markers));
      for (const what of unreadable) this.terminal.err(`state_unreadable: ${what}\n`);
    },
  });
}

async function readAll(config: AdopterConfig, ports: AdopterPorts) {
  const unreadable: string[] = [];
  const summary = await readSummaryFile(config.summary, ports, unreadable);
  for (const name of ["journal.jsonl", "receipts.json"]) {
    const read = await ports.files.readBounded(within(config.state, name), 64 * 1024 * 1024);
    if (read.kind === "refused") unreadable.push(name);
  }
  // A folder that cannot be looked into makes its files look absent to nobody but root.
  const list = await ports.directories.list(config.state, 10_000);
  if (list.kind === "refused" && !unreadable.includes("state")) unreadable.push("state");
  const records = new Records(config, ports);
  const markers = [];
  for (const unit of Object.keys(UNITS) as (keyof typeof UNITS)[]) {
    const marker = await records.marker(unit);
    if (marker !== null) markers.push(marker);
  }
  return { summary, unreadable, markers };
}

async function readSummaryFile(
  path: string,
  ports: AdopterPorts,
  unreadable: string[],
): Promise<Summary | null> {
  const read = await ports.files.readBounded(path, MOST_SUMMARY);
  if (read.kind !== "ok") {
    unreadable.push(read.kind === "absent" ? "summary absent" : "summary");
    return null;
  }
  try {
    const shaped = summaryShape.safeParse(JSON.parse(new TextDecoder().decode(read.bytes)));
    if (shaped.success) return shaped.data;
  } catch {
    // Said below.
  }
  unreadable.push("summary damaged");
  return null;
}

function statusText(
  summary: Summary,
  { freshness, why, ages }: ReturnType<typeof readSummary>,
  markers: readonly { readonly unit: string; readonly code: string; readonly since: string }[],
): string {
  const age = (seconds: number | null | undefined) =>
    seconds === null || seconds === undefined ? "" : `${spanOf(seconds)} ago`;
  const target = (one: Summary["offered"]) => one === null ? "none" : `${one.rev}  ${one.path}`;
  const rows: string[][] = [
    ["state", summary.state, ""],
    ["freshness", freshness, why],
    ["current", `${summary.current_rev ?? "not proven here"}  ${summary.current ?? "unknown"}`, ""],
    ["offered", target(summary.offered), age(ages["offered"])],
    ["staged", target(summary.staged), ""],
    ["known good", target(summary.proven), age(ages["proven"])],
  ];
  if (summary.last !== null) {
    const { ending, code } = summary.last;
    rows.push(["last attempt", `${ending}, ${code}`, age(ages["last"])]);
  }
  for (const { gate, state, code, detail } of summary.blocked_by) {
    rows.push(["waits for", `${gate} ${state}, ${code}`, detail]);
  }
  if (summary.pending_boot !== null) {
    rows.push(["pending boot", summary.pending_boot.path, age(ages["pending_boot"])]);
  }
  for (const { id, class: cls, code, retry_at } of summary.rejected) {
    rows.push(["rejected", `${cls}, ${code}`, `${id} ${retry_at ?? "until unreject"}`]);
  }
  if (summary.paused !== null) {
    rows.push(["paused", summary.paused.reason, `by ${summary.paused.by}`]);
  }
  if (summary.manual_recovery !== null) {
    rows.push(["a person must look", summary.manual_recovery.code, summary.manual_recovery.detail]);
  }
  if (summary.running_withdrawn) rows.push(["withdrawn", "the publisher took back what runs", ""]);
  if (summary.next_attempt !== null) rows.push(["next attempt", summary.next_attempt, ""]);
  for (const { unit, code, since } of markers) rows.push(["failure", `${unit} ${code}`, since]);
  return table([summary.host, "", ""], rows);
}

/** `3 d`, `5 h`, `7 min`, `9 s`. */
function spanOf(seconds: number): string {
  if (seconds >= 172_800) return `${Math.floor(seconds / 86_400)} d`;
  if (seconds >= 7200) return `${Math.floor(seconds / 3600)} h`;
  return seconds >= 120 ? `${Math.floor(seconds / 60)} min` : `${seconds} s`;
}

/** Prints receipts, oldest first. */
export function receiptsCommand(wiring: Wiring) {
  return buildCommand<VerbFlags & { readonly kind?: ReceiptKind }, [], ProgramContext>({
    parameters: {
      flags: {
        ...VERB_FLAGS,
        kind: { kind: "enum", values: RECEIPT_KINDS, brief: "Only these", optional: true },
      },
    },
    docs: {
      brief: "Print what happened: one receipt per attempt, repeats counted",
      fullDescription: "Example:\n  anvil-adopter receipts --kind rolled-back --json",
    },
    async func({ config: file, json, kind }) {
      const loaded = await loadConfig(file);
      if (loaded.kind === "invalid") return reportProblems(this, file, loaded.problems, json);
      const all = await new Records(loaded.model, wiring.ports).receipts();
      if (all === null) {
        const next = "ask as the user that adopts";
        return reportRefusal(
          this,
          refuse("state_unreadable", "the receipts cannot be read", next),
          json,
        );
      }
      const some = all.filter((one) => kind === undefined || one.kind === kind)
        .toSorted((left, right) => left.last < right.last ? -1 : 1);
      if (json) {
        printEnvelope(this, {
          ok: true,
          data: { receipts: some.map((one) => ({ ...one })) },
          problems: [],
        });
        return;
      }
      this.terminal.out(table(
        ["last", "kind", "code", "count", "rev", "detail"],
        some.map((one) => [
          ...[one.last, one.kind, one.code, String(one.count), one.rev ?? "", one.detail],
        ]),
      ));
    },
  });
}

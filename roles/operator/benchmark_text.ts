/**
 * Benchmarks as people look at them. Wherever a figure stands, the conditions it was measured under
 * stand with it, or the way to them does.
 *
 * @module
 */

import type { Json } from "../../lib/core/canonical_json.ts";
import { checkShape } from "../../lib/document/shape.ts";
import type { Outcome } from "../../lib/dispatch/outcome.ts";
import { type JsonObject, objectOf } from "../../lib/dispatch/reply.ts";
import { evidenceShape } from "../../lib/evidence/evidence_shape.ts";
import { evidenceText } from "./evidence/text.ts";
import { conditionsShape } from "../../lib/evidence/evidence_shape.ts";
import { conditionsText } from "../../lib/evidence/conditions.ts";
import { table } from "../../lib/terminal/table.ts";
import { runText } from "./serve_text.ts";
import { cellTold, harmless, objectsTold, objectTold } from "./told.ts";

/** What would be measured. */
export function benchmarkPlan({ result, host }: Outcome): string {
  const plan = objectOf(result) ?? {};
  const subject = objectTold(plan, "subject");
  const corpus = objectTold(plan, "corpus");
  const going = plan["benchmark"] === null
    ? "measure"
    : `go on with ${cellTold(plan, "benchmark")}:`;
  const rows = [
    ["model", ["model", "revision", "quantization"].map((key) => cellTold(subject, key)).join(" ")],
    ["engine", `${cellTold(subject, "engine")} ${cellTold(subject, "engine_version", "")}`.trim()],
    ["through", throughText(objectTold(plan, "through"))],
    ["corpus", `${cellTold(corpus, "name")} ${cellTold(corpus, "digest").slice(0, 12)}…`],
    [
      "requests",
      `${cellTold(plan, "left")} of ${cellTold(plan, "requests")}, ` +
      `${cellTold(plan, "concurrency")} at a time, at most ${
        cellTold(plan, "max_tokens")
      } tokens each`,
    ],
    ["until", `${cellTold(plan, "deadline_seconds")} s from now`],
    ["host", cellTold(plan, "availability")],
  ];
  const lines = rows.map(([name = "", what = ""]) => `${name.padEnd(9)} ${what}\n`).join("");
  return harmless(`${going} ${cellTold(subject, "served_model")} on ${host}\n\n${lines}\n`);
}

/** How a run ended that came to its end. */
export function benchmarkEnded({ result, host, run, known }: Outcome): string {
  const told = objectOf(result) ?? {};
  const { id, evidence } = told;
  return harmless(
    `${String(id)} on ${host}: ${String(evidence)}\n\n${figures(told)}\n` +
      `next: anvil-operator evidence fetch --id ${String(id)} --target host:${host}, to keep it\n` +
      runText(run, known),
  );
}

function figures(told: JsonObject): string {
  const requests = objectTold(told, "requests");
  const gaps = objectTold(told, "gap_ms");
  const of = (shown: JsonObject) =>
    Object.keys(shown).length === 0
      ? ["-", "-", "-", "-"]
      : ["p50", "p90", "p99", "max"].map((key) => cellTold(shown, key));
  const errors = objectsTold(told, "errors")
    .map((one) => `${cellTold(one, "count")} ${cellTold(one, "code")}`).join(", ");
  return table(
    ["what", "p50", "p90", "p99", "max"],
    [
      ["first token, ms", ...of(objectTold(told, "ttft_ms"))],
      ["tokens/s of an answer", ...of(objectTold(told, "tokens_per_second"))],
      ["median pause, ms", ...of(objectTold(gaps, "p50"))],
      ["longest pause, ms", ...of(objectTold(gaps, "max"))],
    ],
  ) +
    `\nrequests  ${cellTold(requests, "sent")} sent, ${
      cellTold(requests, "completed")
    } completed, ` +
    `${cellTold(requests, "failed")} failed, ${cellTold(requests, "cancelled")} cut off\n` +
    (errors === "" ? "" : `errors    ${errors}\n`) +
    `together  ${cellTold(told, "throughput", "?")} tokens/s\n` +
    `measured  ${measuredText(told)}\n`;
}

/** Availability and conditions: no figure without them. */
function measuredText(told: JsonObject): string {
  const read = checkShape(conditionsShape.nullable(), told["conditions"] ?? null);
  const availability = told["availability"];
  if (
    read.kind === "invalid" || (availability !== "continuous" && availability !== "opportunistic")
  ) {
    return "under conditions that this version cannot read";
  }
  return conditionsText({ host: { availability }, conditions: read.model });
}

/** Benchmarks of a host, newest first; the newest in whole. */
export function benchmarkList({ result }: Outcome): string {
  const told = objectOf(result) ?? {};
  const all = objectsTold(told, "benchmarks");
  const [newest] = all;
  if (newest === undefined) return "no benchmark yet\n";
  const rows = all.map((one) => [
    ...["id", "state", "model", "corpus"].map((key) => cellTold(one, key)),
    `${Number(one["all"]) - Number(one["left"])}/${cellTold(one, "all")}`,
    cellTold(objectTold(one, "requests"), "failed"),
    cellTold(one, "started_at"),
    cellTold(one, "evidence").slice(0, 15),
  ]);
  const state = cellTold(newest, "state");
  const id = cellTold(newest, "id");
  const next = ["running", "complete"].includes(state)
    ? ""
    : state === "conditions_changed"
    ? `gave way  to ${cellTold(newest, "ended_by")}: these figures are no evidence; run it anew\n`
    : `next: benchmarks run --resume ${id}\n`;
  return harmless(
    table(["benchmark", "state", "model", "corpus", "asked", "failed", "begun", "evidence"], rows) +
      `\n${id}, ${throughText(objectTold(newest, "through"))}, gone on with ` +
      `${cellTold(newest, "resumed")} times\n${figures(newest)}${next}`,
  );
}

function throughText(through: JsonObject): string {
  return through["kind"] === "router"
    ? `alias ${cellTold(through, "alias")}, tier ${cellTold(through, "tier")}, by the router`
    : `${cellTold(through, "serve")}, at the engine itself`;
}

/** How a cancellation went. */
export function benchmarkCancelled({ result, host, run, known }: Outcome): string {
  const told = objectOf(result) ?? {};
  const how = told["over"] === true
    ? "is over"
    : "was told to end; what is under way is being cut off";
  return harmless(`${cellTold(told, "id")} on ${host} ${how}\n${runText(run, known)}`);
}

/** One document, with its conditions before its figures. */
export function benchmarkResult({ result, host }: Outcome): string {
  const told = objectOf(result) ?? {};
  const evidence = objectTold(told, "evidence");
  const id = cellTold(told, "id");
  if (typeof evidence["text"] !== "string") {
    return harmless(`${id} on ${host} is ${cellTold(told, "state")} and has no evidence\n`);
  }
  const read = checkShape(evidenceShape, parsed(evidence["text"]));
  if (read.kind === "invalid") {
    return harmless(`${id} on ${host}: its evidence is not what this version can read\n`);
  }
  const shown = evidenceText(read.model, {
    digest: cellTold(evidence, "id").replace(/^ev-/, ""),
    records: false,
    signature: null,
  });
  return harmless(
    `${shown}\nnext: anvil-operator evidence fetch --id ${id} --target host:${host}, to keep it\n`,
  );
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

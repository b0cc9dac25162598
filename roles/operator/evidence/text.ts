/**
 * Evidence on a terminal. Wherever a figure stands, its conditions stand with it.
 *
 * @module
 */

import type { Json } from "../../../lib/core/canonical_json.ts";
import type { Comparison, Difference, Figure } from "../../../lib/evidence/comparison.ts";
import { conditionsText } from "../../../lib/evidence/conditions.ts";
import { type Document, nameOf } from "../../../lib/evidence/document.ts";
import type { Distribution, Evidence } from "../../../lib/evidence/evidence_shape.ts";
import { shortened } from "../../../lib/evidence/markup.ts";
import { divergenceText, VERDICTS } from "../../../lib/evidence/parity_text.ts";
import type { Parity } from "../../../lib/evidence/parity_shape.ts";
import { table } from "../../../lib/terminal/table.ts";
import type { Kept } from "./shelf.ts";

/** A name that is short enough for a table, and long enough to be given back. */
export function shortName(document: Pick<Document, "kind" | "digest">): string {
  return nameOf(document).slice(0, document.kind === "evidence" ? 15 : 12);
}

/** All that is kept, in one table; conditions in every row. */
export function listText(kept: readonly Kept[]): string {
  if (kept.length === 0) return "no evidence is kept here\n";
  return table(
    ["evidence", "what", "on", "first token", "tokens/s", "answers", "begun", "conditions"],
    kept.map((one) => {
      const { document } = one;
      if (document === null) {
        const [first] = one.problems;
        return [one.digest.slice(0, 12), first?.code ?? "?", "", "", "", "", "", ""];
      }
      return document.kind === "evidence" ? evidenceRow(document) : parityRow(document);
    }),
  );
}

function evidenceRow(document: Extract<Document, { kind: "evidence" }>): string[] {
  const { subject, host, measures, run } = document.body;
  const { sent, completed } = measures.requests;
  return [
    shortName(document),
    shortened(
      `${subject.model}${subject.quantization === null ? "" : ` ${subject.quantization}`}`,
      40,
    ),
    `${shortened(subject.engine, 20)} ${host.node}`,
    measures.ttft_ms === null ? "?" : `${digits(measures.ttft_ms.p50)} ms`,
    measures.tokens_per_second === null ? "?" : digits(measures.tokens_per_second.p50),
    `${completed} of ${sent}${run.complete ? "" : ", cut short"}`,
    run.started_at.slice(0, 16),
    conditionsText(document.body),
  ];
}

function parityRow(document: Extract<Document, { kind: "parity" }>): string[] {
  const { left, right, verdict, summary } = document.body;
  return [
    shortName(document),
    `parity: ${VERDICTS[verdict]}`,
    `${left.subject.engine} ${left.host.node}, ${right.subject.engine} ${right.host.node}`,
    "",
    "",
    summary === null ? "none" : `${summary.exact} of ${summary.compared} equal`,
    left.started_at.slice(0, 16),
    `left ${conditionsText(left)}; right ${conditionsText(right)}`,
  ];
}

/** One measurement. */
export function evidenceText(
  body: Evidence,
  one: Pick<Kept, "digest" | "records" | "signature">,
): string {
  const { subject, host, through, workload, measures, run, tool } = body;
  const { corpus, sampling } = workload;
  const left = (value: number | string | null) =>
    value === null ? "as the engine likes" : `${value}`;
  const way = through.kind === "router"
    ? `the router, as ${through.alias}`
    : `serve ${through.serve}${through.tier === null ? "" : ` of tier ${through.tier}`}`;
  const rows: (readonly [string, string])[] = [
    ["evidence", `ev-${one.digest}`],
    ["model", `${subject.model}, revision ${subject.revision ?? "not known"}`],
    ["quantization", subject.quantization ?? "not declared"],
    ["engine", `${subject.engine} ${subject.engine_version ?? "of unknown version"}`],
    ["image", subject.image_digest ?? "none"],
    ["started as", subject.config_digest?.slice(0, 12) ?? "not known"],
    ["through", way],
    [
      "host",
      `${host.node}: ${host.os} ${host.arch}, ${host.runtime ?? "model-free"}, ` +
      `${host.memory ?? "no"} memory, ${host.availability}`,
    ],
    ["conditions", conditionsText(body)],
    [
      "corpus",
      `${corpus.name} (${corpus.digest.slice(0, 12)}), ${corpus.prompts} prompts, ` +
      `${workload.repeats} times, ${workload.concurrency} at a time`,
    ],
    [
      "sampling",
      `temperature ${left(sampling.temperature)}, top_p ${left(sampling.top_p)}, ` +
      `top_k ${left(sampling.top_k)}, seed ${left(sampling.seed)}, ` +
      `at most ${sampling.max_tokens} tokens`,
    ],
    [
      "run",
      `${run.id}: ${run.started_at} to ${run.ended_at}, ` +
      `${run.complete ? "complete" : "cut short"}${
        run.resumed === 0 ? "" : `, resumed ${run.resumed} times`
      }`,
    ],
    [
      "records",
      body.records === null
        ? "none"
        : one.records
        ? `${body.records.count} answers are kept`
        : "named, and not kept here",
    ],
    ["signed", one.signature === null ? "no" : "yes; `evidence verify --trust FILE` checks it"],
    [
      "measured by",
      `${tool.name} ${tool.version} (${tool.build_digest?.slice(0, 12) ?? "from source"})`,
    ],
  ];
  const { sent, completed, failed, cancelled } = measures.requests;
  return [
    pairs(rows),
    "\n",
    table(
      ["measure", "count", "min", "p50", "p90", "p99", "max"],
      ([["first token, ms", measures.ttft_ms], ["whole answer, ms", measures.total_ms], [
        "tokens/s",
        measures.tokens_per_second,
      ]] as const).map(([name, values]) => distributionRow(name, values)),
    ),
    `\nrequests: ${sent} sent, ${completed} whole, ${failed} failed, ${cancelled} cancelled\n`,
    `all answers together: ${
      measures.throughput === null ? "?" : digits(measures.throughput)
    } tokens/s\n`,
    ...measures.errors.map(({ code, count }) => `error ${code}: ${count}\n`),
  ].join("");
}

function distributionRow(name: string, values: Distribution | null): string[] {
  if (values === null) return [name, "0", "", "", "", "", ""];
  const { count, min, p50, p90, p99, max } = values;
  return [name, `${count}`, ...[min, p50, p90, p99, max].map(digits)];
}

/** Two measurements beside each other. */
export function comparisonText(
  left: Evidence,
  right: Evidence,
  comparison: Comparison,
): string {
  const sides = `left:  ${left.subject.engine} on ${left.host.node}: ${conditionsText(left)}\n` +
    `right: ${right.subject.engine} on ${right.host.node}: ${conditionsText(right)}\n\n`;
  if (comparison.kind === "not_comparable") {
    return sides + "not comparable: they were not asked the same\n\n" +
      differencesText(comparison.reasons);
  }
  const cell = (value: number | null) => value === null ? "?" : digits(value);
  const figures = table(
    ["measure", "left", "right", "right / left"],
    comparison.figures.map((one: Figure) => [
      one.measure,
      cell(one.left),
      cell(one.right),
      one.ratio === null ? "" : digits(one.ratio),
    ]),
  );
  return `${sides}${figures}\nwhat else differs:\n${differencesText(comparison.differences)}`;
}

function differencesText(differences: readonly Difference[]): string {
  if (differences.length === 0) return "nothing\n";
  return table(
    ["where", "left", "right"],
    differences.map(({ path, left, right }) => [path, shown(left), shown(right)]),
  );
}

/** A parity. */
export function parityText(body: Parity, digest: string): string {
  const { left, right, verdict, reasons, summary, identity, thresholds } = body;
  const sides = ([["left", left], ["right", right]] as const).map(([name, side]) =>
    [
      name,
      `${side.subject.engine} ${side.subject.engine_version ?? ""} on ${side.host.node}, ` +
      `${side.subject.model} (${side.evidence.slice(0, 15)})`,
    ] as const
  );
  const head: (readonly [string, string])[] = [
    ["parity", digest],
    ["verdict", VERDICTS[verdict]],
    ...reasons.map(({ code, detail }) => [code, detail] as const),
    ...sides,
    ["left under", conditionsText(left)],
    ["right under", conditionsText(right)],
    ...(body.same_model_because === null
      ? []
      : [["one model", `held by a person: ${body.same_model_because}`] as const]),
    ...(summary === null ? [] : summaryRows(summary)),
    ["thresholds", Object.entries(thresholds).map(([key, value]) => `${key} ${value}`).join(", ")],
  ];
  const parting = body.prompts.filter(({ divergence, skipped }) =>
    divergence !== null || skipped !== null
  );
  const rows = parting.slice(0, 40).map((one) => [
    one.repeat === 0 ? one.prompt : `${one.prompt} (${one.repeat + 1})`,
    one.skipped === null ? digits(one.similarity ?? 0) : "",
    one.logprobs === null ? "" : digits(one.logprobs.mean),
    one.divergence === null ? one.skipped ?? "" : divergenceText(one.divergence),
  ]);
  return [
    pairs(head),
    parting.length === 0 ? "" : `\n${table(["prompt", "alike", "nats", "parts"], rows)}`,
    parting.length > rows.length ? `and ${parting.length - rows.length} more; see --json\n` : "",
    `\nwhat differs in identity:\n`,
    differencesText(
      reasons.flatMap(({ differences }) => differences)
        .filter(({ path }) => !identity.some((one) => one.path === path)).concat(
          identity,
        ) as Difference[],
    ),
  ].join("");
}

function summaryRows(summary: NonNullable<Parity["summary"]>): (readonly [string, string])[] {
  const { asked, compared, exact, diverged, decisive, refusals, similarity, logprobs } = summary;
  const first = summary.first_divergence;
  return [
    [
      "answers",
      `${compared} of ${asked} compared, ${exact} equal, ${diverged} diverge, ` +
      `${decisive} of them decisively`,
    ],
    ["first divergence", first === null ? "none" : `${first.prompt}, ${divergenceText(first)}`],
    [
      "likeness",
      similarity === null
        ? "?"
        : `mean ${digits(similarity.mean)}, least ${digits(similarity.min)}`,
    ],
    [
      "logprobs",
      logprobs === null
        ? "not offered by both"
        : `mean distance ${digits(logprobs.mean)} nats over ${logprobs.positions} tokens`,
    ],
    ["refusals", `left ${refusals.left}, right ${refusals.right}, by one only ${refusals.differ}`],
  ];
}

function pairs(rows: readonly (readonly [string, string])[]): string {
  return table(["", ""], rows).replace(/^\s*\n/, "");
}

function shown(value: Json): string {
  return shortened(typeof value === "string" ? value : JSON.stringify(value), 48);
}

/** Three digits that mean something, and all of a large number. */
function digits(value: number): string {
  return Math.abs(value) >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)));
}

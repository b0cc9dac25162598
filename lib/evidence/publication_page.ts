/**
 * The page of published evidence, in Markdown. One workload, one heading: figures of unlike work never
 * stand in one table. Under it the continuous hosts, and in a table of their own the opportunistic
 * ones. Each row says its conditions, so a row that is copied out of its table still does.
 *
 * @module
 */

import { canonicalJson, type Json } from "../core/canonical_json.ts";
import { conditionsText } from "./conditions.ts";
import type { Document } from "./document.ts";
import type { Distribution, Evidence } from "./evidence_shape.ts";
import { markdownText, shortened } from "./markup.ts";
import { divergenceText, VERDICTS } from "./parity_text.ts";
import type { Parity } from "./parity_shape.ts";

type Measured = Extract<Document, { kind: "evidence" }>;
type Compared = Extract<Document, { kind: "parity" }>;

/** The page of `documents`, which are in the order they are to stand in. */
export function publicationPage(documents: readonly Document[]): string {
  const measured = documents.filter((one): one is Measured => one.kind === "evidence");
  const compared = documents.filter((one): one is Compared => one.kind === "parity");
  const works = Map.groupBy(measured, ({ body }) => workOf(body));
  const sections = [...works.values()].flatMap((group) => workSection(group));
  return [
    "# Evidence",
    "",
    "What was measured, on which host, under which conditions. Made of the documents in this folder;",
    "a document is named by the SHA-256 of its bytes.",
    "",
    ...(documents.length === 0 ? ["Nothing is published here yet.", ""] : []),
    ...sections,
    ...(compared.length === 0 ? [] : paritySection(compared)),
  ].join("\n");
}

/** What has to be equal for figures to stand in one table. */
function workOf({ workload, measures }: Evidence): string {
  return canonicalJson([workload as Json, measures.tokens.counted_by]);
}

function workSection(group: readonly Measured[]): string[] {
  const [first] = group;
  if (first === undefined) return [];
  const { corpus, sampling, repeats, warmup, concurrency, stream } = first.body.workload;
  const set = (name: string, value: number | null) => value === null ? "" : `, ${name} ${value}`;
  const counted = { engine: "the engine", chunks: "streamed chunks", none: "nobody" };
  return [
    `## ${cell(corpus.name, 80)} (corpus \`${corpus.digest.slice(0, 12)}\`)`,
    "",
    `${corpus.prompts} prompts, ${repeats} ${repeats === 1 ? "time" : "times"} each, ` +
    `${warmup} before to warm up, ${concurrency} at a time, ${stream ? "" : "not "}streamed; ` +
    `at most ${sampling.max_tokens} tokens` +
    set("temperature", sampling.temperature) + set("top\\_p", sampling.top_p) +
    set("top\\_k", sampling.top_k) + set("seed", sampling.seed) +
    `; tokens counted by ${counted[first.body.measures.tokens.counted_by]}.`,
    "",
    ...classTable(
      "Continuous hosts",
      group.filter(({ body }) => body.host.availability === "continuous"),
    ),
    ...classTable(
      "Opportunistic hosts: each figure holds under the conditions of its row only",
      group.filter(({ body }) => body.host.availability === "opportunistic"),
    ),
  ];
}

function classTable(heading: string, rows: readonly Measured[]): string[] {
  if (rows.length === 0) return [];
  return [
    `### ${heading}`,
    "",
    "| model | engine | host | conditions | first token p50 / p99, ms | tokens/s p50 | all, tokens/s " +
    "| answers | started | evidence |",
    "| --- | --- | --- | --- | ---: | ---: | ---: | ---: | --- | --- |",
    ...rows.map(rowOf),
    "",
  ];
}

function rowOf({ body, digest, signed }: Measured): string {
  const { subject, host, measures, run } = body;
  const { sent, completed } = measures.requests;
  const cells = [
    cell(
      [subject.model, subject.quantization, subject.revision?.slice(0, 12)].filter((part) =>
        part !== null && part !== undefined
      ).join(" "),
      96,
    ),
    cell([subject.engine, subject.engine_version].filter((part) => part !== null).join(" "), 64),
    cell(host.node, 64),
    cell(conditionsText(body), 400),
    `${quantile(measures.ttft_ms, "p50")} / ${quantile(measures.ttft_ms, "p99")}`,
    quantile(measures.tokens_per_second, "p50"),
    measures.throughput === null ? "not known" : rounded(measures.throughput),
    completed === sent ? `${sent}` : `${completed} of ${sent}`,
    run.started_at,
    `[\`${digest.slice(0, 12)}\`](${digest}.json)${signed.length === 0 ? "" : ", signed"}`,
  ];
  return `| ${cells.join(" | ")} |`;
}

function paritySection(compared: readonly Compared[]): string[] {
  return [
    "## Parity: two engines, one model",
    "",
    "| left | right | conditions, left | conditions, right | verdict | equal | first divergence | " +
    "chart | document |",
    "| --- | --- | --- | --- | --- | ---: | --- | --- | --- |",
    ...compared.map(({ body, digest }) => {
      const cells = [
        cell(sideName(body.left), 160),
        cell(sideName(body.right), 160),
        cell(conditionsText(body.left), 400),
        cell(conditionsText(body.right), 400),
        [VERDICTS[body.verdict], ...body.reasons.map(({ code }) => cell(code, 40))].join(", "),
        body.summary === null ? "none" : `${body.summary.exact} of ${body.summary.compared}`,
        firstText(body),
        `[chart](${digest}.svg)`,
        `[\`${digest.slice(0, 12)}\`](${digest}.json)`,
      ];
      return `| ${cells.join(" | ")} |`;
    }),
    "",
  ];
}

function sideName({ subject, host }: Parity["left"]): string {
  const version = subject.engine_version === null ? "" : ` ${subject.engine_version}`;
  return `${subject.engine}${version} on ${host.node}, ${subject.model}`;
}

function firstText({ summary }: Parity): string {
  const first = summary?.first_divergence ?? null;
  return first === null ? "none" : cell(`${first.prompt} ${divergenceText(first)}`, 240);
}

function cell(text: string, most: number): string {
  return markdownText(shortened(text, most));
}

function quantile(values: Distribution | null, key: "p50" | "p99"): string {
  return values === null ? "not known" : rounded(values[key]);
}

/** Three digits that mean something, and all of a large number. */
function rounded(value: number): string {
  return value >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)));
}

/** `anvil-operator evidence compare|parity`. @module */

import { buildCommand } from "@stricli/core";
import type { Json } from "../../../lib/core/canonical_json.ts";
import { type Refusal, refuse } from "../../../lib/core/refusal.ts";
import { compare } from "../../../lib/evidence/comparison.ts";
import { conditionsText } from "../../../lib/evidence/conditions.ts";
import { evidenceId, type Named } from "../../../lib/evidence/evidence.ts";
import type { Evidence } from "../../../lib/evidence/evidence_shape.ts";
import { parityOf, type Side, writeParity } from "../../../lib/evidence/parity.ts";
import { parityChart } from "../../../lib/evidence/parity_chart.ts";
import { DEFAULT_THRESHOLDS, type Thresholds } from "../../../lib/evidence/parity_shape.ts";
import type { ProgramContext } from "../../../lib/terminal/program.ts";
import { documentName, EVIDENCE_FLAGS, type EvidenceFlags } from "../evidence/flags.ts";
import { findMeasured, keep, type Measured, recordsOf, shelfOf } from "../evidence/shelf.ts";
import { comparisonText, parityText } from "../evidence/text.ts";
import type { WrongFile } from "../fleet_source.ts";
import type { Operator } from "../operator.ts";
import { reportData, reportFailure } from "../report.ts";

/** `evidence compare`. */
export function compareCommand(operator: Operator) {
  return buildCommand<EvidenceFlags, [string, string], ProgramContext>({
    parameters: {
      flags: EVIDENCE_FLAGS,
      positional: {
        kind: "tuple",
        parameters: [
          { ...documentName(operator, "One measurement"), placeholder: "LEFT" },
          { ...documentName(operator, "The other"), placeholder: "RIGHT" },
        ],
      },
    },
    docs: {
      brief: "Put the figures of two measurements beside each other",
      fullDescription:
        "Only what was asked the same, in the same way, to its end, is compared; otherwise it says\n" +
        "not_comparable with every difference, and exits 1. Conditions stand above the figures.\n\n" +
        "Example:\n  anvil-operator evidence compare ev-0f1e2d3c ev-4b5a6978",
    },
    async func(flags, left, right) {
      const found = await bothOf(operator, flags, left, right);
      if ("kind" in found) return reportFailure(this, found, flags.json);
      const [a, b] = [namedOf(found.left), namedOf(found.right)];
      const comparison = compare(a, b);
      const data = {
        ...comparison,
        left: { evidence: a.id, conditions_text: conditionsText(a.body) },
        right: { evidence: b.id, conditions_text: conditionsText(b.body) },
      };
      const text = () => comparisonText(a.body, b.body, comparison);
      const code = comparison.kind === "compared" ? 0 : 1;
      reportData(this, data as unknown as Json, text, flags.json, code);
    },
  });
}

interface ParityFlags extends EvidenceFlags {
  readonly sameModelBecause?: string;
  readonly chart?: string;
  readonly compared: number;
  readonly exact: number;
  readonly alike: number;
  readonly logprobs: number;
  readonly decisive: number;
  readonly decisiveShare: number;
  readonly refusals: number;
}

function limit(key: keyof Thresholds, brief: string, parse: (text: string) => number) {
  const standard = DEFAULT_THRESHOLDS[key];
  return { kind: "parsed", parse, default: `${standard}`, brief, placeholder: "N" } as const;
}

/** `evidence parity`. */
export function parityCommand(operator: Operator) {
  return buildCommand<ParityFlags, [string, string], ProgramContext>({
    parameters: {
      flags: {
        ...EVIDENCE_FLAGS,
        sameModelBecause: {
          kind: "parsed",
          parse: reason,
          optional: true,
          brief: "Why two names are one model, for the record, as a conversion of the same weights",
          placeholder: "TEXT",
        },
        chart: {
          kind: "parsed",
          parse: String,
          optional: true,
          brief: "Write the chart here, as SVG",
          placeholder: "FILE",
        },
        compared: limit("compared_share_min", "Least share of answers both gave", share),
        exact: limit("exact_share_min", "Least share of equal answers", share),
        alike: limit("similarity_min", "Least mean likeness of texts, 0 to 1", share),
        logprobs: limit("logprob_mean_max", "Most mean distance of logprobs, in nats", amount),
        decisive: limit("decisive_nats", "Nats from which a divergence is no rounding", amount),
        decisiveShare: limit("decisive_share_max", "Most share of such divergences", share),
        refusals: limit("refusals_share_max", "Most share refused by one side only", share),
      },
      positional: {
        kind: "tuple",
        parameters: [
          { ...documentName(operator, "A measurement with one engine"), placeholder: "LEFT" },
          { ...documentName(operator, "One with another engine"), placeholder: "RIGHT" },
        ],
      },
    },
    docs: {
      brief: "Ask whether two engines give the same answers: is it the model or the kernel?",
      fullDescription:
        "Needs the records of both, the same model, quantization, corpus and sampling, and no chance\n" +
        "in it. Names the first token at which answers part, and how sure each engine was there.\n" +
        "The result is kept like evidence, and is the same bytes whenever it is made.\n" +
        "Exits 0 when they agree, 1 when they diverge or are not comparable.\n\n" +
        "Examples:\n  anvil-operator evidence parity ev-0f1e2d3c ev-4b5a6978 --chart parity.svg\n" +
        "  anvil-operator evidence parity ev-0f1e2d3c ev-4b5a6978 \\\n" +
        '    --same-model-because "converted from that revision"',
    },
    async func(flags, left, right) {
      const found = await bothOf(operator, flags, left, right);
      if ("kind" in found) return reportFailure(this, found, flags.json);
      const sides: Side[] = [];
      for (const one of [found.left, found.right]) {
        const records = await recordsOf(operator, found.folder, one);
        if (records !== null && "kind" in records) return reportFailure(this, records, flags.json);
        sides.push({ evidence: namedOf(one), records });
      }
      const [a, b] = sides;
      if (a === undefined || b === undefined) throw new Error("two sides were asked for");
      const body = parityOf(a, b, thresholdsOf(flags), flags.sameModelBecause ?? null);
      const { digest, bytes } = await writeParity(body);
      const kept = await keep(operator, found.folder, { digest, bytes });
      if (typeof kept !== "string") return reportFailure(this, kept, flags.json);
      if (flags.chart !== undefined) {
        const chart = new TextEncoder().encode(parityChart(body, digest.slice(0, 12)));
        const put = await operator.ports.files.replaceFile(flags.chart, chart, 0o644);
        if (put.kind === "refused") {
          const no = refuse("chart_unwritable", put.detail, "name another file with --chart");
          return reportFailure(this, no, flags.json);
        }
      }
      const code = body.verdict === "agree" ? 0 : 1;
      const text = () => parityText(body, digest);
      reportData(this, { digest, body: body as Json }, text, flags.json, code);
    },
  });
}

function thresholdsOf(flags: ParityFlags): Thresholds {
  return {
    compared_share_min: flags.compared,
    exact_share_min: flags.exact,
    similarity_min: flags.alike,
    logprob_mean_max: flags.logprobs,
    decisive_nats: flags.decisive,
    decisive_share_max: flags.decisiveShare,
    refusals_share_max: flags.refusals,
  };
}

async function bothOf(
  operator: Operator,
  flags: EvidenceFlags,
  left: string,
  right: string,
): Promise<
  | { readonly folder: string; readonly left: Measured; readonly right: Measured }
  | WrongFile
  | Refusal
> {
  const folder = shelfOf(operator, flags);
  if (typeof folder !== "string") return folder;
  const [a, b] = [
    await findMeasured(operator, folder, left),
    await findMeasured(operator, folder, right),
  ];
  if ("kind" in a) return a;
  if ("kind" in b) return b;
  return { folder, left: a, right: b };
}

function namedOf({ document }: Measured): Named<Evidence> {
  return { digest: document.digest, id: evidenceId(document.digest), body: document.body };
}

function share(text: string): number {
  const value = Number(text);
  if (!/^[\d.]{1,10}$/.test(text) || !(value <= 1)) {
    throw new SyntaxError("expected a share of 0 to 1, as 0.95");
  }
  return value;
}

function amount(text: string): number {
  const value = Number(text);
  if (!/^[\d.]{1,10}$/.test(text) || !Number.isFinite(value)) {
    throw new SyntaxError("expected a number, as 0.25");
  }
  return value;
}

function reason(text: string): string {
  if (!/^[^\p{C}]{1,256}$/u.test(text)) {
    throw new SyntaxError("expected 1 to 256 visible characters");
  }
  return text;
}

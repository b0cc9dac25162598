/**
 * Parity as a picture: a bar for each prompt, as long as the answers are alike, and where they part.
 * One SVG without scripts or fonts; light and dark; told to screen readers by title and description,
 * and told by hatching and words, not by colour alone.
 *
 * @module
 */

import { conditionsText } from "./conditions.ts";
import { shortened, xmlText } from "./markup.ts";
import { divergenceText, VERDICTS } from "./parity_text.ts";
import type { Pair, Parity } from "./parity_shape.ts";

/** Rows that are drawn: of more prompts, those that are least alike. */
export const MOST_ROWS = 60;

const WIDTH = 960;
const ROW = 20;
const HEAD = 172;
const LABEL = 208;
const BAR = 320;

/** The picture; `name` tells its ids from those of other pictures on one page: letters and digits. */
export function parityChart(parity: Parity, name: string): string {
  const rows = rowsOf(parity.prompts);
  const hidden = parity.prompts.length - rows.length;
  const height = HEAD + Math.max(1, rows.length) * ROW + 44;
  const id = `parity-${name}`;
  const title = `Parity of ${sideName(parity.left)} and ${sideName(parity.right)}: ` +
    VERDICTS[parity.verdict];
  const limit = LABEL + BAR * parity.thresholds.similarity_min;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" ` +
    `width="${WIDTH}" height="${height}" role="img" ` +
    `aria-labelledby="${id}-title ${id}-desc" class="parity">`,
    `<title id="${id}-title">${xmlText(title)}</title>`,
    `<desc id="${id}-desc">${xmlText(described(parity))}</desc>`,
    STYLE,
    `<defs><pattern id="${id}-hatch" width="6" height="6" patternUnits="userSpaceOnUse" ` +
    `patternTransform="rotate(45)"><rect width="6" height="6" class="parts"/>` +
    `<rect width="2" height="6" class="page"/></pattern></defs>`,
    `<rect width="${WIDTH}" height="${height}" class="page"/>`,
    ...headLines(parity),
    rows.length === 0 ? text(16, HEAD + 14, "faint", "no answers were compared") : "",
    ...rows.flatMap((row, at) => rowOf(row, HEAD + at * ROW, `${id}-hatch`)),
    rows.length === 0 ? "" : `<line x1="${fixed(limit)}" x2="${fixed(limit)}" y1="${HEAD - 6}" ` +
      `y2="${HEAD + rows.length * ROW}" class="limit"/>`,
    text(
      16,
      height - 16,
      "faint",
      `bar: likeness of the texts, 0 to 1; dashed: ${parity.thresholds.similarity_min}, asked of ` +
        `their mean; hatched: the answers part` +
        (hidden > 0 ? `; ${hidden} more prompts, more alike, are not drawn` : ""),
    ),
    "</svg>",
    "",
  ].filter((line, at, lines) => line !== "" || at === lines.length - 1).join("\n");
}

const STYLE = "<style>" +
  ".parity{--page:#ffffff;--ink:#1b1f24;--faint:#57606a;--same:#1a7f64;--parts:#b5480b}" +
  "@media (prefers-color-scheme:dark){.parity{--page:#0d1117;--ink:#e6edf3;--faint:#9da7b3;" +
  "--same:#3fb68b;--parts:#f0883e}}" +
  ".parity text{font:12px ui-sans-serif,system-ui,sans-serif;fill:var(--ink)}" +
  ".parity .big{font-size:18px;font-weight:600}.parity .faint{fill:var(--faint)}" +
  ".parity .page{fill:var(--page)}.parity .same{fill:var(--same)}.parity .parts{fill:var(--parts)}" +
  ".parity .rest{fill:none;stroke:var(--faint);stroke-opacity:.4}" +
  ".parity .limit{stroke:var(--faint);stroke-dasharray:3 3}" +
  "</style>";

function headLines(parity: Parity): string[] {
  const { left, right, summary, reasons } = parity;
  const shares = summary === null
    ? "nothing was compared"
    : `${summary.exact} of ${summary.compared} answers are equal; ` +
      `${summary.diverged} diverge, ${summary.decisive} of them decisively`;
  const why = reasons.map(({ code }) => code).join(", ");
  return [
    text(16, 32, "big", `Parity: ${VERDICTS[parity.verdict]}`),
    text(16, 54, "", why === "" ? shares : `${shares} (${why})`),
    text(16, 80, "", `left: ${sideName(left)}`),
    text(16, 96, "faint", conditionsText(left)),
    text(16, 118, "", `right: ${sideName(right)}`),
    text(16, 134, "faint", conditionsText(right)),
  ];
}

function sideName({ subject, host }: Parity["left"]): string {
  const version = subject.engine_version === null
    ? ""
    : ` ${shortened(subject.engine_version, 24)}`;
  const quantization = subject.quantization === null
    ? ""
    : ` ${shortened(subject.quantization, 16)}`;
  return `${shortened(subject.engine, 24)}${version} on ${shortened(host.node, 32)}, ` +
    `${shortened(subject.model, 48)}${quantization}`;
}

function described({ left, right, summary, verdict, prompts }: Parity): string {
  const first = summary?.first_divergence ?? null;
  return [
    `Verdict: ${VERDICTS[verdict]}.`,
    `Left was measured under: ${conditionsText(left)}.`,
    `Right was measured under: ${conditionsText(right)}.`,
    summary === null
      ? "No answers were compared."
      : `${summary.compared} of ${prompts.length} prompts were compared, ${summary.exact} answers ` +
        `are equal.`,
    first === null
      ? ""
      : `They part first at prompt ${shortened(first.prompt, 64)}, ${divergenceText(first)}.`,
  ].filter((line) => line !== "").join(" ");
}

/** Those that are drawn, in the order of the corpus. */
function rowsOf(prompts: readonly Pair[]): readonly Pair[] {
  const worst = prompts.toSorted((one, other) => (one.similarity ?? -1) - (other.similarity ?? -1));
  const drawn = new Set(worst.slice(0, MOST_ROWS));
  return prompts.filter((one) => drawn.has(one));
}

function rowOf(pair: Pair, top: number, hatch: string): string[] {
  const name = pair.repeat === 0 ? pair.prompt : `${pair.prompt} (${pair.repeat + 1})`;
  const label = text(16, top + 13, "", shortened(name, 28));
  if (pair.skipped !== null) {
    return [label, text(LABEL, top + 13, "faint", pair.skipped.replace("_", " "))];
  }
  const wide = fixed(BAR * (pair.similarity ?? 0));
  const fill = pair.divergence === null ? 'class="same"' : `fill="url(#${hatch})"`;
  const said = pair.divergence === null ? "equal" : divergenceText(pair.divergence);
  return [
    label,
    `<rect x="${LABEL}" y="${top + 3}" width="${BAR}" height="${ROW - 7}" class="rest"/>`,
    `<rect x="${LABEL}" y="${top + 3}" width="${wide}" height="${ROW - 7}" ${fill}/>`,
    text(LABEL + BAR + 12, top + 13, "faint", shortened(said, 68)),
  ];
}

function text(x: number, y: number, kind: string, content: string): string {
  const named = kind === "" ? "" : ` class="${kind}"`;
  return `<text x="${x}" y="${y}"${named}>${xmlText(content)}</text>`;
}

function fixed(value: number): string {
  return String(Math.round(value * 100) / 100);
}

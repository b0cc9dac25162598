/**
 * Text tables, for a terminal and for Markdown.
 *
 * @module
 */

/** First row is the heading; the first column is text, the others are numbers. */
export type Rows = readonly (readonly string[])[];

/** Aligned columns, two spaces apart. */
export function plainTable(rows: Rows): string {
  const widths = widthsOf(rows);
  return rows.map((row) =>
    row.map((cell, i) => i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))
      .join("  ").trimEnd()
  ).join("\n");
}

/** A Markdown table, padded so that it reads as text too. */
export function markdownTable(rows: Rows): string {
  const escaped = rows.map((row) => row.map((cell) => cell.replaceAll("|", "\\|")));
  const widths = widthsOf(escaped).map((width) => Math.max(width, 3));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(" | ")} |`;
  const rule = widths.map((width, i) => i === 0 ? "-".repeat(width) : "-".repeat(width - 1) + ":");
  const [head = [], ...body] = escaped;
  return [line(head), line(rule), ...body.map(line)].join("\n");
}

/** Columns to rows: wide tables read better standing up. */
export function transpose(rows: Rows): string[][] {
  const [head = []] = rows;
  return head.map((_, i) => rows.map((row) => row[i] ?? ""));
}

function widthsOf(rows: Rows): number[] {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, i) => widths[i] = Math.max(widths[i] ?? 0, cell.length));
  }
  return widths;
}

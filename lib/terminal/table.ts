/**
 * Tables a person wants to look at: aligned, quiet, no borders.
 *
 * @module
 */

/** Rows under their headings, each column as wide as its widest cell. Ends with a newline. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...rows.map((row) => (row[column] ?? "").length))
  );
  const line = (cells: readonly string[]) =>
    cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ").trimEnd();
  return [line(headings.map((heading) => heading.toUpperCase())), ...rows.map(line)]
    .map((text) => `${text}\n`).join("");
}

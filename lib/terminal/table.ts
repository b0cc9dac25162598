/**
 * Tables a person wants to look at: aligned, quiet, no borders.
 *
 * @module
 */

/** How a row is painted on a terminal with colours; `plain` everywhere else. */
export type Paint = "plain" | "bad" | "doubtful";

const COLORS: Readonly<Record<Exclude<Paint, "plain">, number>> = { bad: 31, doubtful: 33 };

/**
 * Rows under their headings, each column as wide as its widest cell. Ends with a newline. `paints`:
 * one per row, where the terminal has colours.
 */
export function table(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  paints: readonly Paint[] = [],
): string {
  const lines = [headings.map((heading) => heading.toUpperCase()), ...rows]
    .map((cells) => cells.map(harmless));
  const taken = lines.map((cells) => cells.map(widthOf));
  // A loop: a table of a large fleet has more rows than a call has room for arguments.
  const widths = headings.map((_, column) =>
    taken.reduce((most, row) => Math.max(most, row[column] ?? 0), 0)
  );
  return lines.map((cells, row) => {
    const padded = cells.map((cell, column) =>
      cell + " ".repeat(Math.max(0, (widths[column] ?? 0) - (taken[row]?.[column] ?? 0)))
    );
    const line = padded.join("  ").trimEnd();
    const paint = paints[row - 1] ?? "plain";
    return paint === "plain" ? `${line}\n` : `\x1b[${COLORS[paint]}m${line}\x1b[0m\n`;
  }).join("");
}

/** A name from a file or an engine must not steer the terminal, nor turn its line around. */
function harmless(cell: string): string {
  return cell.replaceAll(/[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu, "\ufffd");
}

/** East Asian wide and fullwidth letters, and what terminals draw as emoji: two columns. */
const WIDE =
  /^(?:[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation})/u;
const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });

/** One column each, and no two of them are one letter. */
const NARROW = /^[ -~…]*$/;

/** Columns a text takes on a terminal. */
function widthOf(text: string): number {
  // What segments a text holds tens of KiB outside the heap, where collecting garbage is not hurried
  // by it: for the 50,000 cells of a large fleet that was 200 MiB and most of the time.
  if (NARROW.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += WIDE.test(segment) ? 2 : 1;
  return width;
}

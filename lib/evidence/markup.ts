/**
 * Names of hosts and models are whatever somebody called them. Here they become text again, whatever
 * they hold: in Markdown, and in SVG.
 *
 * @module
 */

/** Text for a cell of a Markdown table: no markup, no hidden link, no line break, no end of the cell. */
export function markdownText(text: string): string {
  const flat = text.replaceAll(/\p{C}|[\u2028\u2029]/gu, "\ufffd");
  return flat
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    // What renderers turn into links without being asked.
    .replaceAll(/(https?|ftp|mailto):/giu, "$1&#58;")
    .replaceAll(/www\./giu, (www) => www.replace(".", "&#46;"))
    .replaceAll("@", "&#64;")
    .replaceAll(/[\\`*_[\]|~$]/gu, "\\$&");
}

/** Text for SVG and XML, in content and in attributes. */
export function xmlText(text: string): string {
  return text
    .replaceAll(/\p{C}/gu, "\ufffd")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}

/** At most `most` graphemes of it, with an ellipsis where it was longer. */
export function shortened(text: string, most: number): string {
  const graphemes = [...SEGMENTER.segment(text.slice(0, most * 16))];
  const cut = graphemes.length > most || text.length > most * 16;
  if (!cut) return text;
  // A letter of a hundred accents may have been cut in two.
  return `${graphemes.slice(0, most - 1).map(({ segment }) => segment).join("")}…`.toWellFormed();
}

const SEGMENTER = new Intl.Segmenter("en", { granularity: "grapheme" });

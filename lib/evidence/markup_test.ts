import assert from "node:assert/strict";
import fc from "fast-check";
import { markdownText, shortened, xmlText } from "./markup.ts";

Deno.test("markup: whatever a name holds, a cell of Markdown stays one cell of text", () => {
  const nasty = fc.string({
    unit: fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom(..."|<>&`*[]()\\_~!\n\r@:$")),
  }).map((text) => text.toWellFormed());
  fc.assert(fc.property(nasty, (text) => {
    const cell = markdownText(text);
    assert.doesNotMatch(cell, /[<>\p{Cc}\u2028\u2029]/u);
    // Each character that means something stands behind an odd number of backslashes.
    for (const { index } of cell.matchAll(/[|`*[\]_~$]/g)) {
      assert.equal((/\\*$/.exec(cell.slice(0, index))?.[0].length ?? 0) % 2, 1, cell);
    }
    assert.equal(
      (/\\*$/.exec(cell)?.[0].length ?? 0) % 2,
      0,
      "it would escape the end of the cell",
    );
    assert.doesNotMatch(cell, /&(?!amp;|lt;|gt;|#\d+;)/);
    assert.doesNotMatch(cell, /https?:\/\//i);
  }));
});

Deno.test("markup: text of XML has no markup, and gives the text back", () => {
  fc.assert(fc.property(fc.string(), (text) => {
    const escaped = xmlText(text);
    assert.doesNotMatch(escaped, /[<>"'\p{C}]/u);
    const names: Readonly<Record<string, string>> = {
      amp: "&",
      lt: "<",
      gt: ">",
      quot: '"',
      "#39": "'",
    };
    const back = escaped.replaceAll(/&([a-z0-9#]+);/g, (_, name) => names[name] ?? "?");
    assert.equal(back, text.replaceAll(/\p{C}/gu, "\ufffd"));
  }));
});

Deno.test("markup: what is shortened is no longer than asked, and well-formed", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 1, max: 20 }), (text, most) => {
      const short = shortened(text, most);
      assert.ok(short.isWellFormed());
      assert.ok(short === text || short.endsWith("…"));
      assert.ok([...new Intl.Segmenter("en").segment(short)].length <= Math.max(most, 1) + 1);
    }),
  );
});

import assert from "node:assert/strict";
import { filesUnder, ROOT, textOf } from "../rooms/tree.ts";

/** Where a reader begins. Every other page is reached from here. */
const DOOR = "docs/README.md";

/** What of a page's links lies below docs/, relative to the root. */
function pagesLinkedFrom(path: string, markdown: string): string[] {
  const prose = markdown.replace(/^(```|~~~)[\s\S]*?^\1/gm, "");
  return [...prose.matchAll(/\]\(([^)\s#]+\.md)(?:#[^)]*)?\)/g)]
    .map((match) => match[1] ?? "")
    .filter((link) => !/^[a-z]+:/i.test(link))
    .map((link) => new URL(link, new URL(path, ROOT)).href.slice(ROOT.href.length))
    .filter((link) => link.startsWith("docs/"));
}

/** Headings as a forge makes anchors of them: lower case, no marks, spaces as hyphens. */
function anchorsOf(markdown: string): Set<string> {
  const prose = markdown.replace(/^(```|~~~)[\s\S]*?^\1/gm, "");
  const seen = new Map<string, number>();
  const anchors = new Set<string>();
  for (const match of prose.matchAll(/^#{1,6} +(.+?) *#*$/gm)) {
    const plain = (match[1] ?? "").replace(/\[([^\]]*)\]\([^)]*\)/g, "$1");
    const slug = plain.toLowerCase().replace(/[^\p{L}\p{N}\p{M}_ -]/gu, "").replace(/ /g, "-");
    const before = seen.get(slug) ?? 0;
    seen.set(slug, before + 1);
    anchors.add(before === 0 ? slug : `${slug}-${before}`);
  }
  return anchors;
}

async function pages(): Promise<Map<string, string>> {
  const paths = (await filesUnder("docs/")).filter((path) => path.endsWith(".md"));
  return new Map(await Promise.all(paths.map(async (path) => [path, await textOf(path)] as const)));
}

Deno.test("every page of the documentation is reached from its front page", async () => {
  const texts = await pages();
  const reached = new Set([DOOR]);
  const ahead = [DOOR];
  for (let path = ahead.pop(); path !== undefined; path = ahead.pop()) {
    for (const next of pagesLinkedFrom(path, texts.get(path) ?? "")) {
      if (!reached.has(next)) ahead.push(next);
      reached.add(next);
    }
  }
  assert.deepEqual([...texts.keys()].filter((path) => !reached.has(path)), []);
});

Deno.test("every page has one title, and it is its first line", async () => {
  for (const [path, text] of await pages()) {
    const prose = text.replace(/^(```|~~~)[\s\S]*?^\1/gm, "");
    assert.match(text, /^# \S/, `${path} does not begin with its title`);
    assert.equal(prose.match(/^# /gm)?.length, 1, `${path} has more than one title`);
  }
});

Deno.test("a link to a heading names one that is there", async () => {
  const dead: string[] = [];
  const paths = (await filesUnder("./")).filter((path) => path.endsWith(".md"));
  const texts = new Map(
    await Promise.all(
      paths.map(async (path) => [new URL(path, ROOT).href, await textOf(path)] as const),
    ),
  );
  for (const [path, text] of texts) {
    const prose = text.replace(/^(```|~~~)[\s\S]*?^\1/gm, "").replace(/`[^`\n]*`/g, "");
    for (const match of prose.matchAll(/\]\(([^)\s#]*)#([^)\s]+)\)/g)) {
      const [, to = "", anchor = ""] = match;
      if (/^[a-z]+:/i.test(to)) continue;
      const target = texts.get(to === "" ? path : new URL(to, path).href);
      if (target === undefined) continue; // the links test says so
      if (!anchorsOf(target).has(anchor)) {
        dead.push(`${path.slice(ROOT.href.length)} -> ${to}#${anchor}`);
      }
    }
  }
  assert.deepEqual(dead, []);
});

Deno.test("what a page has its reader make in the clone is not seen by git", async () => {
  // Else every bundle that is built afterwards says `-dirty`, and no publisher takes it.
  const ignored = (await textOf(".gitignore")).split("\n");
  const made = new Map<string, string>();
  for (const path of ["README.md", ...await filesUnder("docs/")]) {
    if (!path.endsWith(".md")) continue;
    for (const match of (await textOf(path)).matchAll(/\bmkdir (?:-p )?(my-[a-z]+)\b/g)) {
      made.set(match[1] ?? "", path);
    }
  }
  assert.notEqual(made.size, 0);
  assert.deepEqual([...made].filter(([folder]) => !ignored.includes(`/${folder}/`)), []);
});

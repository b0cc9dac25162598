/**
 * Where a TOML path stands in its text: `hosts.gpu-a.os` -> line and column.
 *
 * The parser gives plain data without places, so a second, small scanner walks the same text and
 * notes where each key and item begins. It trusts that the parser accepted the text; where it does
 * not understand one it stops, and whatever lies behind gets the place of its nearest known parent.
 *
 * @module
 */

import type { Problem } from "../core/problem.ts";

/** 1-based; columns count UTF-16 units, as the parser's own do. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** `problems` with line and column; those that have them keep them. */
export function locate<Found extends Problem>(
  text: string,
  problems: readonly Found[],
): readonly Found[] {
  if (problems.every((problem) => problem.line !== undefined)) return problems;
  const places = new Places(text);
  return problems.map((problem) =>
    problem.line === undefined ? { ...problem, ...places.of(problem.path) } : problem
  );
}

/** Every key and item of one text. */
export class Places {
  readonly #root: Node;
  readonly #lines: readonly number[];

  constructor(text: string) {
    this.#root = new Scanner(text).scan();
    const lines = [0];
    for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) {
      lines.push(at + 1);
    }
    this.#lines = lines;
  }

  /** Where `path` begins; where its nearest parent does when it is not written itself. */
  of(path: string): Place {
    let node = this.#root;
    for (const key of keysOf(path)) {
      const child = node.children.get(key);
      if (child === undefined) break;
      node = child;
    }
    return this.#place(node.at);
  }

  /** Where the value at `keys` begins, or null when nothing of that name is written. */
  find(keys: readonly (string | number)[]): Place | null {
    let node: Node | undefined = this.#root;
    for (const key of keys) node = node?.children.get(key);
    return node === undefined ? null : this.#place(node.at);
  }

  #place(offset: number): Place {
    let low = 0;
    let high = this.#lines.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#lines[middle] as number) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (this.#lines[low] as number) + 1 };
  }
}

/** The keys of a path as `pathOf` writes it. */
export function keysOf(path: string): (string | number)[] {
  const keys: (string | number)[] = [];
  if (path === "$") return keys;
  const part = /\.?(?:([A-Za-z0-9_-]+)|("(?:[^"\\]|\\.)*")|\[(\d+)\])/ys;
  for (let match = part.exec(path); match !== null; match = part.exec(path)) {
    const [, bare, quoted, index] = match;
    if (index !== undefined) keys.push(Number(index));
    else keys.push(quoted === undefined ? bare as string : JSON.parse(quoted) as string);
  }
  return keys;
}

interface Node {
  /** Offset of the key, or of the item in a list. */
  at: number;
  /** True for a name that only stands in front of another, as `a` in `[a.b]`. */
  implied: boolean;
  readonly children: Map<string | number, Node>;
  /** The newest table of an array of tables. */
  newest: Node | null;
}

interface Key {
  readonly name: string;
  readonly at: number;
}

const BARE = /[A-Za-z0-9_-]+/y;
const BLANK = /[ \t]*/y;
const TRIVIA = /(?:[ \t\r\n]|#[^\n]*)*/y;
const LITERAL = /[^,\]}#\r\n]*/y;
const ONE_LINE = { '"': /"(?:[^"\\\n]|\\.)*"/y, "'": /'[^'\n]*'/y } as const;

/** Not what the parser lets through: the rest has no places. */
class Lost extends Error {}

class Scanner {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  scan(): Node {
    const root = node(0);
    let table = root;
    try {
      for (this.#skip(TRIVIA); this.#at < this.#text.length; this.#skip(TRIVIA)) {
        if (this.#take("[[")) table = appended(root, this.#keys("]]"));
        else if (this.#take("[")) table = descended(root, this.#keys("]"));
        else this.#pair(table);
      }
    } catch (error) {
      if (!(error instanceof Lost) && !(error instanceof RangeError)) throw error;
    }
    return root;
  }

  /** `key.key = value` into `table`. */
  #pair(table: Node): void {
    this.#value(descended(table, this.#keys("=")));
  }

  #value(into: Node): void {
    this.#skip(BLANK);
    const first = this.#text[this.#at];
    if (first === '"' || first === "'") this.#string(first);
    else if (this.#take("[")) this.#list(into);
    else if (this.#take("{")) this.#inline(into);
    else this.#skip(LITERAL);
  }

  #list(into: Node): void {
    for (let index = 0;; index++) {
      this.#skip(TRIVIA);
      if (this.#take("]")) return;
      const item = node(this.#at);
      into.children.set(index, item);
      this.#value(item);
      this.#skip(TRIVIA);
      if (!this.#take(",")) return this.#want("]");
    }
  }

  #inline(into: Node): void {
    for (;;) {
      this.#skip(TRIVIA);
      if (this.#take("}")) return;
      this.#pair(into);
      this.#skip(TRIVIA);
      if (!this.#take(",")) return this.#want("}");
    }
  }

  /** A dotted key and what must follow it. */
  #keys(end: string): Key[] {
    const keys: Key[] = [];
    do {
      this.#skip(BLANK);
      const at = this.#at;
      const first = this.#text[at];
      const name = first === '"' || first === "'"
        ? unquoted(this.#match(ONE_LINE[first]))
        : this.#match(BARE);
      keys.push({ name, at });
      this.#skip(BLANK);
    } while (this.#take("."));
    this.#want(end);
    return keys;
  }

  #string(quote: '"' | "'"): void {
    const many = this.#text.startsWith(quote.repeat(3), this.#at);
    if (many) this.#manyLines(quote);
    else this.#match(ONE_LINE[quote]);
  }

  /** By hand: a long text would exhaust the stack of a regular expression. */
  #manyLines(quote: '"' | "'"): void {
    const triple = quote.repeat(3);
    for (let at = this.#at + 3;;) {
      const end = this.#text.indexOf(triple, at);
      if (end === -1) throw new Lost();
      const escape = quote === '"' ? this.#text.indexOf("\\", at) : -1;
      if (escape !== -1 && escape < end) at = escape + 2;
      else {
        this.#at = end + 3;
        // One or two more quotes belong to the text.
        if (this.#take(quote)) this.#take(quote);
        return;
      }
    }
  }

  #skip(pattern: RegExp): void {
    pattern.lastIndex = this.#at;
    pattern.exec(this.#text);
    this.#at = pattern.lastIndex;
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match === null) throw new Lost();
    this.#at = pattern.lastIndex;
    return match[0];
  }

  #take(token: string): boolean {
    if (!this.#text.startsWith(token, this.#at)) return false;
    this.#at += token.length;
    return true;
  }

  #want(token: string): void {
    if (!this.#take(token)) throw new Lost();
  }
}

function node(at: number, implied = false): Node {
  return { at, implied, children: new Map(), newest: null };
}

/** The table at `keys`, made where it is not there yet. */
function descended(table: Node, keys: readonly Key[]): Node {
  let here = table;
  for (const [index, key] of keys.entries()) {
    const last = index === keys.length - 1;
    let child = here.children.get(key.name);
    if (child === undefined) {
      child = node(key.at, !last);
      here.children.set(key.name, child);
    } else if (last && child.implied) {
      child.at = key.at;
      child.implied = false;
    }
    here = last ? child : child.newest ?? child;
  }
  return here;
}

/** One more table in the array of tables at `keys`. */
function appended(table: Node, keys: readonly Key[]): Node {
  const list = descended(table, keys);
  const last = keys.at(-1);
  const item = node(last === undefined ? 0 : last.at);
  list.children.set(list.children.size, item);
  list.newest = item;
  return item;
}

const ESCAPES: { readonly [letter: string]: string } = {
  b: "\b",
  t: "\t",
  n: "\n",
  f: "\f",
  r: "\r",
  e: "\x1b",
  '"': '"',
  "\\": "\\",
};

function unquoted(written: string): string {
  const inner = written.slice(1, -1);
  if (written.startsWith("'")) return inner;
  return inner.replaceAll(
    /\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))/g,
    (_, two, four, eight, letter) => {
      const code = two ?? four ?? eight;
      return code === undefined
        ? ESCAPES[letter as string] ?? (letter as string)
        : String.fromCodePoint(Number.parseInt(code as string, 16));
    },
  );
}

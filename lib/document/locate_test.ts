import assert from "node:assert/strict";
import fc from "fast-check";
import { parse, stringify } from "smol-toml";
import { pathOf } from "../core/problem.ts";
import { keysOf, locate, Places } from "./locate.ts";

type Keys = (string | number)[];

/** Every key and item of parsed data. */
function pathsOf(value: unknown, keys: Keys = []): Keys[] {
  if (typeof value !== "object" || value === null || value instanceof Date) return [keys];
  const inner = Object.entries(value).flatMap(([key, item]) =>
    pathsOf(item, [...keys, Array.isArray(value) ? Number(key) : key])
  );
  return [keys, ...inner];
}

/** What stands at a place, to the end of the text. */
function textAt(text: string, place: { line: number; column: number }): string {
  return text.split("\n").slice(place.line - 1).join("\n").slice(place.column - 1);
}

/** Each key of `text` is found, and its own name stands where it is said to be. */
function check(text: string): void {
  const places = new Places(text);
  for (const keys of pathsOf(parse(text))) {
    const place = places.find(keys);
    assert.ok(place !== null, `${JSON.stringify(keys)} is not found in\n${text}`);
    const last = keys.at(-1);
    if (typeof last !== "string") continue;
    const here = textAt(text, place);
    const key = /^(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')/.exec(here)?.[0] ?? "";
    assert.deepEqual(Object.keys(parse(`${key} = 1`)), [last], `${here}\nin\n${text}`);
  }
}

const key = fc.oneof(
  fc.constantFrom("a", "b", "c-d", "0", "true"),
  fc.string({ unit: "grapheme", maxLength: 6 }),
  fc.constantFrom('"', "'", "a.b", "#", "[x]", "\\", " ", "\n", "="),
).filter((name) => name !== "__proto__");

const quotedKey = (name: string) =>
  /^[A-Za-z0-9_-]+$/.test(name)
    ? name
    : name.includes("'") || /[^ -~]/.test(name)
    ? JSON.stringify(name).replaceAll("\x7f", "\\u007f")
    : `'${name}'`;

const scalar = fc.oneof(
  fc.constantFrom(
    ...["1", "-0.5e3", "inf", "true", "1979-05-27 07:32:00", "07:32:00", '""', "''", '""""""'],
    ...[
      '"# no ] comment \\" = ["',
      "'C:\\path\\'",
      '"""\n]] "" # \\""" x = 1\n"""',
      "'''\n[x]\n'' '''",
    ],
    ...['"""two more"""""', "''''quoted''''", '"\\\\"', '"""\\\\"""', "0x_f".replace("_", "1")],
  ),
  fc.string({ unit: "grapheme", maxLength: 8 }).map((text) =>
    JSON.stringify(text).replaceAll("\x7f", "\\u007f")
  ),
);
const gap = fc.constantFrom("", " ", "\t");
const space = fc.constantFrom("", " ", "\n", " # ] }\n\t", "\r\n");

const { value } = fc.letrec<{ value: string; list: string; inline: string }>((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, scalar, tie("list"), tie("inline")),
  list: fc.tuple(fc.array(fc.tuple(space, tie("value"), space), { maxLength: 3 }), fc.boolean())
    .map(([items, comma]) => {
      const inner = items.map((parts) => parts.join("")).join(",");
      return `[${inner}${comma && items.length > 0 ? "," : ""}]`;
    }),
  inline: fc.array(fc.tuple(gap, key, gap, tie("value"), gap), { maxLength: 3 }).map((pairs) =>
    `{${
      pairs.map(([a, name, b, item, c], n) => `${a}${quotedKey(`${n}${name}`)}${b}=${item}${c}`)
        .join(",")
    }}`
  ),
}));

const pair = fc.tuple(fc.array(key, { minLength: 1, maxLength: 3 }), gap, value)
  .map(([keys, blank, item]) => `${keys.map(quotedKey).join(`${blank}.`)}${blank}=${blank}${item}`);
const header = fc.tuple(fc.array(key, { minLength: 1, maxLength: 3 }), gap, fc.boolean())
  .map(([keys, blank, many]) => {
    const name = `${blank}${keys.map(quotedKey).join(` .${blank}`)}${blank}`;
    return many ? `[[${name}]]` : `[${name}]`;
  });
const line = fc.oneof(pair, pair, header, fc.constantFrom("", "# x = 1", "\t"));

/** Lines in any order, less those that the parser does not take beside the ones before. */
const documents = fc.array(line, { maxLength: 12 }).map((lines) => {
  const taken: string[] = [];
  for (const one of lines) {
    try {
      parse([...taken, one].join("\n"));
      taken.push(one);
    } catch {
      // Defines something twice: not a document.
    }
  }
  return taken.join("\n");
});

Deno.test("locate: every key of every document is where it is said to be", () => {
  fc.assert(fc.property(documents, check), { numRuns: 400 });
});

Deno.test("locate: what the library writes", () => {
  const tree = fc.dictionary(key, fc.jsonValue({ maxDepth: 3 }).filter((one) => one !== null));
  fc.assert(fc.property(tree, (record) => {
    let text: string;
    try {
      text = stringify(record);
      parse(text);
    } catch {
      return; // TOML has no null and no lone surrogates
    }
    check(text);
  }));
});

Deno.test("locate: literal places, with tables, lists of tables and dotted keys", () => {
  const text = [
    "schema = 1",
    "[hosts.gpu-a]",
    '  os = "linux"',
    'memory = { model = "discrete", devices = [',
    '  { id = "gpu-0" } ] }',
    "[[transports]]",
    'host = "gpu-a"',
    "[[transports]]",
    'host = "gpu-b"',
    '[capabilities."llm.primary"]',
    "promoted.host = 3",
  ].join("\n");
  const places = new Places(text);
  const at = (path: string) => {
    const { line, column } = places.of(path);
    return `${line}:${column}`;
  };
  assert.deepEqual(
    [
      ...["$", "schema", "hosts", "hosts.gpu-a", "hosts.gpu-a.os", "hosts.gpu-a.arch"].map(at),
      ...["hosts.gpu-a.memory.devices[0]", "hosts.gpu-a.memory.devices[0].id"].map(at),
      ...["transports", "transports[1]", "transports[1].host", "transports[1].endpoint"].map(at),
      ...['capabilities."llm.primary"', 'capabilities."llm.primary".promoted.host', "nothing"]
        .map(at),
    ],
    [
      ...["1:1", "1:1", "2:2", "2:8", "3:3", "2:8", "5:3", "5:5"],
      ...["6:3", "8:3", "9:1", "8:3", "10:15", "11:10", "1:1"],
    ],
  );
});

Deno.test("locate: a problem keeps the place the parser gave, the others get one", () => {
  const problem = { path: "b", code: "c", message: "m" };
  assert.deepEqual(locate("a = 1\nb = 2", [problem, { ...problem, line: 7 }]), [
    { ...problem, line: 2, column: 1 },
    { ...problem, line: 7 },
  ]);
});

Deno.test("locate: keysOf is the way back from pathOf", () => {
  const keys = fc.array(fc.oneof(key, fc.string(), fc.nat(20)), { maxLength: 5 })
    .filter((path) => typeof path[0] !== "number");
  fc.assert(fc.property(keys, (path) => {
    assert.deepEqual(keysOf(pathOf(path)), path);
  }));
});

Deno.test("locate: any text at all is survived", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => {
    new Places(text).of("a.b[3]");
  }));
  new Places(`a = ${"[".repeat(100_000)}`).of("a");
  new Places(`a = ${"{a=".repeat(100_000)}`).of("a");
});

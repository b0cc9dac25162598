/**
 * Writes the generated tables of docs/reference/adopter.md: the keys of `adopter.toml` out of its
 * schema, gates and probes by their kind.
 *
 *     deno run -A scripts/adopter_reference.ts            writes the page
 *     deno run -A scripts/adopter_reference.ts --check    exit 1 when the page is out of date
 *
 * @module
 */

import { z } from "zod";
import { configShape } from "../roles/adopter/config.ts";
import { configRows } from "./reference.ts";

/** The page with the tables. */
export const ADOPTER_PAGE = new URL("../docs/reference/adopter.md", import.meta.url);

type Schema = NonNullable<Parameters<typeof configRows>[0]>;
/** A schema of several kinds, told apart by `kind`. */
type Kinds = { readonly items: { readonly oneOf: readonly Schema[] } };

const SCHEMA = z.toJSONSchema(configShape, { io: "input" }) as Schema;

/** The tables by their marker. */
export function adopterTables(): ReadonlyMap<string, string> {
  const { gates, probes, ...rest } = SCHEMA.properties as { readonly [key: string]: Schema };
  const plain = { ...SCHEMA, properties: rest };
  return new Map([
    ["config", keys(configRows(plain, { schema: "Version of this file's shape." }))],
    ["gates", kinds(gates as unknown as Kinds)],
    ["probes", kinds(probes as unknown as Kinds)],
  ]);
}

function keys(rows: ReturnType<typeof configRows>): string {
  return table(
    ["Key", "Default", "Values", "Meaning"],
    rows.map(({ path, fallback, values, meaning }) => {
      // A pattern is an id in the other pages; here some are names of units, or paths.
      const own = /(^|\.)(units|ignore|restart_sensitive)$/.test(path)
        ? "list of units"
        : /(^|\.)(target|schema1)$/.test(path)
        ? "text that begins with `/`"
        : values;
      return [`\`${path}\``, fallback, own, meaning];
    }),
  );
}

function kinds({ items }: Kinds): string {
  return items.oneOf.map((one) => {
    const kind = String(one.properties?.["kind"]?.const);
    const { kind: _, ...properties } = one.properties ?? {};
    return `### \`kind = "${kind}"\`\n\n${keys(configRows({ ...one, properties }, {}))}`;
  }).join("\n");
}

/** The page with its tables made anew. Throws when a marker is missing. */
export function renderedAdopter(page: string): string {
  let text = page;
  for (const [name, made] of adopterTables()) {
    const start = `<!-- generated: ${name} -->\n`;
    const end = `<!-- generated: end ${name} -->\n`;
    const from = text.indexOf(start);
    const to = text.indexOf(end);
    if (from === -1 || to < from) throw new Error(`the page lacks the markers of "${name}"`);
    text = `${text.slice(0, from + start.length)}\n${made}\n${text.slice(to)}`;
  }
  return text;
}

/** A Markdown table as the formatter writes it. */
function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [headings, ...rows].map((row) => row.map((cell) => cell.replaceAll("|", "\\|")));
  const widths = headings.map((_, column) =>
    Math.max(3, ...cells.map((row) => row[column]?.length ?? 0))
  );
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |\n`;
  const rule = line(widths.map((width) => "-".repeat(width)));
  const [head = [], ...body] = cells;
  return line(head) + rule + body.map(line).join("");
}

if (import.meta.main) {
  const page = await Deno.readTextFile(ADOPTER_PAGE);
  const wanted = renderedAdopter(page);
  if (page === wanted) console.log("docs/reference/adopter.md is up to date");
  else if (Deno.args.includes("--check")) {
    console.error("docs/reference/adopter.md is out of date; run scripts/adopter_reference.ts");
    Deno.exit(1);
  } else {
    await Deno.writeTextFile(ADOPTER_PAGE, wanted);
    console.log("docs/reference/adopter.md is written anew");
  }
}

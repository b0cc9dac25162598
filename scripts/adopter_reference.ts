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
import { between, configRows, table } from "./reference.ts";

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
  return [...adopterTables()].reduce(
    (text, [name, made]) => between(text, name, made),
    page,
  );
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

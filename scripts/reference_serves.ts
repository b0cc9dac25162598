/**
 * Writes the generated tables of docs/reference/serves.md: the keys of `serves.toml` out of its shapes,
 * the rules out of the rule table.
 *
 *     deno run -A scripts/reference_serves.ts            writes the page
 *     deno run -A scripts/reference_serves.ts --check    writes nothing; exit 1 when it is out of date
 *
 * @module
 */

import { z } from "zod";
import { MANIFEST_RULES } from "../lib/serves/manifest_rules.ts";
import {
  commonServeShape,
  dockerServeShape,
  nativeServeShape,
} from "../lib/serves/manifest_shape.ts";
import { between, table } from "./reference.ts";

/** The page with the tables. */
export const SERVES_PAGE = new URL("../docs/reference/serves.md", import.meta.url);

/** The part of JSON Schema that these shapes make use of. */
interface Schema {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly description?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly anyOf?: readonly Schema[];
  readonly properties?: { readonly [key: string]: Schema };
  readonly required?: readonly string[];
  readonly items?: Schema;
}

/** What a key means where its schema has no description of its own. */
const MEANINGS: { readonly [path: string]: string } = {
  "capability": "What it serves, as the topology names it.",
  "residency":
    "`resident` is always there; `evictable` makes room for a mode; `on-demand` is started by a person.",
  "model.quantization": "As its publisher names it.",
  "runtime": "Required, never assumed; the host's runtime class.",
  "cwd": "The folder it runs in.",
  "supervisor": "What starts it and keeps its processes together.",
  "run.entrypoint": "Instead of the image's own.",
  "run.args": "Arguments, without a shell.",
  "run.mounts[].read_only": "False only for what the engine writes.",
  "run.shm_mib": "Shared memory of the container.",
  "run.user": "Who it runs as in the container.",
  "compose.service": "Its service in that file.",
};

/** Rows of every key below `schema`, but for `without`. */
function rowsOf(schema: Schema, without: readonly string[], prefix = ""): string[][] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, part]) => {
    const path = `${prefix}${key}`;
    if (without.includes(path)) return [];
    const inner = part.type === "array" ? part.items : part;
    if (inner?.properties !== undefined) {
      return rowsOf(inner, without, part.type === "array" ? `${path}[].` : `${path}.`);
    }
    if (part.anyOf !== undefined) {
      return part.anyOf.flatMap((one) => rowsOf(one, without, `${path}.`));
    }
    const meaning = part.description ?? MEANINGS[path];
    if (meaning === undefined) throw new Error(`${path} has no meaning: describe it`);
    const isRequired = schema.required?.includes(key) === true;
    const fallback = isRequired
      ? "required"
      : part.default === undefined
      ? "none"
      : code(part.default);
    return [[`\`${path}\``, fallback, valuesOf(part), meaning]];
  });
}

function valuesOf(part: Schema): string {
  if (part.const !== undefined) return code(part.const);
  if (part.enum !== undefined) return part.enum.map(code).join(", ");
  if (part.type === "integer") return `${part.minimum ?? ""} to ${part.maximum ?? ""}`;
  if (part.type === "boolean") return "`true`, `false`";
  return part.type === "array" ? `list of: ${valuesOf(part.items ?? {})}` : "text";
}

function code(value: unknown): string {
  return `\`${JSON.stringify(value)}\``;
}

/** The page with its tables made anew. */
export function renderedServes(page: string): string {
  const schema = (shape: z.ZodType) => z.toJSONSchema(shape, { io: "input" }) as Schema;
  const head = ["Key", "Default", "Values", "Meaning"];
  const common = schema(commonServeShape);
  const shared = Object.keys(common.properties ?? {});
  const tables: readonly (readonly [string, string])[] = [
    ["common", table(head, rowsOf(common, []))],
    ["docker", table(head, rowsOf(schema(dockerServeShape), shared))],
    ["native", table(head, rowsOf(schema(nativeServeShape), shared))],
    [
      "rules",
      table(
        ["Must hold", "Codes"],
        MANIFEST_RULES.map(({ holds, codes }) => [
          holds,
          codes.map((one) => `\`${one}\``).join(" "),
        ]),
      ),
    ],
  ];
  return tables.reduce((text, [name, made]) => between(text, name, made), page);
}

if (import.meta.main) {
  const page = await Deno.readTextFile(SERVES_PAGE);
  const wanted = renderedServes(page);
  if (page !== wanted && Deno.args.includes("--check")) {
    console.error("docs/reference/serves.md is out of date; run scripts/reference_serves.ts");
    Deno.exit(1);
  }
  if (page !== wanted) await Deno.writeTextFile(SERVES_PAGE, wanted);
  console.log(`docs/reference/serves.md is ${page === wanted ? "up to date" : "written anew"}`);
}

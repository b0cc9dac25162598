/**
 * Writes the generated tables of docs/reference/router.md: the keys of `router.toml` out of its
 * schema, the paths out of the route table, the codes out of the failure table, each code's next
 * step out of the runbook.
 *
 *     deno run -A scripts/reference.ts            writes the page
 *     deno run -A scripts/reference.ts --check    writes nothing; exit 1 when the page is out of date
 *
 * @module
 */

import { z } from "zod";
import { ROUTES } from "../lib/relay/dialect.ts";
import { FAILURES } from "../lib/relay/failure.ts";
import { configShape } from "../roles/router/config_shape.ts";

/** The page with the tables. */
export const PAGE = new URL("../docs/reference/router.md", import.meta.url);
/** Where the next steps are written. */
export const RUNBOOK = new URL("../docs/runbooks/router-codes.md", import.meta.url);

/** What a key means where the schema has no description of its own. */
const MEANINGS: { readonly [path: string]: string } = {
  "schema": "Version of this file's shape.",
  "listen.data": "Where clients ask: a literal IP and a port.",
  "listen.admin": "Where status is read: an address of its own.",
  "auth.allow_unauthenticated_loopback":
    "Trust everybody who reaches the router; instead of `clients`, and only with both listeners on loopback.",
  "probes.interval_ms": "Pause between two identity probes of a member.",
  "probes.timeout_ms": "How long a probe may take.",
  "tiers[].revision": "Declared revision of the model. Not compared with anything.",
  "tiers[].engine":
    "Declared engine. An identity kind that proves nothing about it is refused; otherwise not compared.",
  "tiers[].engine_version": "Declared version of the engine. Not compared with anything.",
  "tiers[].image_digest": "Declared digest of the engine's image. Not compared with anything.",
  "tiers[].config_digest":
    "Declared digest of the engine's configuration. Not compared with anything.",
  "tiers[].context_tokens":
    "Declared context. A request that asks for more output than this is refused.",
  "tiers[].max_output_tokens": "A request that asks for more output than this is refused.",
  "tiers[].tools": "When false, a request with tools is refused.",
  "tiers[].media": "What besides text a request may hold.",
  "tiers[].admission.in_flight": "Requests the tier works on at once, over all members.",
  "tiers[].admission.queue": "Requests that may wait beyond that, first come first served.",
  "tiers[].admission.queue_seconds": "How long one may wait.",
  "tiers[].timeouts.connect_ms": "How long a new connection to a member may take.",
  "tiers[].timeouts.first_byte_seconds":
    "From the whole request to the first byte of the answer's body.",
  "tiers[].timeouts.idle_seconds": "Silence between two reads of the answer.",
};

/** The part of JSON Schema that our shape makes use of. */
interface Schema {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly description?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxLength?: number;
  readonly properties?: { readonly [key: string]: Schema };
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
}

interface Row {
  readonly path: string;
  readonly fallback: string;
  readonly values: string;
  readonly meaning: string;
}

/** One row per key a person can write; throws when a key has no meaning. */
export function configRows(
  schema: Schema = z.toJSONSchema(configShape, { io: "input" }) as Schema,
  meanings: { readonly [path: string]: string } = MEANINGS,
): Row[] {
  const rows: Row[] = [];
  const visit = (object: Schema, prefix: string) => {
    for (const [key, part] of Object.entries(object.properties ?? {})) {
      const path = `${prefix}${key}`;
      const inner = part.type === "array" ? part.items : part;
      if (inner?.properties !== undefined) {
        visit(inner, part.type === "array" ? `${path}[].` : `${path}.`);
        continue;
      }
      const meaning = part.description ?? meanings[path];
      if (meaning === undefined) {
        throw new Error(`${path} has no meaning; describe it in the schema or in MEANINGS`);
      }
      const required = object.required?.includes(key) ?? false;
      rows.push({
        path,
        fallback: required
          ? "required"
          : part.default === undefined
          ? "none"
          : code(JSON.stringify(part.default)),
        values: valuesOf(part),
        meaning,
      });
    }
  };
  visit(schema, "");
  for (const path of Object.keys(meanings)) {
    if (!rows.some((row) => row.path === path)) {
      throw new Error(`MEANINGS explains ${path}, which the schema does not have`);
    }
  }
  return rows;
}

function valuesOf(part: Schema): string {
  if (part.const !== undefined) return code(JSON.stringify(part.const));
  if (part.enum !== undefined) return part.enum.map((one) => code(JSON.stringify(one))).join(", ");
  switch (part.type) {
    case "integer":
      return `${part.minimum ?? ""} to ${part.maximum ?? ""}`;
    case "boolean":
      return "`true`, `false`";
    case "array": {
      const least = part.minItems === undefined ? "" : `at least ${part.minItems} of: `;
      return `${least === "" ? "list of: " : least}${valuesOf(part.items ?? {})}`;
    }
    case "object":
      return "table of texts";
    default:
      if (part.pattern !== undefined) return "id: `a-z`, `0-9`, `-`; a letter first; at most 63";
      return part.maxLength === undefined ? "text" : `text, at most ${part.maxLength}`;
  }
}

/** What to do about each entry of the runbook, by its heading: the text behind `**Do**`. */
export function nextSteps(runbook: string): ReadonlyMap<string, string> {
  const steps = new Map<string, string>();
  for (const entry of runbook.split(/^### /m).slice(1)) {
    const heading = /^`([^`]+)`/.exec(entry)?.[1];
    const step = /^- \*\*Do\*\*: ([\s\S]*?)(?=\n\n|\n- |\n#|$(?![\s\S]))/m.exec(entry)?.[1];
    if (heading !== undefined && step !== undefined) {
      steps.set(heading, step.replace(/\s+/g, " ").trim());
    }
  }
  return steps;
}

/** The page with its tables made anew. Throws when a marker or a next step is missing. */
export function rendered(page: string, runbook: string): string {
  const rows = configRows();
  const config = table(
    ["Key", "Default", "Values", "Meaning"],
    rows.map((row) => [code(row.path), row.fallback, row.values, row.meaning]),
  );
  const steps = nextSteps(runbook);
  const failures = table(
    ["Code", "Status", "Outcome", "OpenAI type", "Anthropic type", "Next step"],
    Object.entries(FAILURES).map(([name, failure]) => {
      const step = steps.get(name);
      if (step === undefined) throw new Error(`the runbook has no "- **Do**:" for ${name}`);
      return [
        `[${code(name)}](../runbooks/router-codes.md#${name})`,
        String(failure.status),
        code(failure.outcome),
        code(failure.openai),
        code(failure.anthropic),
        step,
      ];
    }),
  );
  const routes = table(
    ["Path", "Dialect", "Body"],
    ROUTES.map((route) => [code(`POST ${route.path}`), code(route.dialect), route.body]),
  );
  return [["config", config], ["routes", routes], ["failures", failures]].reduce(
    (text, [name = "", made = ""]) => between(text, name, made),
    page,
  );
}

export function between(page: string, name: string, text: string): string {
  const start = `<!-- generated: ${name} -->\n`;
  const end = `<!-- generated: end ${name} -->\n`;
  const from = page.indexOf(start);
  const to = page.indexOf(end);
  if (from === -1 || to < from) throw new Error(`the page lacks the markers of "${name}"`);
  return `${page.slice(0, from + start.length)}\n${text}\n${page.slice(to)}`;
}

/** A Markdown table as the formatter writes it. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
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

function code(text: string): string {
  return `\`${text}\``;
}

if (import.meta.main) {
  const page = await Deno.readTextFile(PAGE);
  const wanted = rendered(page, await Deno.readTextFile(RUNBOOK));
  if (page === wanted) console.log("docs/reference/router.md is up to date");
  else if (Deno.args.includes("--check")) {
    console.error("docs/reference/router.md is out of date; run scripts/reference.ts");
    Deno.exit(1);
  } else {
    await Deno.writeTextFile(PAGE, wanted);
    console.log("docs/reference/router.md is written anew");
  }
}

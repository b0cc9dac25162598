/**
 * Writes the generated tables of docs/reference/agent.md: the keys of `agent.toml` out of its schema,
 * the operations out of the catalogue of an agent that has every role.
 *
 *     deno run -A scripts/agent_reference.ts            writes the page
 *     deno run -A scripts/agent_reference.ts --check    exit 1 when the page is out of date
 *
 * @module
 */

import { z } from "zod";
import { RESOURCE_ROLES } from "../lib/topology/vocabulary.ts";
import type { OperationEntry } from "../lib/operation/catalogue.ts";
import { configShape } from "../roles/agent/config.ts";
import { startAgentRig } from "../tests/support/agent.ts";
import { between, configRows } from "./reference.ts";

/** The page with the tables. */
export const AGENT_PAGE = new URL("../docs/reference/agent.md", import.meta.url);

/** What a key means where the schema has no description of its own. */
const MEANINGS: { readonly [path: string]: string } = {
  "schema": "Version of this file's shape.",
  "benchmarks.members[].model.quantization": "As q8, fp8; not compared with anything here.",
  "benchmarks.members[].engine_version": "As the engine states it; null in evidence when absent.",
};

/** What a pattern other than that of an id lets through. */
const VALUES: { readonly [path: string]: string } = {
  "topology": "64 lower-case hex digits",
  "router.unit": "name of a unit or job",
  "benchmarks.members[].health": "a path, as /health",
  ...Object.fromEntries(
    ["model.id", "model.revision", "model.quantization", "served_model", "engine", "engine_version"]
      .map((key) => [`benchmarks.members[].${key}`, "visible text"]),
  ),
};

/** Every operation an agent can have, as it tells of them itself. */
async function operations(): Promise<readonly OperationEntry[]> {
  const folder = await Deno.makeTempDir({ prefix: "anvil-reference-" });
  try {
    await using rig = await startAgentRig(folder, [], { roles: RESOURCE_ROLES });
    const { body } = await rig.get("/v1/operations");
    return body["operations"] as readonly OperationEntry[];
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The tables by their marker. */
async function tables(): Promise<ReadonlyMap<string, string>> {
  const schema = z.toJSONSchema(configShape, { io: "input" }) as Parameters<typeof configRows>[0];
  const keys = configRows(schema, MEANINGS).map(({ path, fallback, values, meaning }) => {
    const table = /^(router|serves|adopter|benchmarks\.router|benchmarks\.members\[\])\./.exec(path)
      ?.[1];
    const lacking = fallback === "required" && table !== undefined
      ? `required in \`[${table}]\``
      : fallback;
    return `| \`${path}\` | ${lacking} | ${VALUES[path] ?? values} | ${meaning} |`;
  });
  const rows = (await operations()).map(({ name, effect, destructive, roles, brief }) =>
    `| \`${name}\` | ${effect}${destructive ? ", confirm" : ""} | ${
      roles === null ? "all" : roles.join(", ")
    } | ${brief} |`
  );
  return new Map([
    [
      "config",
      `| Key | Default | Values | Meaning |\n| --- | --- | --- | --- |\n${keys.join("\n")}`,
    ],
    [
      "operations",
      `| Operation | Effect | Hosts | What |\n| --- | --- | --- | --- |\n${rows.join("\n")}`,
    ],
  ]);
}

/** `page` with its tables made anew, formatted. Throws when a marker is missing. */
export async function renderedAgent(page: string): Promise<string> {
  const text = [...await tables()].reduce(
    (text, [name, made]) => between(text, name, `${made}\n`),
    page,
  );
  return await formatted(text);
}

async function formatted(text: string): Promise<string> {
  const fmt = new Deno.Command(Deno.execPath(), {
    args: ["fmt", "--quiet", "--line-width=100", "--ext=md", "-"],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const writer = fmt.stdin.getWriter();
  await writer.write(new TextEncoder().encode(text));
  await writer.close();
  const { success, stdout } = await fmt.output();
  if (!success) throw new Error("the page cannot be formatted");
  return new TextDecoder().decode(stdout);
}

if (import.meta.main) {
  const page = await Deno.readTextFile(AGENT_PAGE);
  const wanted = await renderedAgent(page);
  if (page === wanted) console.log("docs/reference/agent.md is up to date");
  else if (Deno.args.includes("--check")) {
    console.error("docs/reference/agent.md is out of date; run scripts/agent_reference.ts");
    Deno.exit(1);
  } else {
    await Deno.writeTextFile(AGENT_PAGE, wanted);
    console.log("docs/reference/agent.md is written anew");
  }
}

/**
 * Writes the JSON Schemas of fleet/schemas/ from the shapes in the code, or with `--check` says which
 * of them are out of date and exits 1.
 *
 * @module
 */

import { SCHEMA_NAMES, schemaText } from "../roles/operator/schemas.ts";
import { schemaText as adopterSchemaText } from "../roles/adopter/commands/check.ts";
import { schemaText as agentSchemaText } from "../roles/agent/commands/schema.ts";
import { schemaText as receiverSchemaText } from "../roles/receiver/commands/schema.ts";
import {
  SCHEMA_NAMES as PUBLISHER_SCHEMA_NAMES,
  schemaText as publisherSchemaText,
} from "../roles/publisher/commands/schema.ts";
import { schemaText as routerSchemaText } from "../roles/router/commands/schema.ts";

/** Every schema by its path in the project. */
export function schemaFiles(): ReadonlyMap<string, string> {
  const path = (name: string) => `fleet/schemas/${name}.schema.json`;
  return new Map([
    ...SCHEMA_NAMES.map((name) => [path(name), schemaText(name)] as const),
    ...(["router", "clients"] as const).map((name) =>
      [path(name), routerSchemaText(name)] as const
    ),
    ...PUBLISHER_SCHEMA_NAMES.map((name) => [path(name), publisherSchemaText(name)] as const),
    [path("adopter"), adopterSchemaText("adopter")],
    [path("adopter-summary"), adopterSchemaText("summary")],
    [path("agent"), agentSchemaText("agent")],
    [path("agent-clients"), agentSchemaText("clients")],
    [path("receiver"), receiverSchemaText()],
  ]);
}

if (import.meta.main) {
  const root = new URL("../", import.meta.url);
  const check = Deno.args.includes("--check");
  const stale: string[] = [];
  await Deno.mkdir(new URL("fleet/schemas/", root), { recursive: true });
  for (const [path, text] of schemaFiles()) {
    const file = new URL(path, root);
    const written = await Deno.readTextFile(file).catch(() => null);
    if (written === text) continue;
    stale.push(path);
    if (!check) await Deno.writeTextFile(file, text);
  }
  if (stale.length > 0) console.log(`${check ? "out of date" : "written"}: ${stale.join(", ")}`);
  if (check && stale.length > 0) {
    console.error("run: deno run -A scripts/schemas.ts");
    Deno.exit(1);
  }
}

/**
 * Writes the commands of docs/reference/operator.md out of the program's own help.
 *
 *     deno run -A scripts/operator_reference.ts            writes the page
 *     deno run -A scripts/operator_reference.ts --check    writes nothing; exit 1 when it is out of date
 *
 * @module
 */

import {
  type Application,
  type CommandContext,
  generateHelpTextForAllCommands,
} from "@stricli/core";
import { operatorApp } from "../roles/operator/app.ts";
import { systemOperator } from "../roles/operator/operator.ts";
import { between } from "./reference.ts";

/** The page. */
export const PAGE = new URL("../docs/reference/operator.md", import.meta.url);

/** The page with its commands made anew. Throws when a marker is missing. */
export function rendered(page: string): string {
  // No command is called for its help, so none gets a context of another kind.
  const app = operatorApp(systemOperator(() => undefined)) as unknown as Application<
    CommandContext
  >;
  const commands = generateHelpTextForAllCommands(app)
    .map(([name, help]) =>
      `### \`${name.replace(/^anvil-operator /, "")}\`\n\n\`\`\`text\n${help.trim()}\n\`\`\`\n`
    );
  return between(page, "commands", commands.join("\n"));
}

if (import.meta.main) {
  const page = await Deno.readTextFile(PAGE);
  const wanted = rendered(page);
  if (page === wanted) console.log("docs/reference/operator.md is up to date");
  else if (Deno.args.includes("--check")) {
    console.error("docs/reference/operator.md is out of date; run scripts/operator_reference.ts");
    Deno.exit(1);
  } else {
    await Deno.writeTextFile(PAGE, wanted);
    console.log("docs/reference/operator.md is written anew");
  }
}

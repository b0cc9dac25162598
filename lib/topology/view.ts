/**
 * What a host installs: the canonical text, and two lines that say whose view it is.
 *
 * @module
 */

import { type Refusal, refuse } from "../core/refusal.ts";
import type { Fleet } from "./shape.ts";
import type { Runtime } from "./vocabulary.ts";

/** A derived text, or why there is none. */
export type View =
  | { readonly kind: "view"; readonly text: string }
  | Refusal<"host_unknown" | "already_a_view">;

/**
 * The view of `host`, whose commands run in `runtime`. `text` is the canonical topology that
 * `fleet` was read from: every byte of it stays, so comments and formatting travel too.
 */
export function viewText(text: string, fleet: Fleet, host: string, runtime: Runtime): View {
  if (fleet.command_host !== undefined || fleet.command_runtime !== undefined) {
    return refuse(
      "already_a_view",
      `this is the view of ${fleet.command_host}, expected the canonical topology`,
      "derive views from the reviewed file",
    );
  }
  if (!Object.hasOwn(fleet.hosts, host)) {
    return refuse("host_unknown", `no host of the fleet is called ${JSON.stringify(host)}`);
  }
  // Behind the leading comments, where an editor looks for its schema hint, and before any table.
  const start = /^(?:[ \t]*(?:#[^\n]*)?\n)*/.exec(text.replaceAll("\r\n", " \n"))?.[0].length ?? 0;
  const newline = text.includes("\r\n") ? "\r\n" : "\n";
  const lines = [`command_host = "${host}"`, `command_runtime = "${runtime}"`, ""].join(newline);
  return { kind: "view", text: text.slice(0, start) + lines + text.slice(start) };
}

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

/** The canonical text, parted where the lines of a view go. */
export interface ViewParts {
  readonly head: string;
  readonly tail: string;
  readonly newline: "\n" | "\r\n";
}

/**
 * The view of `host`, whose commands run in `runtime`. `text` is the canonical topology that
 * `fleet` was read from: every byte of it stays, so comments and formatting travel too.
 */
export function viewText(text: string, fleet: Fleet, host: string, runtime: Runtime): View {
  const refusal = noView(fleet, host);
  if (refusal !== null) return refusal;
  const parts = viewParts(text);
  return { kind: "view", text: viewHead(parts, host, runtime) + parts.tail };
}

/** Why there is no view of `host`; null when there is one. */
export function noView(
  fleet: Fleet,
  host: string,
): Refusal<"host_unknown" | "already_a_view"> | null {
  if (fleet.command_host !== undefined || fleet.command_runtime !== undefined) {
    return refuse(
      "already_a_view",
      `this is the view of ${fleet.command_host}, expected the canonical topology`,
      "derive views from the reviewed file",
    );
  }
  return Object.hasOwn(fleet.hosts, host)
    ? null
    : refuse("host_unknown", `no host of the fleet is called ${JSON.stringify(host)}`);
}

/** Parts it once, for views of many hosts. */
export function viewParts(text: string): ViewParts {
  // Behind the leading comments, where an editor looks for its schema hint, and before any table.
  const start = /^(?:[ \t]*(?:#[^\n]*)?\n)*/.exec(text.replaceAll("\r\n", " \n"))?.[0].length ?? 0;
  const newline = text.includes("\r\n") ? "\r\n" : "\n";
  return { head: text.slice(0, start), tail: text.slice(start), newline };
}

/** All of a view before the tail, which is the same in every view. */
export function viewHead({ head, newline }: ViewParts, host: string, runtime: Runtime): string {
  return head +
    [`command_host = "${host}"`, `command_runtime = "${runtime}"`, ""].join(newline);
}

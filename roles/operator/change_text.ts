/**
 * Changes of a host as people look at them: modes, promotions, configurations.
 *
 * @module
 */

import type { Outcome } from "../../lib/dispatch/outcome.ts";
import { type JsonObject, objectOf } from "../../lib/dispatch/reply.ts";
import { table } from "../../lib/terminal/table.ts";
import { runText } from "./serve_text.ts";
import { cellTold, harmless, objectsTold, textsTold } from "./told.ts";

/** How a change ended that came about. */
export function reachedText({ result, host, run, known }: Outcome): string {
  const told = objectOf(result) ?? {};
  const subject = `${cellTold(told, "subject")} on ${host}`;
  const text = told["change"] === null
    ? `${subject}: it is so already; nothing was done\n`
    : `${subject}: reached by ${cellTold(told, "change")}, ` +
      `${textsTold(told, "steps").length} steps\n`;
  return harmless(text + runText(run, known));
}

/** Where the receipt of a live run is. */
export function receiptText({ result }: Outcome): string {
  const receipt = objectOf(result)?.["receipt"];
  return typeof receipt === "string" ? `receipt ${receipt}\n` : "";
}

/** Modes and the newest change. */
export function modeText({ result }: Outcome): string {
  const told = objectOf(result) ?? {};
  const declared = objectsTold(told, "modes");
  const modes = declared.length === 0 ? "no modes are declared\n" : table(
    ["mode", "state", "serves", "running"],
    declared.map((one) => [
      cellTold(one, "mode"),
      cellTold(one, "state"),
      textsTold(one, "serves").join(", ") || "-",
      textsTold(one, "running").join(", ") || "-",
    ]),
  );
  const change = objectOf(told["change"]);
  return harmless(modes + (change === null ? "\nno change yet\n" : `\n${changeText(change)}`));
}

/** Changes, newest first: one line each, the newest in whole. */
export function changesText({ result }: Outcome): string {
  const [newest, ...older] = objectsTold(objectOf(result) ?? {}, "changes");
  if (newest === undefined) return "no change yet\n";
  const rows = older.map((one) => [
    ...["change", "kind", "subject", "state"].map((name) => cellTold(one, name)),
    cellTold(one, "trouble", cellTold(one, "why", "")),
  ]);
  return harmless(
    changeText(newest) +
      (rows.length === 0
        ? ""
        : `\nbefore that\n${table(["change", "kind", "subject", "state", "why"], rows)}`),
  );
}

function changeText(change: JsonObject): string {
  const lines = ["why", "trouble"].flatMap((name) =>
    typeof change[name] === "string" ? [`${name.padEnd(9)} ${change[name]}\n`] : []
  );
  const done = objectsTold(change, "done").map((one) => [
    ...["done", cellTold(one, "step"), cellTold(one, "observed")],
  ]);
  const left = textsTold(change, "left").map((step) => ["left", step, ""]);
  const next = change["state"] === "manual_recovery"
    ? `next      mend what stands against it, then promote resume ${cellTold(change, "change")}\n`
    : "";
  return `${cellTold(change, "change")}: ${cellTold(change, "kind")} ` +
    `${cellTold(change, "subject")}, ${cellTold(change, "state")}\n${lines.join("")}${next}` +
    table(["", "step", "observed"], [...done, ...left]);
}

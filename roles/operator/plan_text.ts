/**
 * Plans of agents as tables: what memory there is and what is left of it, which steps in which
 * order, what is closed, stopped and started.
 *
 * @module
 */

import type { Outcome } from "../../lib/dispatch/outcome.ts";
import { type JsonObject, objectOf } from "../../lib/dispatch/reply.ts";
import { table } from "../../lib/terminal/table.ts";
import { cellTold, harmless, objectsTold, objectTold, textsTold } from "./told.ts";

/** The plan of `serves.up` and `serves.adopt`. */
export function upPlanText({ result, host }: Outcome): string {
  const plan = objectOf(result) ?? {};
  return upText(plan, host) + endsText(plan);
}

/** The plan of `serves.down`. */
export function downPlanText({ result, host }: Outcome): string {
  const plan = objectOf(result) ?? {};
  return downText(plan, host) + endsText(plan);
}

/** The plan of `serves.restart`. */
export function restartPlanText({ result, host }: Outcome): string {
  const plan = objectOf(result) ?? {};
  return downText(objectTold(plan, "down"), host) + upText(objectTold(plan, "up"), host) +
    endsText(plan);
}

/** The plan of a mode, a promotion or a configuration. */
export function changePlanText({ result, host }: Outcome): string {
  const shown = objectOf(result) ?? {};
  const plan = objectTold(shown, "plan");
  const steps = objectsTold(plan, "steps");
  const words = textsTold(shown, "steps");
  const head = `${cellTold(plan, "kind")} ${cellTold(plan, "subject")} on ${host}`;
  if (words.length === 0) return harmless(`${head}: nothing is to be done\n${notesText(plan)}`);
  const touched = (["quiesce", "stop", "start", "write"] as const).flatMap((verb) => {
    const of = steps.filter((step) => step["do"] === verb);
    if (of.length === 0) return [];
    const what = verb === "write"
      ? "router.toml, and the router restarts"
      : of.map((step) => cellTold(step, verb === "quiesce" ? "tier" : "serve")).join(", ");
    return [[TOUCHES[verb], what]];
  });
  return harmless(
    `${head}: ${words.length} steps\n\n` +
      table(
        ["#", "step", "what"],
        words.map((text, at) => {
          const [verb = "", ...rest] = text.split(" ");
          return [String(at + 1), verb, rest.join(" ")];
        }),
      ) +
      `\n${touched.map(([name = "", what]) => `${name.padEnd(9)} ${what}\n`).join("")}` +
      endsText(shown) + notesText(plan) + ageText(shown) +
      `digest    ${cellTold(shown, "digest")}\n`,
  );
}

/** What `promotion.resume` would go on with. */
export function resumePlanText({ result, host }: Outcome): string {
  const plan = objectOf(result) ?? {};
  const state = cellTold(plan, "state");
  const how = state === "idle"
    ? "there is no such change"
    : !["forward", "back", "stuck"].includes(state)
    ? "it is over; there is nothing to go on with"
    : plan["abandon"] === true
    ? "end it as it stands; nothing more is done, and its tiers stay as they are"
    : "close the tiers it holds again, then go on with what is left";
  return harmless(
    `${cellTold(plan, "change")} on ${host} is at ${state}: ${how}\n${endsText(plan)}` +
      `steps     anvil-operator promote status --target host:${host}\n`,
  );
}

const TOUCHES = { quiesce: "closed", stop: "stopped", start: "started", write: "written" } as const;

/** What is measured there now, and would not be to its end. */
function endsText(plan: JsonObject): string {
  const id = plan["ends_benchmark"];
  return typeof id === "string"
    ? harmless(`ends      ${id}, which is being measured: it will be no evidence\n`)
    : "";
}

/** How old the measurement is by which somebody is promoted. */
function ageText({ evidence_age_days: days }: JsonObject): string {
  if (typeof days !== "number") return "";
  const age = days < 0
    ? "to come, by that host's clock"
    : days === 0
    ? "today"
    : `${days} ${days === 1 ? "day" : "days"} ago`;
  return `measured  ${age}\n`;
}

function notesText(plan: JsonObject): string {
  return textsTold(plan, "notes").map((note) => `note      ${note}\n`).join("");
}

function upText(plan: JsonObject, host: string): string {
  const serve = cellTold(plan, "serve");
  if (plan["action"] === "none") {
    const instance = objectTold(plan, "instance");
    return harmless(
      `${serve} on ${host}: runs already (pid ${cellTold(instance, "pid", "unknown")}, since ` +
        `${cellTold(instance, "started_at", "unknown")}); nothing is to be started\n`,
    );
  }
  const rows = objectsTold(objectTold(plan, "budget"), "rows");
  return `${serve} on ${host}: start, then wait for health and identity\n` +
    (rows.length === 0 ? "" : `\n${budgetTable(rows)}\n`);
}

/** One row per memory; numbers are MiB. */
export function budgetTable(rows: readonly JsonObject[]): string {
  const shares = (row: JsonObject, name: string) =>
    objectsTold(row, name).map((one) => `${cellTold(one, "label")} ${cellTold(one, "mib")}`)
      .join(", ") || "-";
  return table(
    ["memory", "room mib", "runs", "others", "starts", "left"],
    rows.map((row) => [
      cellTold(row, "place"),
      cellTold(row, "room_mib"),
      shares(row, "ours"),
      cellTold(row, "others_mib"),
      shares(row, "starting"),
      cellTold(row, "left_mib", "unknown"),
    ]),
  );
}

function downText(plan: JsonObject, host: string): string {
  const instance = objectTold(objectTold(plan, "state"), "instance");
  const about = `pid ${cellTold(instance, "pid", "unknown")}, ` +
    `${cellTold(instance, "resident_mib", "unknown")} MiB resident`;
  const how: Readonly<Record<string, string>> = {
    ask: `ask it to end (${about}), wait ${cellTold(plan, "grace_seconds")} s at most, ` +
      "prove it gone and its port free",
    kill: `kill it at once (${about}), prove it gone and its port free`,
    none: "does not run; nothing is to be stopped",
  };
  const action = cellTold(plan, "action");
  return harmless(`${cellTold(plan, "serve")} on ${host}: ${how[action] ?? action}\n`);
}

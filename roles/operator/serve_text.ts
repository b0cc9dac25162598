/**
 * Serves as people look at them.
 *
 * @module
 */

import type { Json } from "../../lib/core/canonical_json.ts";
import type { Outcome } from "../../lib/dispatch/outcome.ts";
import { type JsonObject, objectOf } from "../../lib/dispatch/reply.ts";
import { table } from "../../lib/terminal/table.ts";
import type { Dispatched } from "./dispatch.ts";
import { elapsedText } from "./run_view.ts";
import { cellTold, harmless, objectsTold, objectTold, textsTold } from "./told.ts";

/** One serve, or a host that told of none. */
type ServeRow = {
  readonly host: string;
  readonly outcome: string;
  readonly serve: JsonObject | null;
  readonly why: string;
};

/** Serves of many hosts as one table; a host that told of none says why in the last column. */
export function serveList({ outcomes, silent }: Dispatched): { text: string; data: Json } {
  const rows = outcomes.flatMap((outcome): ServeRow[] => {
    const serves = objectsTold(objectOf(outcome.result) ?? {}, "serves");
    if (outcome.kind === "done" && serves.length > 0) {
      return serves.map((serve) => ({
        host: outcome.host,
        outcome: "done",
        serve,
        why: why(serve),
      }));
    }
    const reason = outcome.kind === "done" ? "no serves are declared" : reasonOf(outcome);
    return [{ host: outcome.host, outcome: outcome.kind, serve: null, why: reason }];
  });
  const ended = silent.map((host) => ({
    ...{ host, outcome: "none", serve: null, why: "interrupted before it answered" },
  }));
  const all = [...rows, ...ended].sort(problemsFirst);
  return {
    data: all,
    text: table(
      ["host", "serve", "state", "runtime", "port", "tier", "mode", "model", "why"],
      all.map(({ host, outcome, serve, why }) =>
        serve === null ? [host, "-", outcome, "-", "-", "-", "-", "-", why] : [
          host,
          ...["name", "state", "runtime", "port", "tier", "mode", "model"]
            .map((name) => cellTold(serve, name)),
          why,
        ]
      ),
    ) + countsText(all),
  };
}

/** What needs a person first; then serves of one name beside each other, whatever their hosts. */
function problemsFirst(left: ServeRow, right: ServeRow): number {
  const key = ({ host, serve, outcome }: ServeRow) =>
    [
      serve === null && outcome !== "done" ? 0 : rankOf(serve),
      serve === null ? "" : cellTold(serve, "name"),
      host,
    ] as const;
  const [a, b] = [key(left), key(right)];
  const at = a.findIndex((part, index) => part !== b[index]);
  const [x, y] = [a[at] ?? 0, b[at] ?? 0];
  return x === y ? 0 : x < y ? -1 : 1;
}

const STATES = ["foreign", "unknown", "stopped", "stopping", "running"];

/** A host without serves comes last; a state that nobody knows is unknown. */
function rankOf(serve: JsonObject | null): number {
  if (serve === null) return STATES.length + 2;
  const at = STATES.indexOf(cellTold(serve, "state", "unknown"));
  return (at < 0 ? STATES.indexOf("unknown") : at) + 1;
}

/** Only where there is more than one row to count. */
function countsText(rows: readonly ServeRow[]): string {
  const serves = rows.flatMap(({ serve }) => serve === null ? [] : [serve]);
  if (rows.length < 2) return "";
  const states = STATES.map((state) => ({
    state,
    count: serves.filter((one) => cellTold(one, "state", "unknown") === state).length,
  })).filter(({ count }) => count > 0).map(({ state, count }) => `${count} ${state}`);
  const silent = rows.filter(({ serve, outcome }) => serve === null && outcome !== "done").length;
  const hosts = new Set(rows.map(({ host }) => host)).size;
  const mute = silent === 0 ? "" : `; of ${silent} nothing was told`;
  return `\n${serves.length} serves on ${hosts} hosts: ${states.join(", ") || "none"}${mute}\n`;
}

function reasonOf({ code, detail, kind }: Outcome): string {
  return code === "operation_unknown" ? "it serves no models" : `${code ?? kind}: ${detail}`;
}

/** Why a serve is not up, where there is more to say. */
function why(serve: JsonObject): string {
  if (typeof serve["why"] === "string") return serve["why"];
  const exit = objectOf(serve["exit"]);
  if (exit === null) return "";
  const memory = exit["out_of_memory"] === true ? ", out of memory" : "";
  return `ended with ${
    cellTold(exit, "signal", `code ${cellTold(exit, "code", "unknown")}`)
  }${memory}`;
}

/** One serve: declared, running, proven. */
export function serveSheet({ result }: Outcome): string {
  const told = objectOf(result) ?? {};
  const serve = objectTold(told, "serve");
  const state = objectTold(told, "state");
  const instance = objectTold(state, "instance");
  const proof = objectTold(told, "proof");
  const engine = objectTold(told, "engine");
  const rows: (readonly [string, string])[] = [
    ["serve", `${cellTold(serve, "name")} (${cellTold(serve, "capability")})`],
    ["model", `${cellTold(serve, "model")} @ ${cellTold(serve, "revision")}`],
    ["runs by", `${cellTold(serve, "runtime")}, ${cellTold(serve, "residency")}`],
    ["tier", `${cellTold(serve, "tier")}, mode ${cellTold(serve, "mode")}`],
    ["state", [cellTold(state, "state", "unknown"), why(state)].filter(Boolean).join(": ")],
    ["process", Object.keys(instance).length === 0 ? "-" : `pid ${cellTold(instance, "pid")}`],
    ["since", cellTold(instance, "started_at")],
    ["resident", `${cellTold(instance, "resident_mib")} MiB`],
    ["port", `${cellTold(serve, "port")}, ${proofText(proof)}`],
    ["engine", engineText(engine)],
  ];
  return harmless(rows.map(([name, value]) => `${name.padEnd(9)} ${value}\n`).join(""));
}

function proofText(proof: JsonObject): string {
  switch (proof["kind"]) {
    case "proven":
      return "owned by this process: proven";
    case "differs":
      return `expected ${cellTold(proof, "expected")}, observed ${cellTold(proof, "observed")}`;
    case "absent":
      return "owned by nobody";
    default:
      return `its owner is unknown: ${cellTold(proof, "why", "not told")}`;
  }
}

function engineText(engine: JsonObject): string {
  const kind = cellTold(engine, "kind", "not asked");
  const expected = engine["expected"] === undefined
    ? ""
    : `, expected ${cellTold(engine, "expected")}`;
  const observed = engine["observed"] === undefined
    ? ""
    : `, observed ${cellTold(engine, "observed")}`;
  return `${kind}${expected}${observed}`;
}

/** The last lines, and that there were more. */
export function logText({ result }: Outcome): string {
  const told = objectOf(result) ?? {};
  const more = told["truncated"] === true ? "… earlier lines are left out\n" : "";
  return harmless(more + textsTold(told, "lines").map((line) => `${line}\n`).join(""));
}

/** How a start or a stop ended. */
export function endedText({ result, host, run, known }: Outcome): string {
  const told = objectOf(result) ?? {};
  const observed = objectTold(told, "observed");
  const outcome = cellTold(told, "outcome");
  const took = observed["took_ms"] ?? observed["tookMs"];
  const after = typeof took === "number" ? ` after ${elapsedText(took)}` : "";
  const how = outcome === "down"
    ? `${after}: ${cellTold(observed, "processes")} processes are left, its port is ` +
      (observed["portFree"] === true ? "free" : "taken")
    : `${observed["already"] === true ? " already" : after}, pid ` +
      `${cellTold(observed, "pid", "unknown")}, its health and its identity are proven`;
  const text = `${cellTold(told, "serve")} on ${host}: ${outcome}${how}\n`;
  return harmless(text + runText(run, known));
}

/** Which run it was. */
export function runText(run: Json, known: boolean): string {
  const id = objectOf(run)?.["id"];
  if (typeof id !== "string") return "";
  return `run ${id}${known ? ", which an earlier call began" : ""}\n`;
}

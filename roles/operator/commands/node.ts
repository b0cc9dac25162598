/** `anvil-operator node ...`. @module */

import { buildCommand, buildRouteMap } from "@stricli/core";
import type { Json } from "../../../lib/core/canonical_json.ts";
import type { Ask } from "../../../lib/dispatch/ask.ts";
import type { Outcome } from "../../../lib/dispatch/outcome.ts";
import { objectOf } from "../../../lib/dispatch/reply.ts";
import type { ProgramContext } from "../../../lib/terminal/program.ts";
import { table } from "../../../lib/terminal/table.ts";
import type { Target } from "../../../lib/topology/resolve.ts";
import { ageText } from "../age.ts";
import { prepareDispatch, runDispatch } from "../dispatch.ts";
import { DISPATCH_FLAGS, type DispatchFlags, targetFlag } from "../dispatch_flags.ts";
import type { Operator } from "../operator.ts";
import { reportOutcomes, shownJson } from "../outcome_report.ts";
import { reportFailure } from "../report.ts";

/** The commands on nodes. */
export function nodeRoutes(operator: Operator) {
  return buildRouteMap({
    routes: {
      health: lookCommand(operator, {
        brief: "Say how the agents of hosts are",
        more: "Version, build, start, ledger and disk, as the agent itself says.",
        name: "health",
        ask: { kind: "health" },
        show: shownHealth,
      }),
      facts: lookCommand(operator, {
        brief: "Say what hosts see of themselves",
        more:
          "Memory, devices, pressure, disk, power, listening ports: each with its source and time.\n" +
          "A fact that could not be had says why; it is not zero.",
        name: "facts",
        ask: {
          ...{ kind: "call", name: "node.facts", input: {}, dryRun: false, confirm: false },
          key: "facts-are-a-read",
        },
        show: shownFacts,
      }),
    },
    docs: { brief: "Look at hosts through their agents" },
  });
}

interface Look {
  readonly brief: string;
  readonly more: string;
  readonly name: string;
  readonly ask: Ask;
  readonly show: (outcome: Outcome, alone: boolean, now: number) => string;
}

function lookCommand(operator: Operator, { brief, more, name, ask, show }: Look) {
  return buildCommand<DispatchFlags & { readonly target: Target }, [], ProgramContext>({
    parameters: { flags: { ...DISPATCH_FLAGS, target: targetFlag(operator) } },
    docs: {
      brief,
      fullDescription: `${more}\n\nExamples:\n  anvil-operator node ${name} --target host:gpu-a\n` +
        `  anvil-operator node ${name} --target all --json`,
    },
    async func(flags) {
      const ready = await prepareDispatch(operator, flags, flags.target);
      if (ready.kind !== "ready") return reportFailure(this, ready, flags.json);
      const dispatched = await runDispatch(this, operator, ready, flags, ask);
      const now = operator.ports.clock.now();
      reportOutcomes(this, dispatched, {
        ...flags,
        show: (outcome, alone) => show(outcome, alone, now),
      });
    },
  });
}

function shownHealth({ result, skewMs }: Outcome, alone: boolean, now: number): string {
  const health = objectOf(result) ?? {};
  const word = (value: Json | undefined) => typeof value === "string" ? value : "?";
  const ledger = objectOf(health["ledger"]) ?? {};
  const disk = objectOf(objectOf(health["disk"])?.["value"]) ?? {};
  const free = disk["available_bytes"];
  const rows: [string, string][] = [
    ["version", word(health["version"])],
    ["build", health["build_digest"] === null ? "from source" : word(health["build_digest"])],
    ["up", ageText(now - Date.parse(word(health["started_at"])))],
    ["runs", `${shownJson(ledger["runs"] ?? null, false)}`],
    ["running", `${shownJson(ledger["running"] ?? null, false)}`],
    ["free", typeof free === "number" ? `${Math.floor(free / 2 ** 30)} GiB` : "unknown"],
    ["clock", skewMs === null ? "unknown" : skewText(skewMs)],
  ];
  return alone
    ? rows.map(([name, value]) => `${name.padEnd(8)} ${value}\n`).join("")
    : rows.map(([name, value]) => `${name} ${value}`).join(", ");
}

/** A `date` header tells whole seconds, so less than two are none. */
export function skewText(skewMs: number): string {
  const seconds = Math.round(skewMs / 1000);
  if (Math.abs(seconds) < 2) return "as ours";
  return seconds > 0 ? `${seconds} s ahead of ours` : `${-seconds} s behind ours`;
}

function shownFacts({ result }: Outcome, alone: boolean, now: number): string {
  const facts = Object.entries(objectOf(result) ?? {}).map(([name, fact]) => ({
    ...{ name, ...objectOf(fact) },
  })) as { readonly name: string; readonly [key: string]: Json | undefined }[];
  const known = facts.filter(({ value }) => value !== null && value !== undefined);
  if (!alone) return `${known.length} of ${facts.length} facts known`;
  return table(
    ["fact", "value", "source", "age"],
    facts.map(({ name, value, source, at, why }) => [
      name,
      value === null || value === undefined
        ? `unknown: ${typeof why === "string" ? why : "it was not told why"}`
        : shownJson(value, false),
      typeof source === "string" ? source : "?",
      typeof at === "string" ? ageText(Math.max(0, now - Date.parse(at))) : "?",
    ]),
  );
}

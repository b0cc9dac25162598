/** `anvil-operator promote ...`. @module */

import { buildCommand, buildRouteMap } from "@stricli/core";
import type { Refusal } from "../../../lib/core/refusal.ts";
import { nameOf } from "../../../lib/evidence/document.ts";
import { type ProgramContext, reportRefusal } from "../../../lib/terminal/program.ts";
import {
  type DestructiveFlags,
  destructiveFlags,
  DRAIN_FLAG,
  lookFlags,
  yes,
} from "../change_flags.ts";
import { runChange } from "../change_run.ts";
import { changesText, reachedText } from "../change_text.ts";
import { documentName, EVIDENCE_DIR_FLAG, type EvidenceDir } from "../evidence/flags.ts";
import { findMeasured, shelfOf } from "../evidence/shelf.ts";
import type { WrongFile } from "../fleet_source.ts";
import { lookAtOne, type TargetFlags } from "../one_host.ts";
import { readText } from "../operation_input.ts";
import type { Operator } from "../operator.ts";
import { changePlanText, resumePlanText } from "../plan_text.ts";
import { reportFailure } from "../report.ts";
import { LIVE } from "./serves.ts";

/** The commands on promotions. */
export function promoteRoutes(operator: Operator) {
  return buildRouteMap({
    routes: {
      plan: planCommand(operator),
      apply: applyCommand(operator),
      resume: resumeCommand(operator),
      status: statusCommand(operator),
    },
    docs: { brief: "Give an alias another model, in one change that can be taken back" },
  });
}

interface Wish extends EvidenceDir {
  readonly config: string;
  readonly evidence: string;
  readonly drain: number;
}

const wishFlags = (operator: Operator) => ({
  evidence: {
    kind: "parsed",
    ...documentName(operator, "The measurement by which it is promoted: of that model, there"),
  },
  evidenceDir: EVIDENCE_DIR_FLAG,
  config: {
    kind: "parsed",
    parse: String,
    brief: "The whole router.toml in which the alias means what it shall mean",
    placeholder: "FILE",
  },
  drain: DRAIN_FLAG,
} as const);
const ALIAS = {
  kind: "tuple",
  parameters: [{ brief: "The model name clients send", parse: String, placeholder: "ALIAS" }],
} as const;

function planCommand(operator: Operator) {
  return buildCommand<TargetFlags & Wish, [string], ProgramContext>({
    parameters: { flags: { ...lookFlags(operator), ...wishFlags(operator) }, positional: ALIAS },
    docs: {
      brief: "Show the plan of a promotion with its digest; change nothing",
      fullDescription:
        "A promotion names evidence: a measurement of that model on that host, kept in the home. The\n" +
        "digest binds the plan to everything it was made from.\n\nExample:\n" +
        "  anvil-operator promote plan llm.primary --config router.next.toml \\\n" +
        "    --evidence ev-0f1e2d3c --target host:gpu-a",
    },
    async func(flags, alias) {
      const config = await readText(operator, "--config", flags.config);
      if (config.kind === "refused") return reportRefusal(this, config, flags.json, 2);
      const evidence = await evidenceOf(operator, flags);
      if ("kind" in evidence) return reportFailure(this, evidence, flags.json);
      const input = { alias, config: config.text, evidence, drain_seconds: flags.drain };
      const name = "promotion.plan";
      await lookAtOne(this, operator, flags, { name, input, show: changePlanText });
    },
  });
}

function applyCommand(operator: Operator) {
  return buildCommand<
    DestructiveFlags & Wish & { readonly plan: string },
    [string],
    ProgramContext
  >({
    parameters: {
      flags: {
        ...destructiveFlags(operator),
        ...wishFlags(operator),
        plan: {
          kind: "parsed",
          parse: digest,
          brief: "The digest of the plan that was looked at",
          placeholder: "HEX",
        },
      },
      positional: ALIAS,
    },
    docs: {
      brief: "Carry out a promotion that was planned and looked at",
      fullDescription:
        "Anything else than what the digest names is refused. Without --confirm the " +
        "plan is shown and nothing is done.\n\n" + LIVE + "\n\nExample:\n" +
        "  anvil-operator promote apply llm.primary --config router.next.toml \\\n" +
        "    --evidence ev-0f1e2d3c --plan 0f1e… --target host:gpu-a --confirm",
    },
    async func({ drain: drain_seconds, plan, ...flags }, alias) {
      const config = await readText(operator, "--config", flags.config);
      if (config.kind === "refused") return reportRefusal(this, config, flags.json, 2);
      const evidence = await evidenceOf(operator, flags);
      if ("kind" in evidence) return reportFailure(this, evidence, flags.json);
      await runChange(this, operator, flags, {
        name: "promotion.apply",
        input: { alias, config: config.text, evidence, drain_seconds, plan },
        destructive: true,
        plan: changePlanText,
        show: reachedText,
        more: "promote status",
      });
    },
  });
}

function resumeCommand(operator: Operator) {
  return buildCommand<DestructiveFlags & { readonly abandon: boolean }, [string], ProgramContext>({
    parameters: {
      flags: {
        ...destructiveFlags(operator),
        abandon: yes("End it as it stands: somebody has seen to it by hand"),
      },
      positional: {
        kind: "tuple",
        parameters: [{ brief: "As 000007-promote", parse: changeId, placeholder: "CHANGE" }],
      },
    },
    docs: {
      brief: "Go on with a change that is stuck or was interrupted, or end it as it stands",
      fullDescription:
        "Of whichever kind it is: mode, promotion or configuration. Tiers that are " +
        "held are closed again first.\n\n" + LIVE + "\n\nExample:\n" +
        "  anvil-operator promote resume 000007-promote --target host:gpu-a --confirm",
    },
    async func({ abandon, ...flags }, change) {
      await runChange(this, operator, flags, {
        name: "promotion.resume",
        input: { change, abandon },
        destructive: true,
        plan: resumePlanText,
        show: reachedText,
        more: "promote status",
      });
    },
  });
}

function statusCommand(operator: Operator) {
  return buildCommand<TargetFlags, [], ProgramContext>({
    parameters: { flags: lookFlags(operator) },
    docs: {
      brief: "Say what was changed on a host, what is left and what stands against it",
      fullDescription: "Example:\n  anvil-operator promote status --target host:gpu-a",
    },
    async func(flags) {
      const name = "promotion.status";
      await lookAtOne(this, operator, flags, { name, input: {}, show: changesText });
    },
  });
}

/** The document that is named, as the agent wants it: whole. */
async function evidenceOf(
  operator: Operator,
  flags: EvidenceDir & { readonly evidence: string; readonly home?: string },
): Promise<{ readonly id: string; readonly document: string } | WrongFile | Refusal> {
  const folder = shelfOf(operator, flags);
  if (typeof folder !== "string") return folder;
  const kept = await findMeasured(operator, folder, flags.evidence);
  if ("kind" in kept) return kept;
  return { id: nameOf(kept.document), document: new TextDecoder().decode(kept.bytes) };
}

function digest(text: string): string {
  if (!/^[0-9a-f]{64}$/.test(text)) throw new SyntaxError("expected 64 lower-case hex digits");
  return text;
}

function changeId(text: string): string {
  if (!/^\d{6}-[a-z]+$/.test(text)) throw new SyntaxError("expected a change, as 000007-promote");
  return text;
}

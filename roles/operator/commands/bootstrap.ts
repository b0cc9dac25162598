/** `anvil-operator bootstrap plan|apply|status|rollback`. @module */

import { buildCommand, buildRouteMap } from "@stricli/core";
import {
  type Plan,
  planSha256,
  planShape,
  refuseDrift,
  refuseUnauthorized,
} from "../../../lib/bootstrap/plan.ts";
import { type BootstrapReceipt, exitCodeOf } from "../../../lib/bootstrap/receipt.ts";
import { type Answer, operationIdShape } from "../../../lib/bootstrap/requests.ts";
import { canonicalJson, type Json } from "../../../lib/core/canonical_json.ts";
import { newId } from "../../../lib/core/ids.ts";
import { type Refusal, refuse } from "../../../lib/core/refusal.ts";
import { readJson } from "../../../lib/core/strict_json.ts";
import type { ProgramContext } from "../../../lib/terminal/program.ts";
import { type Applied, applyPlan, settleAnswering, toldBefore } from "../bootstrap/apply.ts";
import { giveUp } from "../bootstrap/go_back.ts";
import { BOOTSTRAP_SCOPE } from "../bootstrap/grants.ts";
import { refuseGiven } from "../bootstrap/given_file.ts";
import { refuseAgent } from "../bootstrap/judge_agent.ts";
import { receiptLines } from "../bootstrap/receipt_text.ts";
import { bootstrapFolder, keptReceipt, receiptPorts } from "../bootstrap/receipts.ts";
import {
  attemptPorts,
  type BootstrapFlags,
  type PlanFlags,
  reachHost,
  resolvePlan,
} from "../bootstrap/resolve_plan.ts";
import { DISPATCH_FLAGS, targetFlag } from "../dispatch_flags.ts";
import { BY_FLAG } from "../flags.ts";
import type { Operator } from "../operator.ts";
import { reportData, reportFailure } from "../report.ts";

const text = (brief: string, placeholder: string) =>
  ({ kind: "parsed", parse: String, brief, placeholder }) as const;
const digest = (brief: string) => ({ ...text(brief, "HEX"), parse: digestOf }) as const;
const flag = (brief: string) =>
  ({ kind: "boolean", default: false, withNegated: false, brief }) as const;

function hostFlags(operator: Operator) {
  return {
    ...DISPATCH_FLAGS,
    target: { ...targetFlag(operator), brief: "host:<id>, one" },
    key: text("The private key of the receiver's account", "FILE"),
    grants: {
      ...text("This operator's scopes (default: grants.toml in the home)", "FILE"),
      optional: true,
    },
    recoverViaSsh: flag("Go by the receiver when the agent is proven to be down"),
  } as const;
}

function planFlags(operator: Operator) {
  return {
    ...hostFlags(operator),
    bundle: text("The archive to install, as anvil-VERSION-PLATFORM.tar", "FILE"),
    receiverBuild: digest("The build digest the receiver must have"),
    expectCatalogue: digest("The catalogue digest the new agent must have"),
  } as const;
}

/** The commands of bootstrap. */
export function bootstrapRoutes(operator: Operator) {
  return buildRouteMap({
    routes: {
      plan: planCommand(operator),
      apply: applyCommand(operator),
      status: statusCommand(operator),
      rollback: rollbackCommand(operator),
    },
    docs: {
      brief: "Install the first agent of a declared host, through its receiver",
      fullDescription:
        `Needs ${BOOTSTRAP_SCOPE} for the host in grants.toml; apply and rollback\n` +
        "need the host's own bootstrap_authorized and --confirm besides.",
    },
  });
}

function planCommand(operator: Operator) {
  return buildCommand<PlanFlags, [], ProgramContext>({
    parameters: { flags: planFlags(operator) },
    docs: {
      brief: "Say what applying would do; changes nothing on the host",
      fullDescription:
        "Prints the plan as canonical JSON: keep it, it is what `apply --plan` takes. The same state\n" +
        "gives the same plan.",
    },
    async func(flags) {
      const reached = await reachHost(operator, flags);
      if (reached.kind !== "reached") return reportUnreached(this, reached, flags.json);
      const resolved = await resolvePlan(reached, operator, flags, null);
      if (resolved.kind === "refused") return reportFailure(this, resolved, flags.json);
      const { plan } = resolved;
      const data = { plan, plan_sha256: planSha256(operator.ports.sha256, plan) };
      reportData(this, data, () => `${canonicalJson(plan)}\n`, flags.json);
    },
  });
}

const ACCEPT_SECONDS = {
  ...text("How long an agent, or a receiver that went away, may take to answer", "S"),
  parse: secondsOf,
  default: "60",
} as const;

interface ApplyFlags extends PlanFlags {
  readonly plan: string;
  readonly confirm: boolean;
  readonly operation?: string;
  readonly acceptSeconds: number;
  readonly by?: string;
}

function applyCommand(operator: Operator) {
  return buildCommand<ApplyFlags, [], ProgramContext>({
    parameters: {
      flags: {
        ...planFlags(operator),
        plan: text("The plan that was looked at", "FILE"),
        confirm: flag("Do it"),
        operation: {
          ...text("Go on with an operation that was interrupted", "ID"),
          parse: operationOf,
          optional: true,
        },
        acceptSeconds: ACCEPT_SECONDS,
        by: BY_FLAG,
      },
    },
    docs: {
      brief: "Apply a plan, or roll back",
      fullDescription:
        "Resolves everything again and compares it with the plan before anything is staged. Ends\n" +
        "accepted (0), refused or rolled back (1), or (3) in manual recovery or open: the receiver went\n" +
        "away, and what it was asked for may have been executed. The receipt is kept in the home,\n" +
        "below bootstrap/receipts; --operation with its id goes on where it stands.",
    },
    async func(flags) {
      const planned = await readPlanFile(operator, flags.plan);
      if ("kind" in planned) return reportFailure(this, planned, flags.json);
      const kept = await keptOf(operator, flags);
      if (kept !== null && "kind" in kept) return reportFailure(this, kept, flags.json);
      const ask = {
        plan: planned,
        planDigest: planSha256(operator.ports.sha256, planned),
        operationId: flags.operation ?? newId("boot", operator.dispatch.random),
        by: flags.by ?? operator.by,
        kept,
      };
      const told = toldBefore(ask);
      if (told !== null) return reportApplied(this, told, flags.json);
      const reached = await reachHost(operator, flags);
      // Only what was begun here can be settled: there is a receipt before anything is sent.
      if (reached.kind === "answering" && kept !== null) {
        const ports = receiptPorts(operator, reached.folder);
        return reportApplied(this, await settleAnswering(ports, ask, reached.health), flags.json);
      }
      if (reached.kind !== "reached") return reportUnreached(this, reached, flags.json);
      const resolved = await resolvePlan(reached, operator, flags, flags.operation ?? null);
      if (resolved.kind === "refused") return reportFailure(this, resolved, flags.json);
      const refused = refuseDrift(planned, resolved.plan) ?? refuseUnauthorized(planned) ??
        (flags.confirm ? null : refuse(
          "confirm_required",
          "this installs software on another host",
          "look at the plan, then add --confirm",
        ));
      if (refused !== null) return reportFailure(this, refused, flags.json);
      const ports = attemptPorts(operator, reached, flags.acceptSeconds);
      const applied = await applyPlan(ports, { ...ask, bundle: resolved.bundle.bytes });
      reportApplied(this, applied, flags.json);
    },
  });
}

function reportApplied(context: ProgramContext, applied: Applied, json: boolean): void {
  if (applied.kind === "refused") return reportFailure(context, applied, json);
  const { receipt } = applied;
  reportData(
    context,
    { ...receipt } as Json,
    () => receiptLines(receipt),
    json,
    exitCodeOf(receipt),
  );
}

/** Why the receiver of a host is not asked. */
function reportUnreached(
  context: ProgramContext,
  reached: Exclude<Awaited<ReturnType<typeof reachHost>>, { kind: "reached" }>,
  json: boolean,
): void {
  const failure = reached.kind === "answering"
    ? refuseAgent({ kind: "answers", health: reached.health })
    : reached;
  if (failure !== null) reportFailure(context, failure, json);
}

function statusCommand(operator: Operator) {
  return buildCommand<BootstrapFlags & { readonly operation: string }, [], ProgramContext>({
    parameters: {
      flags: {
        ...hostFlags(operator),
        operation: { ...text("The operation", "ID"), parse: operationOf },
      },
    },
    docs: { brief: "Say where an operation stands, as the receiver tells it" },
    async func(flags) {
      const reached = await reachHost(operator, flags);
      if (reached.kind !== "reached") return reportUnreached(this, reached, flags.json);
      const operation_id = flags.operation;
      const answer = await reached.ask({ protocol: 1, verb: "status", operation_id });
      reportAnswer(this, answer, flags.json);
    },
  });
}

/** What a person may say went wrong. */
const REASONS = [
  "acceptance_failed",
  "activation_failed",
  "restart_failed",
  "restart_unknown",
  "may_have_executed",
] as const;

interface RollbackFlags extends BootstrapFlags {
  readonly operation: string;
  readonly confirm: boolean;
  readonly because: (typeof REASONS)[number];
  readonly acceptSeconds: number;
}

function rollbackCommand(operator: Operator) {
  return buildCommand<RollbackFlags, [], ProgramContext>({
    parameters: {
      flags: {
        ...hostFlags(operator),
        operation: { ...text("The operation", "ID"), parse: operationOf },
        confirm: flag("Do it"),
        because: {
          kind: "enum",
          values: REASONS,
          default: "acceptance_failed",
          brief: "What went wrong",
        },
        acceptSeconds: ACCEPT_SECONDS,
      },
    },
    docs: {
      brief: "Go back, once, to the generation that was current before an operation",
      fullDescription:
        "An attempted restore is not a success: the agent from before has to answer as that node and\n" +
        "build. Ends rolled back (0), refused (1), or (3) in manual recovery or open.",
    },
    async func(flags) {
      if (!flags.confirm) {
        const refused = refuse("confirm_required", "this changes another host", "add --confirm");
        return reportFailure(this, refused, flags.json);
      }
      const kept = await keptOf(operator, flags);
      if (kept !== null && "kind" in kept) return reportFailure(this, kept, flags.json);
      const reached = await reachHost(operator, flags);
      if (reached.kind !== "reached") return reportUnreached(this, reached, flags.json);
      const ports = attemptPorts(operator, reached, flags.acceptSeconds);
      const { operation: operationId, because } = flags;
      const given = await giveUp(ports, { operationId, node: reached.node, because, kept });
      if (given.kind === "refused") return reportFailure(this, given, flags.json);
      const { went: { end, error }, receipt } = given;
      const code = end === "rolled_back" ? 0 : end === "refused" ? 1 : 3;
      const data = { operation_id: operationId, end: end ?? "open", error, receipt };
      const lines = () =>
        receipt === null ? `${operationId}: ${end ?? "open"}, ${error}\n` : receiptLines(receipt);
      reportData(this, data as Json, lines, flags.json, code);
    },
  });
}

/** The receipt of the operation that is gone on with. */
async function keptOf(
  operator: Operator,
  { operation, home }: { readonly operation?: string; readonly home?: string },
): Promise<BootstrapReceipt | null | Refusal> {
  const at = home ?? operator.home;
  return operation === undefined || at === null
    ? null
    : await keptReceipt(operator, bootstrapFolder(at), operation);
}

function reportAnswer(context: ProgramContext, answer: Answer | Refusal, json: boolean): void {
  if (!("phase" in answer)) return reportFailure(context, answer, json);
  const { operation_id, phase, error, unfinished } = answer;
  const code = phase === "manual_recovery" ? 3 : answer.ok ? 0 : 1;
  const lines = () =>
    `${operation_id}: ${phase}${error === "none" ? "" : `, ${error}`}${
      unfinished ? ", unfinished" : ""
    }${answer.ok ? "" : `\nrefused: ${answer.code}`}\n`;
  reportData(context, { ...answer } as Json, lines, json, code);
}

async function readPlanFile({ ports }: Operator, path: string): Promise<Plan | Refusal> {
  const read = await ports.files.readBounded(path, 64 * 1024);
  if (read.kind === "absent") return refuse("file_absent", "there is no file where --plan points");
  if (read.kind === "refused") return refuseGiven("--plan", read);
  const json = readJson(read.bytes);
  const parsed = json.kind === "ok" ? planShape.safeParse(json.value) : null;
  return parsed?.data ?? refuse("plan_malformed", "the file holds no plan of this version");
}

function digestOf(value: string): string {
  if (!/^[0-9a-f]{64}$/.test(value)) throw new SyntaxError("expected 64 lower-case hex digits");
  return value;
}

function secondsOf(value: string): number {
  if (/^\d{1,4}$/.test(value)) return Number(value);
  throw new SyntaxError("expected whole seconds, at most 9999");
}

function operationOf(value: string): string {
  if (operationIdShape.safeParse(value).success) return value;
  throw new SyntaxError("expected an operation's id, as boot-… of a receipt");
}

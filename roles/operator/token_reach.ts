/**
 * Changes of tokens on hosts, one after the other: how far they reach is told first, and what is done
 * is remembered while hosts are left.
 *
 * @module
 */

import type { Json } from "../../lib/core/canonical_json.ts";
import { newToken } from "../../lib/credential/clients.ts";
import { MOST_AT_ONCE } from "../../lib/dispatch/fan_out.ts";
import { done, type Outcome } from "../../lib/dispatch/outcome.ts";
import type { PlannedHost } from "../../lib/dispatch/plan.ts";
import { objectOf } from "../../lib/dispatch/reply.ts";
import type { ProgramContext } from "../../lib/terminal/program.ts";
import { type Dispatched, type Ready, runVisits, visitorOf } from "./dispatch.ts";
import type { TargetFlags } from "./one_host.ts";
import type { Operator } from "./operator.ts";
import { type ReportAsk, reportOutcomes } from "./outcome_report.ts";
import { reportFailure } from "./report.ts";
import { openRotation, type Rotation } from "./rotation.ts";
import { changeToken, type TokenChange } from "./token_change.ts";
import { hashOf } from "./token_store.ts";
import { harmless } from "./told.ts";

/** Rotates host after host, and remembers whom it is done with when they are several. */
export async function rotateOver(
  context: ProgramContext,
  operator: Operator,
  ready: Ready,
  flags: TargetFlags & { readonly dryRun: boolean; readonly anew: boolean },
  changeOf: (name: string) => TokenChange,
): Promise<void> {
  const hosts = ready.plan.hosts.map(({ host }) => host);
  const { store } = ready;
  if (flags.dryRun || store === null || hosts.length === 1) {
    return await change(context, operator, ready, flags, changeOf);
  }
  const rotation = await openRotation(operator, store, hosts, flags.anew);
  if (rotation.kind === "refused") return reportFailure(context, rotation, flags.json);
  await using _held = rotation;
  if (rotation.resumedFrom !== null) {
    const left = hosts.filter((host) => rotation.doneAt(host) === null);
    context.terminal.err(
      `going on with the rotation of ${rotation.resumedFrom}: ${left.length} of ${hosts.length} ` +
        "hosts are left; --anew begins again\n",
    );
  }
  await change(context, operator, ready, flags, changeOf, rotation);
  const left = await rotation.end();
  if ("kind" in left) context.terminal.err(`${left.code}: ${left.detail}\n`);
  else if (left.length > 0) {
    const named = left.slice(0, 10).join(", ") + (left.length > 10 ? ", …" : "");
    context.terminal.err(
      `${left.length} hosts still have their old token: ${named}\n` +
        "  next: mend that, then give the same command again; it goes on with them alone\n",
    );
  }
}

/** Makes a token on each host of the plan, one after the other. */
export async function change(
  context: ProgramContext,
  operator: Operator,
  ready: Ready,
  flags: TargetFlags & { readonly dryRun: boolean },
  changeOf: (name: string) => TokenChange,
  rotation: Rotation | null = null,
): Promise<void> {
  const visitor = visitorOf(operator, ready, flags, () => {});
  const manner = { json: flags.json, atOnce: 1 };
  const plan = (host: PlannedHost, signal: AbortSignal) => {
    const over = rotation?.doneAt(host.host) ?? null;
    if (over !== null) return Promise.resolve(doneBefore(host, over));
    const change = changeOf(host.token);
    // A plan needs a hash; nobody will ever hold this one's token.
    const token = hashOf(operator, newToken(operator.dispatch.random));
    return visitor(host, {
      ...{ kind: "call", name: change.operation, dryRun: true, confirm: false, key: "" },
      input: { ...change.input, token },
    }, signal);
  };
  if (flags.dryRun) {
    const planned = await runVisits(context, operator, ready, manner, plan);
    return reportOutcomes(context, planned, { ...flags, ...SHOWN });
  }
  if (!flags.json) {
    const wide = { json: false, atOnce: MOST_AT_ONCE };
    const planned = await runVisits(context, operator, ready, wide, plan);
    context.terminal.err(harmless(reachText(planned)));
  }
  const dispatched = await runVisits(context, operator, ready, manner, async (host, signal) => {
    const over = rotation?.doneAt(host.host) ?? null;
    if (over !== null) return doneBefore(host, over);
    const outcome = await changeToken(operator, visitor, host, changeOf(host.token), signal);
    if (outcome?.kind !== "done" || rotation === null) return outcome;
    const unmarked = await rotation.mark(host.host);
    if (unmarked !== null) context.terminal.err(`${unmarked.code}: ${unmarked.detail}\n`);
    return outcome;
  });
  reportOutcomes(context, dispatched, { ...flags, ...SHOWN });
}

function doneBefore({ host }: PlannedHost, at: string): Outcome {
  return done(host, { rotated_at: at });
}

/** What ends with it, told before anything is made. */
function reachText({ outcomes }: Dispatched): string {
  return outcomes.map((one) => {
    const text = one.kind === "done" ? SHOWN.show(one, false) : `${one.kind}: ${one.code}`;
    return `plan for ${one.host}: ${text}\n`;
  }).join("");
}

/** How far a change of tokens reaches. */
export const SHOWN: Pick<ReportAsk, "show"> = {
  show: ({ result }: Outcome, alone: boolean) => {
    const told = objectOf(result) ?? {};
    const before = told["rotated_at"];
    if (typeof before === "string") return `rotated already at ${before}${alone ? "\n" : ""}`;
    if (told["absent"] === true) return `it has no such client or token${alone ? "\n" : ""}`;
    const effect = objectOf(told["effect"]) ?? told;
    const ended = Array.isArray(effect["ended"]) ? effect["ended"] : [];
    const ends = ended.map((one: Json) => {
      const { id, at } = objectOf(one) ?? {};
      return `${String(id)} ends ${String(at)}`;
    });
    const valid = Array.isArray(effect["valid"]) ? effect["valid"] : [];
    const parts = [
      `client ${String(effect["client"] ?? "?")}`,
      ...(told["saved_as"] === undefined ? [] : [`new token kept as ${String(told["saved_as"])}`]),
      ...(effect["added"] === null || effect["added"] === undefined
        ? []
        : [`${String(effect["added"])} ends ${String(effect["expires_at"] ?? "never")}`]),
      ...ends,
      `${valid.length} valid`,
    ];
    return alone ? `${parts.join("\n")}\n` : parts.join(", ");
  },
};

/**
 * Asked for again after some hosts were down, those that have it no more are as wanted. Where no host
 * has it, nobody ever had: that stays a refusal.
 */
export function withAbsent(dispatched: Dispatched): Dispatched {
  const isAbsent = ({ code }: Outcome) => code === "client_absent" || code === "token_absent";
  if (dispatched.outcomes.every(isAbsent)) return dispatched;
  const outcomes = dispatched.outcomes.map((one) =>
    isAbsent(one) ? done(one.host, { absent: true }, { health: one.health }) : one
  );
  return { ...dispatched, outcomes };
}

/** `anvil-operator config restore`. @module */

import { buildCommand } from "@stricli/core";
import { hex } from "../../../lib/core/ids.ts";
import type { Outcome } from "../../../lib/dispatch/outcome.ts";
import { objectOf } from "../../../lib/dispatch/reply.ts";
import type { ProgramContext } from "../../../lib/terminal/program.ts";
import { findSecretPlaces } from "../../../lib/topology/secret_places.ts";
import { type DestructiveFlags, destructiveFlags } from "../change_flags.ts";
import { type Change, runChange } from "../change_run.ts";
import { reachedText, receiptText } from "../change_text.ts";
import type { Ready } from "../dispatch.ts";
import { BY_FLAG } from "../flags.ts";
import { patchOver, receiptOf, type Standing } from "../install.ts";
import { knownTokens, readLive } from "../live_file.ts";
import { prepareOne } from "../one_host.ts";
import type { Operator } from "../operator.ts";
import { changePlanText } from "../plan_text.ts";
import { reportFailure } from "../report.ts";
import { cellTold, harmless } from "../told.ts";

interface RestoreFlags extends DestructiveFlags {
  readonly by?: string;
}

const FILE = "router.toml";

/** Has the router's host put back what its last change replaced. */
export function restoreCommand(operator: Operator) {
  return buildCommand<RestoreFlags, [], ProgramContext>({
    parameters: { flags: { ...destructiveFlags(operator), by: BY_FLAG } },
    docs: {
      brief: "Install the configuration that the last change replaced",
      fullDescription:
        "The patch and the receipt are kept in arrows/ of the home, as of an install: the receipt is\n" +
        "written before anything is sent, and nothing is sent without one. Restoring twice is going\n" +
        "back and forth, since a restore is a change too; to join a call whose answer was lost, give\n" +
        "its --key. Without --confirm the plan is shown and nothing is done.\n\nExample:\n" +
        "  anvil-operator config restore --target host:gpu-a --confirm",
    },
    async func(flags) {
      const ready = await prepareOne(operator, flags);
      if (ready.kind !== "ready") return reportFailure(this, ready, flags.json);
      const standing = await standingOf(this, operator, ready, flags);
      const known = await knownTokens(operator, ready.store);
      const isKnown = (value: string) => known.has(hex(operator.ports.sha256(value)));
      const host = ready.plan.hosts[0]?.host ?? "";
      /** The patch of a plan; null when one of both texts may not be kept or shown. */
      const patchOf = (text: string | null) =>
        text === null || findSecretPlaces(text, isKnown).length > 0
          ? null
          : patchOver(host, { name: FILE, text }, standing);
      let record: (Change["record"] & object) | null = null;
      await runChange(this, operator, flags, {
        name: "router.config-restore",
        input: {},
        destructive: true,
        plan: (outcome) => {
          const patch = patchOf(textIn(outcome));
          const from = cellTold(objectOf(outcome.result) ?? {}, "from");
          return harmless(patch === null ? "" : `${patch}\n`) + changePlanText(outcome) +
            harmless(`back      what ${from} replaced\n`);
        },
        show: (outcome) => reachedText(outcome) + receiptText(outcome),
        more: "promote status",
        record: {
          planned: true,
          before: async (planned) => {
            const text = textIn(planned);
            record = await receiptOf(operator, {
              ...{ home: flags.home, host, by: flags.by ?? operator.by, arrow: "restore" },
              wanted: { kind: "wanted", name: FILE, text, from: null },
              ...{ live: standing, patch: patchOf(text) },
              say: (words) => this.terminal.err(words),
            });
            return await record.before(planned);
          },
          after: (outcome) => record?.after(outcome) ?? Promise.resolve(outcome),
        },
      });
    },
  });
}

/** What is put back by a plan; null when nobody told. */
function textIn(planned: Outcome | null): string | null {
  const text = objectOf(planned?.result ?? null)?.["config"];
  return typeof text === "string" ? text : null;
}

/** What stands there. Whoever may restore and not read still may restore. */
async function standingOf(
  context: ProgramContext,
  operator: Operator,
  ready: Ready,
  flags: RestoreFlags,
): Promise<Standing> {
  const live = await readLive(context, operator, ready, flags, FILE);
  if (live.kind === "refused") return { kind: "unread", code: live.code };
  if (live.kind !== "fell") return live;
  const [outcome] = live.dispatched.outcomes;
  return { kind: "unread", code: outcome?.code ?? outcome?.kind ?? "interrupted" };
}

/** `anvil-operator config ...`: the configuration of one host. @module */

import { buildCommand, buildRouteMap } from "@stricli/core";
import { objectOf } from "../../../lib/dispatch/reply.ts";
import { type ProgramContext, reportRefusal } from "../../../lib/terminal/program.ts";
import { type Runtime, RUNTIMES } from "../../../lib/topology/vocabulary.ts";
import { type DestructiveFlags, destructiveFlags } from "../change_flags.ts";
import { type Change, runChange } from "../change_run.ts";
import { reachedText, receiptText } from "../change_text.ts";
import { BY_FLAG } from "../flags.ts";
import { isPath, patchOver, receiptOf, secretIn, type Wanted, wantedText } from "../install.ts";
import { LIVE_KINDS, readLive } from "../live_file.ts";
import { prepareOne } from "../one_host.ts";
import type { Operator } from "../operator.ts";
import { reportOutcomes } from "../outcome_report.ts";
import { changePlanText } from "../plan_text.ts";
import { reportFailure } from "../report.ts";
import { runText } from "../serve_text.ts";
import { cellTold, harmless, textsTold } from "../told.ts";
import { backupsCommand } from "./config_backups.ts";
import { restoreCommand } from "./config_restore.ts";
import { LIVE } from "./serves.ts";

/** The commands on configurations. */
export function configRoutes(operator: Operator) {
  return buildRouteMap({
    routes: {
      install: installCommand(operator),
      restore: restoreCommand(operator),
      backups: backupsCommand(operator),
    },
    docs: { brief: "Install configuration on a host, put the router's last one back, list copies" },
  });
}

const FILE = {
  kind: "tuple",
  parameters: [{
    brief: "router.toml, serves.toml or topology.toml of the live set; or the path of one",
    parse: String,
    placeholder: "FILE",
  }],
} as const;

interface InstallFlags extends DestructiveFlags {
  readonly expected?: string;
  readonly runtime?: Runtime;
  readonly by?: string;
}

function installCommand(operator: Operator) {
  return buildCommand<InstallFlags, [string], ProgramContext>({
    parameters: {
      flags: {
        ...destructiveFlags(operator),
        expected: {
          kind: "parsed",
          parse: digestOf,
          optional: true,
          brief:
            "SHA-256 of what must stand there, as the plan told it (default: what stands there)",
          placeholder: "HEX",
        },
        runtime: {
          kind: "enum",
          values: RUNTIMES,
          optional: true,
          brief: "Of the host's view of a topology (default: the host's own, else native)",
        },
        by: BY_FLAG,
      },
      positional: FILE,
    },
    docs: {
      brief: "Judge, copy aside, write; restart the router, and restore what does not run",
      fullDescription:
        "A bare name is the file that the home's live set declares for the host, a topology as that\n" +
        "host's view; a path, with a separator in it, is a file here. The node judges it, keeps a\n" +
        "dated copy of what stands there, and refuses when that is not what was looked at. A router\n" +
        "restarts with the new one, and gets the old one back when it does not run with it. The patch\n" +
        "and the receipt are kept in arrows/ of the home. Without --confirm the plan is shown and\n" +
        "nothing is done.\n\n" + LIVE + "\n\nExamples:\n" +
        "  anvil-operator config install router.toml --target host:gpu-a --confirm\n" +
        "  anvil-operator config install ./router.next.toml --target host:gpu-a",
    },
    async func(flags, file) {
      const { json } = flags;
      const ready = await prepareOne(operator, flags);
      if (ready.kind !== "ready") return reportFailure(this, ready, json);
      const host = ready.plan.hosts[0]?.host ?? "";
      const { home, runtime } = flags;
      const wanted = await wantedText(operator, { home, host, file, runtime });
      if (wanted.kind === "refused") return reportRefusal(this, wanted, json, isPath(file) ? 2 : 1);
      const secrets = await secretIn(operator, ready.store, wanted);
      if (secrets !== null) return reportFailure(this, secrets, json);
      const live = await readLive(this, operator, ready, flags, wanted.name);
      if (live.kind === "refused") return reportFailure(this, live, json);
      if (live.kind === "fell") {
        return reportOutcomes(this, live.dispatched, { ...flags, show: () => "" });
      }
      const standing = live.kind === "absent" ? null : live.sha256;
      const patch = patchOver(host, wanted, live);
      const record = await receiptOf(operator, {
        ...{ home, host, by: flags.by ?? operator.by, arrow: "install", wanted, live, patch },
        say: (text) => this.terminal.err(text),
      });
      const told = patch ??
        (live.kind === "withheld" ? `what stands there is not shown: ${live.code}\n` : "");
      const change = changeOf(wanted, flags.expected ?? standing);
      await runChange(this, operator, flags, {
        ...change,
        plan: (outcome) => `${harmless(told)}${told === "" ? "" : "\n"}${change.plan(outcome)}`,
        show: (outcome) => change.show(outcome) + receiptText(outcome),
        record,
      });
    },
  });
}

/** The operation that installs the file, and how it is told. */
function changeOf({ name, text }: Wanted, expected: string | null): Change {
  return name === "router.toml"
    ? {
      name: "router.config-install",
      input: { config: text, ...(expected === null ? {} : { expected }) },
      destructive: true,
      plan: changePlanText,
      show: reachedText,
      more: "promote status",
    }
    : {
      name: "config.install",
      input: { kind: LIVE_KINDS[name] ?? "", text, expected },
      destructive: true,
      plan: ({ result, host }) => {
        const plan = objectOf(result) ?? {};
        const notes = textsTold(plan, "notes").map((note) => `note      ${note}\n`).join("");
        return harmless(
          `install ${name} on ${host}\nfrom      ${cellTold(plan, "from", "no file")}\n` +
            `to        ${cellTold(plan, "to")}\n${notes}`,
        );
      },
      show: ({ result, host, run, known }) => {
        const told = objectOf(result) ?? {};
        const backup = told["backup"] === null ? "" : `kept aside ${cellTold(told, "backup")}\n`;
        const text = told["changed"] === false
          ? `${name} on ${host}: it stands there already; nothing was done\n`
          : `${name} on ${host}: installed\n${backup}`;
        return harmless(text + runText(run, known));
      },
      more: "fleet drift",
    };
}

function digestOf(text: string): string {
  if (!/^[0-9a-f]{64}$/.test(text)) throw new SyntaxError("expected 64 lower-case hex digits");
  return text;
}

/** `anvil-operator doctor`: the first checks. @module */

import { buildCommand } from "@stricli/core";
import { verifyGeneration } from "../../../lib/home/generation.ts";
import { git } from "../../../lib/home/git.ts";
import { readHistory } from "../../../lib/home/history.ts";
import { refuseGitTree } from "../../../lib/home/home_place.ts";
import { liveTopology, openHome } from "../../../lib/home/open_home.ts";
import type { ProgramContext } from "../../../lib/terminal/program.ts";
import { table } from "../../../lib/terminal/table.ts";
import { HOME_FLAG, JSON_FLAG } from "../flags.ts";
import type { Operator } from "../operator.ts";
import { reportData } from "../report.ts";

/** What one look gave. Unknown is not pass. */
type Look = {
  readonly check: string;
  readonly verdict: "pass" | "fail" | "unknown";
  readonly observed: string;
  readonly next: string | null;
};

/** How far a clock may be behind the last switch before it is said, in milliseconds. */
const SKEW_MS = 60_000;

/** Looks at everything the operator stands on. */
export function doctorCommand(operator: Operator) {
  return buildCommand<{ home?: string; json: boolean }, [], ProgramContext>({
    parameters: { flags: { home: HOME_FLAG, json: JSON_FLAG } },
    docs: {
      brief: "Look at what the operator stands on, and say what to mend",
      fullDescription:
        "git, the place of the home, `current`, every byte of the live set, its topology, the history,\n" +
        "the clock. Exits 1 when a check fails. An unknown is not a pass: it is printed, with why.",
    },
    async func({ home = operator.home ?? undefined, json }) {
      const looks = [
        await lookAtGit(operator),
        ...(home === undefined
          ? [look("home", "unknown", "no home is named", "name one with --home or ANVIL_HOME")]
          : await lookAtHome(operator, home)),
      ];
      const failed = looks.some(({ verdict }) => verdict === "fail");
      const text = () =>
        table(
          ["check", "verdict", "observed", "next"],
          looks.map((one) => [one.check, one.verdict, one.observed, one.next ?? ""]),
        );
      reportData(this, looks, text, json, failed ? 1 : 0);
    },
  });
}

async function lookAtGit({ ports }: Operator): Promise<Look> {
  const outcome = await git(ports, "/", ["--version"]);
  if (outcome.kind === "exited" && outcome.code === 0) {
    return look("git", "pass", new TextDecoder().decode(outcome.stdout).trim());
  }
  return outcome.kind === "refused"
    ? look("git", "fail", outcome.detail, outcome.nextStep)
    : look("git", "unknown", "git does not tell its version");
}

async function lookAtHome({ ports }: Operator, home: string): Promise<readonly Look[]> {
  const misplaced = await refuseGitTree(ports, home);
  const place = misplaced === null ? look("home's place", "pass", "outside every git tree") : look(
    "home's place",
    misplaced.code === "home_in_git_tree" ? "fail" : "unknown",
    misplaced.detail,
    misplaced.nextStep,
  );
  if (misplaced !== null) return [place];
  const live = await openHome(ports, home);
  if (live.kind === "refused") {
    const verdict = live.code === "home_empty" ? "unknown" : "fail";
    return [place, look("live set", verdict, live.detail, live.nextStep)];
  }
  const { digest, at } = live.current;
  const verified = await verifyGeneration(ports, home, digest);
  const bytes = "kind" in verified
    ? look("live set", "fail", verified.detail, verified.nextStep)
    : verified.differences.length === 0
    ? look(
      "live set",
      "pass",
      `${digest.slice(0, 12)}, ${live.receipt.files.length} files as exported`,
    )
    : look("live set", "fail", `${verified.differences.length} files differ`, "see `home verify`");
  const topology = await liveTopology(ports, home, live);
  const history = await readHistory(ports, home);
  const ahead = Date.parse(at) - ports.clock.now();
  return [
    place,
    bytes,
    "kind" in topology
      ? look("topology", "fail", topology.detail, topology.nextStep)
      : look("topology", "pass", `${Object.keys(topology.fleet.hosts).length} hosts`),
    "kind" in history
      ? look("history", "fail", history.detail, history.nextStep)
      : look("history", "pass", `${history.length} switches`),
    ahead > SKEW_MS
      ? look(
        "clock",
        "fail",
        `${Math.round(ahead / 1000)} s behind the last switch`,
        "set the clock",
      )
      : look("clock", "pass", "not behind the last switch"),
  ];
}

function look(check: string, verdict: Look["verdict"], observed: string, next?: string): Look {
  return { check, verdict, observed, next: next ?? null };
}

/**
 * The home and what is in it, without any network.
 *
 * @module
 */

import { readArrows } from "../../../lib/home/arrow.ts";
import { verifyGeneration } from "../../../lib/home/generation.ts";
import { git } from "../../../lib/home/git.ts";
import { readHistory } from "../../../lib/home/history.ts";
import { refuseGitTree } from "../../../lib/home/home_place.ts";
import { currentPath, historyPath } from "../../../lib/home/layout.ts";
import { type LiveSet, liveTopology, openHome } from "../../../lib/home/open_home.ts";
import { within } from "../../../lib/host/paths.ts";
import type { Fleet } from "../../../lib/topology/shape.ts";
import { ageText } from "../age.ts";
import type { Operator } from "../operator.ts";
import { ROTATION } from "../rotation.ts";
import { type Check, fail, gathered, type Look, pass, unknown } from "./look.ts";

/** How far a clock may be behind the last switch before it is said, in milliseconds. */
const SKEW_MS = 60_000;
const MOST_TOKENS = 10_000;
const MOST_FILE_BYTES = 64 * 1024 * 1024;

/** What is asked about the home. */
export interface HomeAsk {
  readonly home: string;
  readonly store: string;
  /** Other paths that are live: --ca, --topology. */
  readonly others: readonly string[];
  readonly repo: string | null;
  readonly rev: string;
}

/** What was found, and the fleet for further looks. */
export interface HomeLooks {
  readonly looks: readonly Look[];
  readonly fleet: Fleet | null;
  readonly live: LiveSet | null;
}

/** Checks that need a live set. */
const OF_LIVE: readonly Check[] = ["live_set", "topology", "history", "clock", "materialisation"];

/** Looks at everything in it. */
export async function lookAtHome(operator: Operator, ask: HomeAsk): Promise<HomeLooks> {
  const { ports } = operator;
  const { home } = ask;
  const looks: Look[] = [
    pass("home", home),
    ...await lookAtPaths(operator, ask),
    ...await lookAtFiles(operator, ask),
    ...await lookAtSecrets(operator, ask.store),
    ...await lookAtUnfinished(operator, ask),
  ];
  const live = await openHome(ports, home);
  if (live.kind === "refused") {
    const next = live.nextStep ?? "see `home status`";
    const nothing = live.code === "home_empty" || live.code === "home_in_git_tree";
    looks.push(
      ...OF_LIVE.map((check) =>
        nothing || check !== "live_set"
          ? unknown(check, "", live.detail, next)
          : fail(check, "", live.detail, next)
      ),
    );
    return { looks, fleet: null, live: null };
  }
  const topology = await liveTopology(ports, home, live);
  const history = await readHistory(ports, home);
  const ahead = Date.parse(live.current.at) - ports.clock.now();
  looks.push(
    await lookAtBytes(operator, home, live),
    "kind" in topology
      ? fail("topology", "", topology.detail, topology.nextStep ?? "see `topology validate`")
      : pass("topology", `${Object.keys(topology.fleet.hosts).length} hosts`),
    "kind" in history
      ? fail("history", "", history.detail, history.nextStep ?? "see the runbook")
      : pass("history", `${history.length} switches`),
    ahead > SKEW_MS
      ? fail("clock", "", `${Math.round(ahead / 1000)} s behind the last switch`, "set the clock")
      : pass("clock", "not behind the last switch"),
    await lookAtAge(operator, ask, live),
  );
  return { looks, live, fleet: "kind" in topology ? null : topology.fleet };
}

async function lookAtBytes(
  { ports }: Operator,
  home: string,
  { current: { digest }, receipt }: LiveSet,
): Promise<Look> {
  const verified = await verifyGeneration(ports, home, digest);
  if ("kind" in verified) {
    return fail("live_set", "", verified.detail, verified.nextStep ?? "see `home verify`");
  }
  const { differences } = verified;
  return differences.length === 0
    ? pass("live_set", `${digest.slice(0, 12)}, ${receipt.files.length} files as exported`)
    : fail("live_set", "", `${differences.length} files differ`, "see `home verify`");
}

async function lookAtPaths(
  { ports }: Operator,
  { home, store, others }: HomeAsk,
): Promise<readonly Look[]> {
  const troubles: Look[] = [];
  const paths = [...new Set([home, store, ...others])];
  for (const path of paths) {
    const misplaced = await refuseGitTree(ports, path);
    if (misplaced === null) continue;
    const next = misplaced.nextStep ?? "move it out of the tree";
    troubles.push(
      misplaced.code === "home_in_git_tree"
        ? fail("live_paths", path, "it is inside a git repository", next)
        : unknown("live_paths", path, misplaced.detail, next),
    );
  }
  return gathered("live_paths", troubles, `${paths.length} outside every git tree`);
}

async function lookAtFiles({ ports }: Operator, { home }: HomeAsk): Promise<readonly Look[]> {
  const paths = [currentPath(home), historyPath(home), within(home, "seen.json")];
  const troubles: Look[] = [];
  let read = 0;
  for (const path of paths) {
    const outcome = await ports.files.readBounded(path, MOST_FILE_BYTES);
    if (outcome.kind === "ok") read++;
    if (outcome.kind !== "refused") continue;
    troubles.push(fail("readable", path, outcome.detail, "see to owner and mode of it"));
  }
  const list = await ports.directories.list(home, MOST_TOKENS);
  if (list.kind === "refused") {
    troubles.push(fail("readable", home, list.detail, "see to owner and mode of the home"));
  }
  return gathered("readable", troubles, `${read} files`);
}

async function lookAtSecrets({ ports }: Operator, store: string): Promise<readonly Look[]> {
  const list = await ports.directories.list(store, MOST_TOKENS);
  if (list.kind === "absent") {
    return [unknown("secret_files", store, "there is no token store", "see the check `tokens`")];
  }
  if (list.kind === "refused") {
    return [fail("secret_files", store, list.detail, "see to owner and mode of the folder")];
  }
  const names = list.entries.flatMap(({ name, kind }) =>
    name.startsWith(".pending-") && kind === "directory"
      ? [`${name}/token`]
      : name.startsWith(".") && kind !== "directory"
      ? []
      : [name]
  );
  const troubles: Look[] = [];
  for (const name of names) {
    const path = within(store, name);
    const privacy = await ports.files.checkPrivate(path);
    if (privacy.kind === "refused") {
      const next = privacy.nextStep ?? "put a private file in its place";
      troubles.push(fail("secret_files", path, privacy.detail, next));
    } else if (privacy.kind === "unknown") {
      const next = "keep the store in your own profile folder";
      troubles.push(unknown("secret_files", path, privacy.detail, next));
    } else if (privacy.kind === "private") {
      const read = await ports.files.readBounded(path, 4096);
      if (read.kind === "refused") {
        troubles.push(fail("secret_files", path, read.detail, "see to the file"));
      }
    }
  }
  return gathered("secret_files", troubles, `${names.length} private files`);
}

async function lookAtUnfinished(
  operator: Operator,
  { home, store }: HomeAsk,
): Promise<readonly Look[]> {
  const { ports } = operator;
  const list = await ports.directories.list(store, MOST_TOKENS);
  const entries = list.kind === "ok" ? list.entries : [];
  const troubles = entries.flatMap(({ name, kind }) => {
    const [, token] = /^\.pending-(.+)$/.exec(name) ?? [];
    if (token !== undefined && kind === "directory") {
      return [
        fail(
          "unfinished",
          token,
          "a new token was made, and is not in its place",
          `go on: the same \`tokens rotate\` or \`tokens issue\` again`,
        ),
      ];
    }
    return name === ROTATION && kind === "directory"
      ? [fail("unfinished", "tokens", "a rotation over several hosts is not over", "tokens rotate")]
      : [];
  });
  for (const { arrow, folder } of await readArrows(ports, home)) {
    if (arrow.outcome !== "sent") continue;
    troubles.push(fail(
      "unfinished",
      arrow.host,
      `config ${arrow.arrow} of ${arrow.file} at ${arrow.at} was cut short`,
      `see what stands there: home adopt ${arrow.file}; then remove ${folder}`,
    ));
  }
  return gathered("unfinished", troubles, "nothing is");
}

async function lookAtAge(
  { ports }: Operator,
  { repo, rev }: HomeAsk,
  { receipt, current }: LiveSet,
): Promise<Look> {
  const age = ageText(Math.max(0, ports.clock.now() - Date.parse(current.at)));
  if (repo === null) {
    return unknown(
      "materialisation",
      "",
      `commit ${
        receipt.commit.slice(0, 12)
      }, live since ${age}; which repository it is from is not kept`,
      "name it with --repo",
    );
  }
  const args = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${rev}^{commit}`];
  const parsed = await git(ports, repo, args);
  const newest = parsed.kind === "exited" && parsed.code === 0
    ? new TextDecoder().decode(parsed.stdout).trim()
    : null;
  if (newest === null) {
    return unknown("materialisation", repo, `it does not tell what ${rev} is`, "see --repo, --rev");
  }
  if (newest === receipt.commit) return pass("materialisation", `${rev}, live since ${age}`);
  const behind = await git(ports, repo, ["rev-list", "--count", `${receipt.commit}..${newest}`]);
  const count = behind.kind === "exited" && behind.code === 0
    ? `${new TextDecoder().decode(behind.stdout).trim()} commits behind ${rev}`
    : `not a commit before ${rev}`;
  return fail(
    "materialisation",
    repo,
    `${receipt.commit.slice(0, 12)} is live since ${age}, ${count}`,
    `home diff shows what is live; home materialize --repo REPO --rev ${newest.slice(0, 12)}`,
  );
}

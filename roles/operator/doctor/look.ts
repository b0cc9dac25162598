/**
 * What one look gave, and how many of them are told. Neither unknown nor a warning is a pass.
 *
 * @module
 */

/** Every check, and what it looks at. */
export const CHECKS = {
  git: "git is there, and young enough",
  ssh: "the SSH client is there when a host is reached by SSH",
  known_host: "the host key that the topology names is one",
  program: "this program is no working tree that a branch switch changes",
  completion: "a completion script of this program is installed",
  disk_space: "the home's disk has room",
  home: "a home is known",
  live_paths: "no live path is inside a git tree",
  live_set: "every byte of the live set is as it was exported",
  topology: "the live topology is valid",
  history: "the history of the home can be read",
  readable: "every file of the home can be read",
  clock: "the clock is not behind the last switch",
  materialisation: "the live set is the newest reviewed commit",
  secret_files: "every secret is a private file of ours",
  unfinished: "nothing was left half done",
  tokens: "there is a token for every agent",
  agents: "every agent answers, and knows the token",
  clocks: "the clocks of the nodes are ours",
  versions: "the nodes speak our protocol, and run one version unless a rollout is under way",
  token_ends: "no token ends soon",
  certificates: "no certificate ends soon",
  publisher: "the publishers of the hosts answer",
} as const;

/** One of {@link CHECKS}. */
export type Check = keyof typeof CHECKS;

/** What was found. */
export interface Look {
  readonly check: Check;
  /** What it was found at: a host, a file; empty for the whole. */
  readonly subject: string;
  readonly verdict: "pass" | "warning" | "fail" | "unknown";
  readonly observed: string;
  /** What to do; null when nothing is to be done. */
  readonly next: string | null;
}

/** Rows of one check that are told; the rest is counted. */
const MOST_ROWS = 20;

/** It is as it should be. */
export function pass(check: Check, observed: string): Look {
  return { check, subject: "", verdict: "pass", observed, next: null };
}

/** It is not. */
export function fail(check: Check, subject: string, observed: string, next: string): Look {
  return { check, subject, verdict: "fail", observed, next };
}

/** It is not, and may well be meant so for a while: to be looked at, and no failure. */
export function warning(check: Check, subject: string, observed: string, next: string): Look {
  return { check, subject, verdict: "warning", observed, next };
}

/** Nobody knows, and why. */
export function unknown(check: Check, subject: string, observed: string, next: string): Look {
  return { check, subject, verdict: "unknown", observed, next };
}

/** The troubles of one check, bounded; one pass where there are none. */
export function gathered(check: Check, troubles: readonly Look[], well: string): readonly Look[] {
  if (troubles.length === 0) return [pass(check, well)];
  const worst = troubles.toSorted((one, other) => rank(one) - rank(other));
  const rest = worst.slice(MOST_ROWS);
  const [first] = rest;
  if (first === undefined) return worst;
  const more = `${rest.length} more, as ${
    rest.slice(0, 5).map(({ subject }) => subject).join(", ")
  }`;
  return [...worst.slice(0, MOST_ROWS), { ...first, subject: "", observed: more }];
}

function rank({ verdict }: Look): number {
  return ["fail", "warning", "unknown", "pass"].indexOf(verdict);
}

/** What the process exits with: a fail is 1; what is no pass is 1 as well when all must pass. */
export function exitOf(looks: readonly Look[], requireAll: boolean): 0 | 1 {
  const bad = looks.some(({ verdict }) => verdict === "fail" || (requireAll && verdict !== "pass"));
  return bad ? 1 : 0;
}

/**
 * What the home needs of the world, and how it says no.
 *
 * @module
 */

import type { Json } from "../core/canonical_json.ts";
import type { Clock } from "../core/clock.ts";
import type { Directories } from "../core/directories.ts";
import type { Files } from "../core/files.ts";
import type { Journal } from "../core/journal.ts";
import type { TryLock } from "../core/lock.ts";
import type { Problem } from "../core/problem.ts";
import type { RunProcess } from "../core/process.ts";
import { type Refusal, refuse } from "../core/refusal.ts";

/** An opened journal, or why there is none. */
export type JournalOutcome<Entry extends Json> =
  | { readonly kind: "open"; readonly journal: Journal<Entry> & AsyncDisposable }
  | { readonly kind: "busy" }
  | (Refusal<"journal_unavailable"> & { readonly cause: string });

/** The ports. */
export interface HomePorts {
  readonly files: Files;
  readonly directories: Directories;
  readonly tryLock: TryLock;
  readonly openJournal: <Entry extends Json>(
    path: string,
    decode: (value: Json) => Entry | null,
  ) => Promise<JournalOutcome<Entry>>;
  readonly run: RunProcess;
  readonly clock: Clock;
  readonly sha256: (data: Uint8Array | string) => Uint8Array;
  /** Where programs are looked for: git is the only one. */
  readonly searchPath: string;
}

/** Why something was not done to a home. */
export type HomeFault =
  | "git_absent" // no git, or it may not be run
  | "git_failed" // git said no in a way that has no name here
  | "repo_unknown" // not a git repository, or one that git does not trust
  | "repo_dirty" // the working tree differs from its commit
  | "rev_malformed" // nothing git could mean by that
  | "rev_dirty" // the name of a state that no commit holds
  | "commit_unknown" // no such commit
  | "path_unknown" // the commit has no such directory
  | "too_many_files"
  | "files_too_large"
  | "file_changed_while_read"
  | "home_in_git_tree" // a branch switch could change it
  | "home_busy" // another command changes it right now
  | "home_unusable" // not a directory, unreadable, unwritable
  | "home_no_space"
  | "home_empty" // nothing was materialised yet
  | "current_damaged" // the pointer is not what was written
  | "history_damaged"
  | "generation_unknown"
  | "generation_damaged" // a byte differs from the receipt
  | "nothing_to_roll_back_to";

/** A refusal of the home. */
export interface HomeRefusal extends Refusal<HomeFault> {
  /** For the log and for doctor: may hold a path. */
  readonly cause?: string;
}

/** A problem in one of several files. */
export interface FileProblem extends Problem {
  /** Its path in the set. */
  readonly file: string;
}

/** What is not as it must be, in the files themselves. */
export interface InvalidSet {
  readonly kind: "invalid";
  readonly problems: readonly FileProblem[];
}

/** Makes a {@link HomeRefusal}. */
export function homeRefusal(
  code: HomeFault,
  detail: string,
  more: { readonly nextStep?: string; readonly cause?: string } = {},
): HomeRefusal {
  const refusal = refuse(code, detail, more.nextStep);
  return more.cause === undefined ? refusal : { ...refusal, cause: more.cause };
}

/** What the file system's refusals mean for a home. */
export function ofDisk(
  refusal: Refusal & { readonly cause: string },
  doing: string,
): HomeRefusal {
  const full = refusal.code.endsWith("_no_space");
  return homeRefusal(
    full ? "home_no_space" : "home_unusable",
    full ? `the disk is full: could not ${doing}` : `could not ${doing}: ${refusal.detail}`,
    {
      nextStep: full ? "free space, then try again" : "check owner and permissions of the home",
      cause: `${refusal.code}: ${refusal.cause}`,
    },
  );
}

/**
 * What every operator command needs of the world, gathered once by `main.ts`.
 *
 * @module
 */

import { hex } from "../../lib/core/ids.ts";
import { systemClock } from "../../lib/host/clock.ts";
import { sha256 } from "../../lib/host/digest.ts";
import { systemDirectories } from "../../lib/host/directories.ts";
import { systemFiles } from "../../lib/host/files.ts";
import { openJournal } from "../../lib/host/journal.ts";
import { tryLock } from "../../lib/host/lock.ts";
import { within } from "../../lib/host/paths.ts";
import { runProcess } from "../../lib/host/process.ts";
import type { HomePorts } from "../../lib/home/ports.ts";
import { fingerprintText } from "../../lib/topology/fingerprint.ts";
import type { Fleet } from "../../lib/topology/shape.ts";

/** The environment variables that are looked at, and no others. */
export const VARIABLES = ["ANVIL_HOME", "HOME", "USERPROFILE", "PATH", "USER", "USERNAME"] as const;

/** Ports and defaults. */
export interface Operator {
  readonly ports: HomePorts;
  /** The home when no `--home` names one; null when the environment does not tell. */
  readonly home: string | null;
  /** Who gives the command, as the environment says. */
  readonly by: string;
}

/** Gathers them; `variable` reads one of {@link VARIABLES}. */
export function systemOperator(
  variable: (name: (typeof VARIABLES)[number]) => string | undefined,
): Operator {
  const userHome = variable("HOME") ?? variable("USERPROFILE");
  return {
    ports: {
      files: systemFiles,
      directories: systemDirectories,
      tryLock,
      openJournal,
      run: runProcess,
      clock: systemClock,
      sha256,
      searchPath: variable("PATH") ?? "/usr/local/bin:/usr/bin:/bin",
    },
    // Set and empty is as good as not set.
    home: variable("ANVIL_HOME") || (userHome === undefined ? null : within(userHome, ".anvil")),
    by: variable("USER") ?? variable("USERNAME") ?? "unknown",
  };
}

/** The fingerprint that plans are bound to: lower-case hex. */
export function fingerprintOf(fleet: Fleet): string {
  return hex(sha256(fingerprintText(fleet)));
}

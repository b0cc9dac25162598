/**
 * What every operator command needs of the world, gathered once by `main.ts`.
 *
 * @module
 */

import { hex, type RandomBytes } from "../../lib/core/ids.ts";
import { Secret } from "../../lib/core/secret.ts";
import { endShownAt, endsOf } from "../../lib/host/certificate_ends.ts";
import { systemClock } from "../../lib/host/clock.ts";
import { tcpDial } from "../../lib/host/dial.ts";
import { tlsDial } from "../../lib/host/dial_tls.ts";
import { sha256 } from "../../lib/host/digest.ts";
import { systemDirectories } from "../../lib/host/directories.ts";
import { freeBytes } from "../../lib/host/disk_space.ts";
import { systemFiles } from "../../lib/host/files.ts";
import { openJournal } from "../../lib/host/journal.ts";
import { tryLock } from "../../lib/host/lock.ts";
import { narrowToReading } from "../../lib/host/narrow.ts";
import { within } from "../../lib/host/paths.ts";
import { runProcess } from "../../lib/host/process.ts";
import { systemRandom } from "../../lib/host/random.ts";
import { onStopSignal } from "../../lib/host/signals.ts";
import { readStdin } from "../../lib/host/stdin.ts";
import type { HomePorts } from "../../lib/home/ports.ts";
import { http1Upstream } from "../../lib/relay/http1.ts";
import type { Upstream } from "../../lib/relay/upstream.ts";
import { fingerprintText } from "../../lib/topology/fingerprint.ts";
import type { Fleet } from "../../lib/topology/shape.ts";

/** The environment variables that are looked at, and no others. */
export const VARIABLES = [
  "ANVIL_HOME",
  "ANVIL_TOKEN",
  "HOME",
  "USERPROFILE",
  "PATH",
  "USER",
  "USERNAME",
] as const;

/** Ports and defaults. */
export interface Operator {
  readonly ports: HomePorts;
  /** The home when no `--home` names one; null when the environment does not tell. */
  readonly home: string | null;
  /** Who gives the command, as the environment says. */
  readonly by: string;
  readonly dispatch: DispatchPorts;
  /** Gives up writing, and starting programs: those named, or all of them. For the whole process. */
  readonly narrow: (without: readonly string[] | "all") => Promise<void>;
  readonly doctor: DoctorPorts;
}

/** What `doctor` looks through besides. */
export interface DoctorPorts {
  /** Where this program is. */
  readonly programFolder: string;
  /** Where shells look for a completion script of this program. */
  readonly completionFiles: readonly string[];
  readonly freeBytes: typeof freeBytes;
  readonly endsOf: typeof endsOf;
  readonly endShownAt: typeof endShownAt;
}

/** What asking agents needs besides. */
export interface DispatchPorts {
  readonly random: RandomBytes;
  /** Clients that know these authorities, PEM texts; one client per visit. */
  readonly open: (authorities: readonly string[]) => (scheme: "http" | "https") => Upstream;
  /** What `ANVIL_TOKEN` holds. */
  readonly environmentToken: Secret | null;
  /** Standard input to its end; null when it is longer. */
  readonly readStdin: (maxBytes: number) => Promise<Uint8Array | null>;
  /** Calls back at a stop signal; what it gives takes that back. */
  readonly onStop: (stop: () => void) => () => void;
}

/** Gathers them; `variable` reads one of {@link VARIABLES}. */
export function systemOperator(
  variable: (name: (typeof VARIABLES)[number]) => string | undefined,
): Operator {
  const token = variable("ANVIL_TOKEN");
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
    dispatch: {
      random: systemRandom,
      open: (authorities) => {
        const dials = { http: tcpDial, https: tlsDial(authorities) };
        return (scheme) => http1Upstream(dials[scheme], systemClock);
      },
      environmentToken: token === undefined || token === "" ? null : new Secret(token),
      readStdin,
      onStop: onStopSignal,
    },
    doctor: {
      programFolder: import.meta.dirname ?? ".",
      completionFiles: [
        ...(userHome === undefined ? [] : [
          within(userHome, ".local/share/bash-completion/completions/anvil-operator"),
          within(userHome, ".config/fish/completions/anvil-operator.fish"),
          within(userHome, ".zfunc/_anvil-operator"),
        ]),
        "/etc/bash_completion.d/anvil-operator",
        "/usr/share/bash-completion/completions/anvil-operator",
        "/usr/share/zsh/site-functions/_anvil-operator",
      ],
      freeBytes,
      endsOf,
      endShownAt,
    },
    narrow: narrowToReading,
  };
}

/** The fingerprint that plans are bound to: lower-case hex. */
export function fingerprintOf(fleet: Fleet): string {
  return hex(sha256(fingerprintText(fleet)));
}

/**
 * What the publisher needs of the world, and how it says no.
 *
 * @module
 */

import type { Clock } from "../../lib/core/clock.ts";
import type { Directories } from "../../lib/core/directories.ts";
import type { Download } from "../../lib/core/download.ts";
import type { Files } from "../../lib/core/files.ts";
import type { TryLock } from "../../lib/core/lock.ts";
import type { RunProcess } from "../../lib/core/process.ts";
import { type Refusal, refuse } from "../../lib/core/refusal.ts";

/** The ports. */
export interface PublisherPorts {
  readonly files: Files;
  readonly directories: Directories;
  readonly tryLock: TryLock;
  readonly clock: Clock;
  readonly sha256: (data: Uint8Array | string) => Uint8Array;
  readonly download: Download;
  readonly run: RunProcess;
  /** Said while something takes long. */
  readonly progress: (line: string) => void;
}

/** A refusal of the publisher. Its detail holds no path of this machine. */
export interface PublisherRefusal extends Refusal {
  /** For the log: may hold a path. */
  readonly cause?: string;
}

/** Makes a {@link PublisherRefusal}. */
export function no(code: string, detail: string, nextStep?: string): PublisherRefusal {
  return refuse(code, detail, nextStep);
}

/** What the file system's refusals mean for a publisher. */
export function ofDisk(
  refusal: Refusal & { readonly cause: string },
  doing: string,
): PublisherRefusal {
  const full = refusal.code.endsWith("_no_space");
  const said = full
    ? no("publisher_no_space", `the disk is full: could not ${doing}`, "free space, then try again")
    : no(
      "publisher_unusable",
      `could not ${doing}: ${refusal.detail}`,
      "check owner and permissions of the publisher's folders",
    );
  return { ...said, cause: `${refusal.code}: ${refusal.cause}` };
}

/** Milliseconds between two looks at a lock. */
const LOOK_MS = 50;

/** Does `act` under the lock at `path`; waits for it at most `waitMs`. */
export async function locked<Outcome>(
  { tryLock, clock }: Pick<PublisherPorts, "tryLock" | "clock">,
  path: string,
  waitMs: number,
  act: () => Promise<Outcome>,
): Promise<Outcome | PublisherRefusal> {
  const until = clock.monotonic() + waitMs;
  for (;;) {
    const lock = await tryLock(path);
    if (lock.kind === "refused") return ofDisk(lock, "lock the publisher's folder");
    if (lock.kind === "held") {
      await using _held = lock;
      return await act();
    }
    if (clock.monotonic() >= until) {
      return no("publisher_busy", "another publisher is at work here", "wait for it, try again");
    }
    await clock.sleep(LOOK_MS);
  }
}

/**
 * The lock port by flock (LockFileEx on Windows).
 *
 * @module
 */

import type { LockOutcome } from "../core/lock.ts";
import { refuse } from "../core/refusal.ts";
import { causeOf } from "./os_error.ts";

/** Tries once to lock the file at `path`. */
export async function tryLock(path: string): Promise<LockOutcome> {
  let file: Deno.FsFile | null = null;
  try {
    file = await Deno.open(path, { read: true, write: true, create: true, mode: 0o600 });
    // The name may have been moved away between open and lock: then we hold a lock nobody looks at.
    if (!await file.tryLock(true) || !await isStillAt(file, path)) {
      file.close();
      return { kind: "busy" };
    }
    return held(file);
  } catch (error) {
    file?.close();
    return {
      ...refuse("lock_unavailable", "the lock file cannot be opened"),
      cause: causeOf(error),
    };
  }
}

/** True when `path` names the file that is open as `file`. */
export async function isStillAt(file: Deno.FsFile, path: string): Promise<boolean> {
  const [ours, named] = await Promise.all([file.stat(), Deno.stat(path)]);
  return ours.ino === named.ino && ours.dev === named.dev;
}

function held(file: Deno.FsFile): LockOutcome {
  let open = true;
  const release = () => {
    if (open) file.close(); // closing the only descriptor lets go of the lock
    open = false;
    return Promise.resolve();
  };
  return { kind: "held", release, [Symbol.asyncDispose]: release };
}

/**
 * The owned-file port on the real file system.
 *
 * @module
 */

import type { OwnedFault, OwnedRead } from "../core/owned_file.ts";
import { refuse } from "../core/refusal.ts";
import { causeOf, isAbsent } from "./os_error.ts";

/** Needs `--allow-sys=uid` besides read permission. */
export async function readOwned(path: string, maxBytes: number): Promise<OwnedRead> {
  try {
    const named = await Deno.lstat(path);
    const unfit = refuseFacts(named, maxBytes);
    if (unfit !== null) return unfit;
    using file = await Deno.open(path, { read: true });
    // The name may lead elsewhere by now: what is open must be what was looked at.
    const open = await file.stat();
    const changed = refuseFacts(open, maxBytes);
    if (changed !== null) return changed;
    if (open.ino !== named.ino || open.dev !== named.dev) {
      return no("file_changed", "another file took its name while it was looked at");
    }
    const bytes = new Uint8Array(maxBytes + 1);
    let length = 0;
    for (;;) {
      const read = await file.read(bytes.subarray(length));
      if (read === null) return { kind: "ok", bytes: bytes.slice(0, length) };
      length += read;
      if (length > maxBytes) return no("file_too_large", `more than ${maxBytes} bytes`);
    }
  } catch (error) {
    return isAbsent(error)
      ? no("file_absent", "there is no such file", causeOf(error))
      : no("file_unreadable", "the operating system does not let us read it", causeOf(error));
  }
}

function refuseFacts(facts: Deno.FileInfo, maxBytes: number): OwnedRead | null {
  if (!facts.isFile) return no("file_not_regular", "expected a file, no link, directory or device");
  if (facts.size > maxBytes) return no("file_too_large", `more than ${maxBytes} bytes`);
  const self = Deno.uid();
  if (facts.mode === null || facts.uid === null || self === null) return null;
  if (facts.nlink !== null && facts.nlink !== 1) {
    return no("file_shared", `it has ${facts.nlink} names, expected one`);
  }
  if (facts.uid !== self) return no("file_not_owned", `owner uid ${facts.uid}, expected ${self}`);
  const mode = facts.mode & 0o7777;
  return mode === 0o600 || mode === 0o400
    ? null
    : no("file_not_private", `mode ${mode.toString(8).padStart(4, "0")}, expected 0600 or 0400`);
}

function no(code: OwnedFault, detail: string, cause: string = detail): OwnedRead {
  return { ...refuse(code, detail), cause };
}

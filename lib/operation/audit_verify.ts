/**
 * A look at a whole audit: every file from the oldest, to the first break.
 *
 * @module
 */

import { fileLines } from "../host/append_file.ts";
import { fullFiles } from "./audit_files.ts";
import { CHAIN_START, type ChainBreak, ChainCheck, recordOf } from "./audit_record.ts";

/** What was found. */
export type AuditVerdict =
  | {
    readonly kind: "whole";
    readonly records: number;
    readonly files: number;
    /** Seq of the oldest record that is there: 1, unless older files were let go on record. */
    readonly from: number;
    readonly hash: string;
    /** Whether the head that was noted is still in the chain; null when none was given. */
    readonly holdsNoted: boolean | null;
  }
  | ({ readonly kind: "broken"; readonly file: string } & ChainBreak);

/**
 * Reads the audit whose live file is at `path`. Older files may be missing only from the old end, and
 * only when a later record says that they were let go. Rejects when a file cannot be read.
 *
 * Records cut off at the new end leave a whole chain. `noted` is the hash of a head seen before: a
 * chain without it was cut behind it, or let it go with its oldest file.
 */
export async function verifyAudit(path: string, noted?: string): Promise<AuditVerdict> {
  const files = [...fullFiles(path), path];
  let check: ChainCheck | null = null;
  let before = { seq: 0, hash: CHAIN_START };
  let attested = true;
  let holdsNoted = noted === undefined ? null : noted === before.hash;
  for (const file of files) {
    check?.nextFile();
    for await (const { text, torn } of fileLines(file)) {
      if (check === null) {
        const head = recordOf(text);
        const seq = Number(head?.["seq"]);
        if (seq > 1) {
          before = { seq: seq - 1, hash: String(head?.["prev"]) };
          attested = false;
          if (holdsNoted !== null) holdsNoted = noted === before.hash;
        }
        check = ChainCheck.behind(before);
      }
      const found = torn ? check.torn() : check.take(text);
      if (found !== null) return { kind: "broken", file, ...found };
      if (check.end.hash === noted) holdsNoted = true;
      if (!attested) attested = attests(text, before.hash);
    }
  }
  if (!attested) {
    return { kind: "broken", file: files[0] ?? path, line: 1, code: "audit_chain_broken" };
  }
  const end = check?.end ?? before;
  return {
    kind: "whole",
    records: end.seq - before.seq,
    files: files.length,
    from: before.seq + 1,
    hash: end.hash,
    holdsNoted,
  };
}

function attests(text: string, hash: string): boolean {
  const record = recordOf(text);
  return record?.["phase"] === "pruned" && record["target_digest"] === hash;
}

/** `anvil-agent audit verify FILE`. @module */

import { buildCommand, buildRouteMap } from "@stricli/core";
import { refuse } from "../../../lib/core/refusal.ts";
import { type AuditVerdict, verifyAudit } from "../../../lib/operation/audit_verify.ts";
import { JSON_FLAG } from "../../../lib/terminal/json_flag.ts";
import {
  printEnvelope,
  type ProgramContext,
  reportRefusal,
} from "../../../lib/terminal/program.ts";

interface VerifyFlags {
  readonly json: boolean;
  readonly holds?: string;
}

function hash(text: string): string {
  if (/^[0-9a-f]{64}$/.test(text)) return text;
  throw new Error("expected 64 hex digits, as this command prints them as the head");
}

const verifyCommand = buildCommand<VerifyFlags, [string], ProgramContext>({
  parameters: {
    flags: {
      holds: {
        kind: "parsed",
        parse: hash,
        brief: "A head noted before: refuse a chain that does not hold it",
        placeholder: "HASH",
        optional: true,
      },
      json: JSON_FLAG,
    },
    positional: {
      kind: "tuple",
      parameters: [{ brief: "The audit file", parse: String, placeholder: "AUDIT_FILE" }],
    },
  },
  docs: {
    brief: "Check the chain of an audit, full files included; say where it breaks",
    fullDescription:
      "AUDIT_FILE is the live file; full ones beside it are read before it. Exit code 0: every record\n" +
      "is as it was written, in its order. 1: the first line that is not.\n" +
      "Records cut off at the end leave a whole chain: note the printed head somewhere else, and give\n" +
      "it with --holds the next time.\n\n" +
      "Examples:\n  anvil-agent audit verify /var/lib/anvil/agent/audit.jsonl\n" +
      '  anvil-agent audit verify --holds "$(cat head)" /var/lib/anvil/agent/audit.jsonl',
  },
  async func({ json, holds }, path) {
    let verdict: AuditVerdict;
    try {
      verdict = await verifyAudit(path, holds);
    } catch {
      const no = refuse("audit_unreadable", "the file cannot be read", "check its path and owner");
      return reportRefusal(this, no, json, 2);
    }
    if (verdict.kind === "whole" && verdict.holdsNoted === false) {
      const gone = verdict.from === 1
        ? "the chain is whole and ends before the head that was noted: newer records were cut off"
        : `the noted head is not in it: cut off, or let go before record ${verdict.from}`;
      return reportRefusal(
        this,
        refuse("audit_head_gone", gone, "keep the file; see the runbook"),
        json,
      );
    }
    if (verdict.kind === "whole") {
      const { records, files, from, hash } = verdict;
      if (json) {
        const data = { records, files, from, head: hash };
        printEnvelope(this, { ok: true, data, problems: [] });
      } else {
        const where = from === 1 ? "" : `, from ${from} on, older ones were let go on record`;
        this.terminal.out(
          `${path}: whole, ${records} records in ${files} files${where}, head ${hash}\n`,
        );
      }
      return;
    }
    const detail =
      `line ${verdict.line} of ${nameOf(verdict.file)} is the first that is not as it ` +
      "was written";
    reportRefusal(this, refuse(verdict.code, detail, "keep the file; see the runbook"), json);
  },
});

function nameOf(path: string): string {
  return path.split(/[/\\]/).at(-1) ?? path;
}

/** The commands on the audit. */
export const auditRoutes = buildRouteMap({
  routes: { verify: verifyCommand },
  docs: { brief: "Check what is on record" },
});

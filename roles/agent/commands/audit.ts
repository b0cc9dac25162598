/** `anvil-agent audit verify FILE`. @module */

import { buildCommand, buildRouteMap } from "@stricli/core";
import { refuse } from "../../../lib/core/refusal.ts";
import { verifyAudit } from "../../../lib/operation/audit.ts";
import type { AuditVerdict } from "../../../lib/operation/audit.ts";
import { JSON_FLAG } from "../../../lib/terminal/json_flag.ts";
import {
  printEnvelope,
  type ProgramContext,
  reportRefusal,
} from "../../../lib/terminal/program.ts";

const verifyCommand = buildCommand<{ json: boolean }, [string], ProgramContext>({
  parameters: {
    flags: { json: JSON_FLAG },
    positional: {
      kind: "tuple",
      parameters: [{ brief: "The audit file", parse: String, placeholder: "AUDIT_FILE" }],
    },
  },
  docs: {
    brief: "Check the chain of an audit file; say where it breaks",
    fullDescription:
      "Exit code 0: every record is as it was written, in its order. 1: the first line that is not.\n" +
      "Records cut off at the end leave no trace: compare the printed head with one noted before.\n\n" +
      "Example:\n  anvil-agent audit verify /var/lib/anvil/agent/audit.jsonl",
  },
  async func({ json }, path) {
    let verdict: AuditVerdict;
    try {
      verdict = await verifyAudit(path);
    } catch {
      const no = refuse("audit_unreadable", "the file cannot be read", "check its path and owner");
      return reportRefusal(this, no, json, 2);
    }
    if (verdict.kind === "whole") {
      const { records, hash } = verdict;
      if (json) printEnvelope(this, { ok: true, data: { records, head: hash }, problems: [] });
      else this.terminal.out(`${path}: whole, ${records} records, head ${hash}\n`);
      return;
    }
    const detail = `line ${verdict.line} is the first that is not as it was written`;
    reportRefusal(this, refuse(verdict.code, detail, "keep the file; see the runbook"), json);
  },
});

/** The commands on the audit. */
export const auditRoutes = buildRouteMap({
  routes: { verify: verifyCommand },
  docs: { brief: "Check what is on record" },
});

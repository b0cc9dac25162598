/** `anvil-operator evidence ...`. @module */

import { buildCommand, buildRouteMap } from "@stricli/core";
import { readTrust, type Trust } from "../../../lib/adoption/keys.ts";
import type { Json } from "../../../lib/core/canonical_json.ts";
import { type Refusal, refuse } from "../../../lib/core/refusal.ts";
import { conditionsText } from "../../../lib/evidence/conditions.ts";
import { nameOf } from "../../../lib/evidence/document.ts";
import { verifySignature } from "../../../lib/evidence/signature.ts";
import type { ProgramContext } from "../../../lib/terminal/program.ts";
import { table } from "../../../lib/terminal/table.ts";
import { documentName, EVIDENCE_FLAGS, type EvidenceFlags } from "../evidence/flags.ts";
import { findKept, type Kept, readShelf, recordsOf, shelfOf } from "../evidence/shelf.ts";
import { evidenceText, listText, parityText } from "../evidence/text.ts";
import type { Operator } from "../operator.ts";
import { reportData, reportFailure } from "../report.ts";
import { compareCommand, parityCommand } from "./evidence_compare.ts";
import { addCommand, fetchCommand, publishCommand, signCommand } from "./evidence_move.ts";

/** The commands on evidence. */
export function evidenceRoutes(operator: Operator) {
  return buildRouteMap({
    routes: {
      list: listCommand(operator),
      show: showCommand(operator),
      compare: compareCommand(operator),
      parity: parityCommand(operator),
      fetch: fetchCommand(operator),
      add: addCommand(operator),
      sign: signCommand(operator),
      publish: publishCommand(operator),
      verify: verifyCommand(operator),
    },
    docs: {
      brief: "Look at, compare and publish what was measured",
      fullDescription:
        "Evidence is a recorded measurement, named by the digest of its bytes. It routes nothing and\n" +
        "promotes nothing; a promotion names it. It is kept in the home, in evidence/, mode 0600.",
    },
  });
}

function listCommand(operator: Operator) {
  return buildCommand<EvidenceFlags, [], ProgramContext>({
    parameters: { flags: EVIDENCE_FLAGS },
    docs: {
      brief: "List what is kept, conditions in every row",
      fullDescription: "Exits 1 when a document is not what its name says.\n\n" +
        "Example:\n  anvil-operator evidence list",
    },
    async func(flags) {
      const folder = shelfOf(operator, flags);
      if (typeof folder !== "string") return reportFailure(this, folder, flags.json);
      const kept = await readShelf(operator, folder);
      if ("kind" in kept) return reportFailure(this, kept, flags.json);
      const sound = kept.every(({ document }) => document !== null);
      reportData(this, kept.map(keptData), () => listText(kept), flags.json, sound ? 0 : 1);
    },
  });
}

function keptData({ digest, document, problems, records, signature }: Kept): Json {
  const head = { digest, records, signed: signature !== null };
  if (document === null) return { ...head, problems: problems.map((one) => ({ ...one })) };
  const name = { ...head, name: nameOf(document), schema: document.body.schema };
  if (document.kind === "evidence") {
    const { subject, host, workload, measures, run, conditions } = document.body;
    return {
      ...name,
      ...{ subject: subject as Json, host: host as Json, workload: workload as Json },
      ...{ measures: measures as Json, run: run as Json, conditions: conditions as Json },
      conditions_text: conditionsText(document.body),
    };
  }
  const { left, right, verdict, summary } = document.body;
  return {
    ...{ ...name, verdict, summary: summary as Json },
    sides: [left, right].map((side): Json => ({
      ...{ evidence: side.evidence, engine: side.subject.engine, node: side.host.node },
      conditions_text: conditionsText(side),
    })),
  };
}

function showCommand(operator: Operator) {
  return buildCommand<EvidenceFlags, [string], ProgramContext>({
    parameters: {
      flags: EVIDENCE_FLAGS,
      positional: {
        kind: "tuple",
        parameters: [documentName(operator, "What to show, by name or first digits")],
      },
    },
    docs: {
      brief: "Show one measurement or parity whole",
      fullDescription: "Example:\n  anvil-operator evidence show ev-0f1e2d3c",
    },
    async func(flags, name) {
      const folder = shelfOf(operator, flags);
      if (typeof folder !== "string") return reportFailure(this, folder, flags.json);
      const kept = await findKept(operator, folder, name);
      if ("kind" in kept) return reportFailure(this, kept, flags.json);
      const { document } = kept;
      const text = () =>
        document.kind === "evidence"
          ? evidenceText(document.body, kept)
          : parityText(document.body, document.digest);
      reportData(this, { name: nameOf(document), body: document.body as Json }, text, flags.json);
    },
  });
}

interface VerifyFlags extends EvidenceFlags {
  readonly trust?: string;
}

type Verdict = {
  readonly name: string;
  readonly state: string;
  readonly detail: string;
  readonly sound: boolean;
};

function verifyCommand(operator: Operator) {
  return buildCommand<VerifyFlags, string[], ProgramContext>({
    parameters: {
      flags: {
        ...EVIDENCE_FLAGS,
        trust: {
          kind: "parsed",
          parse: String,
          optional: true,
          brief: "A trust file: then each document has to be signed by a key of it",
          placeholder: "FILE",
        },
      },
      positional: {
        kind: "array",
        parameter: documentName(operator, "What to verify (default: all that is kept)"),
      },
    },
    docs: {
      brief: "Compare documents, records and signatures with their digests",
      fullDescription: "Exits 1 when anything is wrong, and says what.\n\n" +
        "Examples:\n  anvil-operator evidence verify\n" +
        "  anvil-operator evidence verify ev-0f1e2d3c --trust trust.json",
    },
    async func(flags, ...names) {
      const folder = shelfOf(operator, flags);
      if (typeof folder !== "string") return reportFailure(this, folder, flags.json);
      const trust = flags.trust === undefined ? null : await trustOf(operator, flags.trust);
      if (trust !== null && "kind" in trust) return reportFailure(this, trust, flags.json);
      const kept: Kept[] = [];
      if (names.length === 0) {
        const all = await readShelf(operator, folder);
        if ("kind" in all) return reportFailure(this, all, flags.json);
        kept.push(...all);
      }
      for (const name of names) {
        const one = await findKept(operator, folder, name);
        if ("kind" in one) return reportFailure(this, one, flags.json);
        kept.push(one);
      }
      const verdicts: Verdict[] = [];
      for (const one of kept) verdicts.push(await verdictOf(operator, folder, one, trust));
      const text = () =>
        verdicts.length === 0 ? "no evidence is kept here\n" : table(
          ["evidence", "state", ""],
          verdicts.map(({ name, state, detail }) => [name.slice(0, 15), state, detail]),
        );
      const sound = verdicts.every((one) => one.sound);
      reportData(this, verdicts, text, flags.json, sound ? 0 : 1);
    },
  });
}

async function verdictOf(
  operator: Operator,
  folder: string,
  kept: Kept,
  trust: Trust | null,
): Promise<Verdict> {
  const { document } = kept;
  if (document === null) {
    const [first] = kept.problems;
    const detail = `${first?.path ?? "$"}: ${first?.message ?? "not readable"}`;
    return { name: kept.digest, state: first?.code ?? "evidence_damaged", detail, sound: false };
  }
  const name = nameOf(document);
  const records = await recordsOf(operator, folder, { ...kept, document });
  if (records !== null && "kind" in records) {
    const [code, detail] = records.kind === "refused"
      ? [records.code, records.detail]
      : [records.problems[0]?.code ?? "records_damaged", records.problems[0]?.message ?? ""];
    return { name, state: code, detail, sound: false };
  }
  const answers = records === null ? "no records" : `${records.length} records`;
  if (trust === null) {
    const signed = kept.signature === null ? "not signed" : "signed, not checked without --trust";
    return { name, state: "sound", detail: `${answers}; ${signed}`, sound: true };
  }
  if (kept.signature === null) {
    return { name, state: "signature_missing", detail: "nobody signed it", sound: false };
  }
  const now = operator.ports.clock.now();
  const verified = await verifySignature(kept.bytes, kept.signature, trust, now);
  return verified.kind === "refused"
    ? { name, state: verified.code, detail: verified.detail, sound: false }
    : {
      name,
      state: "sound",
      detail: `${answers}; signed by ${verified.by.join(", ")}`,
      sound: true,
    };
}

async function trustOf({ ports }: Operator, path: string): Promise<Trust | Refusal> {
  const read = await ports.files.readBounded(path, 64 * 1024);
  if (read.kind === "absent") return refuse("file_absent", "--trust: there is no such file");
  if (read.kind === "refused") return refuse(read.code, `--trust: ${read.detail}`);
  const trust = await readTrust(read.bytes);
  return trust.kind === "ok" ? trust.trust : trust;
}

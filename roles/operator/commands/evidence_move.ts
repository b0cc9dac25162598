/** `anvil-operator evidence fetch|add|publish`. @module */

import { buildCommand } from "@stricli/core";
import type { SigningKey } from "../../../lib/adoption/envelope_sign.ts";
import { MOST_KEY_BYTES, readKeyFile } from "../../../lib/adoption/key_file.ts";
import type { Json } from "../../../lib/core/canonical_json.ts";
import { type Refusal, refuse } from "../../../lib/core/refusal.ts";
import { MOST_DOCUMENT_BYTES, nameOf, readDocument } from "../../../lib/evidence/document.ts";
import { MOST_RECORDS_BYTES, readRecords } from "../../../lib/evidence/record.ts";
import { MOST_SIGNATURE_BYTES, signEvidence } from "../../../lib/evidence/signature.ts";
import { objectOf } from "../../../lib/dispatch/reply.ts";
import type { Outcome } from "../../../lib/dispatch/outcome.ts";
import { printEnvelope, type ProgramContext } from "../../../lib/terminal/program.ts";
import { runVisits, visitorOf } from "../dispatch.ts";
import { DISPATCH_FLAGS, targetFlag } from "../dispatch_flags.ts";
import { fetchEvidence } from "../evidence/fetch.ts";
import {
  documentName,
  EVIDENCE_DIR_FLAG,
  EVIDENCE_FLAGS,
  type EvidenceFlags,
} from "../evidence/flags.ts";
import { publish, type Unpublished } from "../evidence/publish.ts";
import { findKept, keep, readShelf, shelfOf, type Sound } from "../evidence/shelf.ts";
import { prepareOne, type TargetFlags } from "../one_host.ts";
import type { Operator } from "../operator.ts";
import { reportOutcomes } from "../outcome_report.ts";
import { reportData, reportFailure } from "../report.ts";
import { harmless } from "../told.ts";

interface FetchFlags extends TargetFlags {
  readonly evidenceDir?: string;
  readonly id: string;
}

/** `evidence fetch`. */
export function fetchCommand(operator: Operator) {
  return buildCommand<FetchFlags, [], ProgramContext>({
    parameters: {
      flags: {
        ...DISPATCH_FLAGS,
        target: targetFlag(operator),
        evidenceDir: EVIDENCE_DIR_FLAG,
        id: {
          kind: "parsed",
          parse: runId,
          brief: "The run, as benchmarks.run and benchmarks.status name it",
          placeholder: "RUN",
        },
      },
    },
    docs: {
      brief: "Take over what a benchmark of a node measured, with its answers",
      fullDescription:
        "Kept only when it is what its digests say and of the node that was asked. The same again\n" +
        "changes nothing.\n\n" +
        "Example:\n  anvil-operator evidence fetch --target host:gpu-a --id bench-…",
    },
    async func(flags) {
      const folder = shelfOf(operator, flags);
      if (typeof folder !== "string") return reportFailure(this, folder, flags.json);
      const ready = await prepareOne(operator, flags);
      if (ready.kind !== "ready") return reportFailure(this, ready, flags.json);
      const visitor = visitorOf(operator, ready, flags, () => {});
      const dispatched = await runVisits(
        this,
        operator,
        ready,
        { json: flags.json, atOnce: 1 },
        (host, signal) =>
          fetchEvidence(operator, folder, host, flags.id, (ask) => visitor(host, ask, signal)),
      );
      reportOutcomes(this, dispatched, { ...flags, show: fetched });
    },
  });
}

function fetched({ result }: Outcome): string {
  const { id, kept, records } = objectOf(result) ?? {};
  const state = kept === true ? "kept" : "is kept already";
  return `${id} ${state}; records: ${String(records).replaceAll("_", " ")}\n`;
}

function runId(text: string): string {
  if (!/^[^\p{C}]{1,128}$/u.test(text)) throw new SyntaxError("expected the id of a run");
  return text;
}

interface AddFlags extends EvidenceFlags {
  readonly records?: string;
  readonly signature?: string;
}

const file = (brief: string) =>
  ({ kind: "parsed", parse: String, optional: true, brief, placeholder: "FILE" }) as const;

/** `evidence add`. */
export function addCommand(operator: Operator) {
  return buildCommand<AddFlags, [string], ProgramContext>({
    parameters: {
      flags: {
        ...EVIDENCE_FLAGS,
        records: file("Its answers, as .records.jsonl"),
        signature: file("Signatures over it, as .sig.json"),
      },
      positional: {
        kind: "tuple",
        parameters: [{ brief: "A document", parse: String, placeholder: "FILE" }],
      },
    },
    docs: {
      brief: "Keep a document that came as a file",
      fullDescription: "It is read strictly, and kept under the digest of its bytes.\n\n" +
        "Example:\n  anvil-operator evidence add measured.json --records measured.records.jsonl",
    },
    async func(flags, path) {
      const folder = shelfOf(operator, flags);
      if (typeof folder !== "string") return reportFailure(this, folder, flags.json);
      const bytes = await bytesOf(operator, "FILE", path, MOST_DOCUMENT_BYTES);
      if ("kind" in bytes) return reportFailure(this, bytes, flags.json);
      const named = async (flag: string, one: string | undefined, most: number) =>
        one === undefined ? null : await bytesOf(operator, flag, one, most);
      const records = await named("--records", flags.records, MOST_RECORDS_BYTES);
      const signature = await named("--signature", flags.signature, MOST_SIGNATURE_BYTES);
      if (records !== null && "kind" in records) return reportFailure(this, records, flags.json);
      if (signature !== null && "kind" in signature) {
        return reportFailure(this, signature, flags.json);
      }
      const read = await readDocument(bytes, undefined, signature);
      if (read.kind === "invalid") return reportFailure(this, { ...read, file: path }, flags.json);
      const document = read.model;
      if (signature !== null && document.signed.length === 0) {
        return reportFailure(this, OF_OTHER, flags.json);
      }
      if (records !== null) {
        const expected = document.kind === "evidence" ? document.body.records?.digest : undefined;
        const found = await readRecords(records, expected ?? "none");
        if (found.kind === "invalid") {
          const wrong = { ...found, file: flags.records ?? path };
          return reportFailure(this, wrong, flags.json);
        }
      }
      const kept = await keep(operator, folder, {
        ...{ digest: document.digest, bytes, records, signature },
      });
      if (typeof kept !== "string") return reportFailure(this, kept, flags.json);
      const name = nameOf(document);
      const text = () => `${name} ${kept === "kept" ? "kept" : "is kept already"}\n`;
      reportData(this, { name, kept: kept === "kept" }, text, flags.json);
    },
  });
}

interface SignFlags extends EvidenceFlags {
  readonly key: string;
}

/** `evidence sign`. */
export function signCommand(operator: Operator) {
  return buildCommand<SignFlags, [string], ProgramContext>({
    parameters: {
      flags: {
        ...EVIDENCE_FLAGS,
        key: {
          kind: "parsed",
          parse: String,
          brief: "A key file, mode 0600, as `anvil-publisher keys init` makes it",
          placeholder: "FILE",
        },
      },
      positional: { kind: "tuple", parameters: [documentName(operator, "What to sign")] },
    },
    docs: {
      brief: "Vouch for a document with a key; signatures of others stay",
      fullDescription:
        "The document and its name stay as they are: signatures stand beside it.\n\n" +
        "Example:\n  anvil-operator evidence sign ev-0f1e2d3c --key keys/ed25519-….json",
    },
    async func(flags, name) {
      const folder = shelfOf(operator, flags);
      if (typeof folder !== "string") return reportFailure(this, folder, flags.json);
      const kept = await findKept(operator, folder, name);
      if ("kind" in kept) return reportFailure(this, kept, flags.json);
      const key = await signingKey(operator, flags.key);
      if ("kind" in key) return reportFailure(this, key, flags.json);
      const signature = await signEvidence(kept.bytes, [key], kept.signature);
      if ("kind" in signature) return reportFailure(this, signature, flags.json);
      const { digest, bytes } = kept;
      const put = await keep(operator, folder, { digest, bytes, signature });
      if (typeof put !== "string") return reportFailure(this, put, flags.json);
      const document = nameOf(kept.document);
      const text = () => `${document} is signed by ${key.id}\n`;
      reportData(this, { name: document, key: key.id }, text, flags.json);
    },
  });
}

async function signingKey({ ports }: Operator, path: string): Promise<SigningKey | Refusal> {
  const privacy = await ports.files.checkPrivate(path);
  if (privacy.kind === "absent") return refuse("file_absent", "--key: there is no such file");
  if (privacy.kind !== "private") {
    return refuse(
      "key_not_private",
      `--key: ${privacy.detail}`,
      "chmod 600 it; if others read it, rotate",
    );
  }
  const read = await ports.files.readBounded(path, MOST_KEY_BYTES);
  const file = read.kind === "ok" ? await readKeyFile(read.bytes) : null;
  if (file === null || file.key === null) {
    return refuse(
      "key_unusable",
      file === null ? "--key: the file is no key" : "--key: this key is retired",
      "see `anvil-publisher keys list`",
    );
  }
  return { id: file.record.id, key: file.key };
}

const OF_OTHER = refuse(
  "signature_of_other",
  "--signature is not over this document",
  "name the file that stood beside it",
);

async function bytesOf(
  { ports }: Operator,
  named: string,
  path: string,
  most: number,
): Promise<Uint8Array<ArrayBuffer> | Refusal> {
  const read = await ports.files.readBounded(path, most);
  if (read.kind === "ok") return read.bytes;
  return read.kind === "absent"
    ? refuse("file_absent", `${named}: there is no such file`)
    : refuse(read.code, `${named}: ${read.detail}`);
}

interface PublishFlags extends EvidenceFlags {
  readonly to: string;
  readonly all: boolean;
}

/** `evidence publish`. */
export function publishCommand(operator: Operator) {
  return buildCommand<PublishFlags, string[], ProgramContext>({
    parameters: {
      flags: {
        ...EVIDENCE_FLAGS,
        to: {
          kind: "parsed",
          parse: String,
          brief: "The folder to publish into: to be put under version control, or served",
          placeholder: "DIR",
        },
        all: {
          kind: "boolean",
          default: false,
          withNegated: false,
          brief: "All that is kept",
        },
      },
      positional: {
        kind: "array",
        parameter: documentName(operator, "What to publish"),
      },
    },
    docs: {
      brief: "Publish documents with an index and a page that states their conditions",
      fullDescription:
        "All of them, or none: what an opportunistic host measured under unstated conditions is\n" +
        "refused, and so is half a run. Answers are never published. The same again changes nothing.\n\n" +
        "Examples:\n  anvil-operator evidence publish ev-0f1e2d3c --to ~/fleet/evidence\n" +
        "  anvil-operator evidence publish --all --to /srv/evidence",
    },
    async func(flags, ...names) {
      const folder = shelfOf(operator, flags);
      if (typeof folder !== "string") return reportFailure(this, folder, flags.json);
      const chosen = await chosenOf(operator, folder, names, flags.all);
      if ("kind" in chosen) return reportFailure(this, chosen, flags.json);
      const result = await publish(operator, flags.to, chosen);
      if (result.kind === "refused") return reportFailure(this, result, flags.json);
      if (result.kind === "unpublished") return reportUnpublished(this, result, flags.json);
      const { documents, inFolder, written } = result;
      const text = () =>
        `${documents.length} published, ${inFolder} in the folder; ` +
        `${
          written.length === 0 ? "nothing had to be written" : `${written.length} files written`
        }\n`;
      const data: Json = { documents, in_folder: inFolder, written };
      reportData(this, data, text, flags.json);
    },
  });
}

async function chosenOf(
  operator: Operator,
  folder: string,
  names: readonly string[],
  all: boolean,
): Promise<readonly Sound[] | Exclude<Awaited<ReturnType<typeof findKept>>, Sound>> {
  if (all !== (names.length === 0)) {
    return refuse(
      "publish_what",
      all ? "--all and names exclude each other" : "nothing is named",
      "name documents of `evidence list`, or give --all",
    );
  }
  const chosen: Sound[] = [];
  if (all) {
    const kept = await readShelf(operator, folder);
    if ("kind" in kept) return kept;
    for (const one of kept) {
      const { document } = one;
      if (document === null) {
        return { kind: "invalid", file: `${one.digest}.json`, problems: one.problems };
      }
      chosen.push({ ...one, document });
    }
  }
  for (const name of names) {
    const one = await findKept(operator, folder, name);
    if ("kind" in one) return one;
    chosen.push(one);
  }
  return chosen;
}

/** Every refusal at once, each with its document. */
function reportUnpublished(
  context: ProgramContext,
  { refusals }: Unpublished,
  json: boolean,
): void {
  context.exit(1);
  if (json) {
    const problems = refusals.map(({ document, code, detail, nextStep }) => ({
      ...{ path: document, code, message: detail },
      ...(nextStep === undefined ? {} : { next_step: nextStep }),
    }));
    return printEnvelope(context, { ok: false, data: null, problems });
  }
  for (const { document, code, detail, nextStep } of refusals) {
    const next = nextStep === undefined ? "" : `\n  next: ${nextStep}`;
    context.terminal.err(harmless(`${document.slice(0, 15)}: ${code}: ${detail}${next}\n`));
  }
  context.terminal.err("nothing was published\n");
}

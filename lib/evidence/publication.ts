/**
 * A folder of published evidence, to be put under version control or served: the documents by their
 * digests, an index for programs and a page for people. Index and page are made of the documents that
 * are there, never kept beside them, so a folder can always be made whole again.
 *
 *     <folder>/<digest>.json        a document of evidence or of parity
 *              <digest>.sig.json    signatures over it
 *              <digest>.svg         the chart of a parity
 *              index.json index.md
 *
 * @module
 */

import { canonicalJson, type Json } from "../core/canonical_json.ts";
import { type Refusal, refuse } from "../core/refusal.ts";
import { conditionsText, type PublishFault, refusePublication } from "./conditions.ts";
import type { Document } from "./document.ts";
import { parityChart } from "./parity_chart.ts";
import { publicationPage } from "./publication_page.ts";

/** Why a document may not be published; null when it may. */
export function refuseDocument(document: Document): Refusal<PublishFault> | null {
  if (document.kind === "evidence") return refusePublication(document.body);
  const { left, right } = document.body;
  const bare = [left, right].find(({ host, conditions }) =>
    host.availability === "opportunistic" && conditions === null
  );
  return bare === undefined ? null : refuse(
    "conditions_missing",
    `${bare.host.node} is opportunistic, and nothing says under which conditions it was measured`,
    "measure it again, then compare again",
  );
}

/**
 * The files that are made of all documents of a folder: charts, index, page. In this order they are
 * written. Throws for a document that {@link refuseDocument} refuses: nothing unconditioned is ever
 * rendered, whoever put it there.
 */
export function derivedFiles(
  documents: readonly Document[],
): readonly { readonly name: string; readonly text: string }[] {
  for (const one of documents) {
    const no = refuseDocument(one);
    if (no !== null) throw new TypeError(`${one.digest}: ${no.code}`);
  }
  const sorted = documents.toSorted(inOrder);
  return [
    ...sorted.flatMap((one) =>
      one.kind === "parity"
        ? [{ name: `${one.digest}.svg`, text: parityChart(one.body, one.digest.slice(0, 12)) }]
        : []
    ),
    { name: "index.json", text: indexText(sorted) },
    { name: "index.md", text: publicationPage(sorted) },
  ];
}

/** The oldest first, and of one moment by digest: two folders of the same documents are equal. */
function inOrder(one: Document, other: Document): number {
  const [a, b] = [startOf(one), startOf(other)];
  return a === b ? (one.digest < other.digest ? -1 : 1) : a < b ? -1 : 1;
}

function startOf({ kind, body }: Document): string {
  return kind === "evidence"
    ? body.run.started_at
    : [body.left.started_at, body.right.started_at].toSorted()[1] ?? "";
}

function indexText(documents: readonly Document[]): string {
  const entries = documents.map((one): Json => {
    const head = { digest: one.digest, file: `${one.digest}.json`, signed_by: one.signed };
    if (one.kind === "parity") {
      const { left, right, verdict } = one.body;
      return {
        ...{ ...head, schema: one.body.schema, verdict, chart: `${one.digest}.svg` },
        sides: [left, right].map((side): Json => ({
          evidence: side.evidence,
          engine: side.subject.engine,
          node: side.host.node,
          availability: side.host.availability,
          conditions: side.conditions as Json,
          conditions_text: conditionsText(side),
        })),
      };
    }
    const { subject, host, conditions, workload, run, measures } = one.body;
    return {
      ...{ ...head, schema: one.body.schema, subject: subject as Json, node: host.node },
      ...{ availability: host.availability, conditions: conditions as Json },
      ...{ conditions_text: conditionsText(one.body), workload: workload as Json },
      ...{ started_at: run.started_at, ended_at: run.ended_at },
      measures: measures as Json,
    };
  });
  return `${canonicalJson({ schema: "evidence-index/v1", entries })}\n`;
}

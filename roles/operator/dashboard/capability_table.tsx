/**
 * The capability matrix: what is served where, by the rules of `lib/dispatch/capability_matrix.ts`.
 * Hosts that have something to say have a column each, as far as a page is wide; all hosts are counted.
 *
 * @module
 */

import {
  type CapabilityCell,
  type CapabilityMatrix,
  type CapabilityRow,
  type Standing,
  STANDINGS,
} from "../../../lib/dispatch/capability.ts";
import { cut, hostPath, MOST_WORD } from "./host_row.tsx";

/** Capabilities and hosts in one table. */
export const MOST_ROWS = 25;
export const MOST_COLUMNS = 6;

const SIGNS: Readonly<Record<Standing, readonly [sign: string, look: string]>> = {
  served: ["●", "fresh"],
  wrong: ["✕", "trouble"],
  unreachable: ["▲", "trouble"],
  unknown: ["○", "unknown"],
  idle: ["◌", "old"],
  empty: ["–", "none"],
};

/** A verdict in a sign and a word. */
export function Verdict({ of }: { readonly of: Standing }) {
  const [sign, look] = SIGNS[of];
  return (
    <span class={`state ${look}`}>
      <span aria-hidden="true">{sign}</span> {of}
    </span>
  );
}

/** The table, or the sentence that there is nothing to put into it. */
export function CapabilityTable({ matrix }: { readonly matrix: CapabilityMatrix }) {
  const rows = matrix.rows.slice(0, MOST_ROWS);
  if (rows.length === 0) return <p>No capability is declared, and no host told of one.</p>;
  const columns = columnsOf(rows);
  const left = matrix.rows.length - rows.length + matrix.left_out;
  return (
    <>
      <div class="scroll" role="region" tabindex={0} aria-label="Capability matrix, scrollable">
        <table>
          <caption>
            What is served where. Unknown and unreachable are not a no; idle and empty are.
          </caption>
          <thead>
            <tr>
              <th scope="col">Capability</th>
              <th scope="col">In the fleet</th>
              <th scope="col">Promoted</th>
              {columns.map((host) => (
                <th scope="col">
                  <a href={hostPath(host)}>{host}</a>
                </th>
              ))}
              <th scope="col">All hosts</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => <Row row={row} columns={columns} />)}
          </tbody>
        </table>
      </div>
      {left > 0 && <p>{left} capabilities more: see `anvil-operator capability`.</p>}
    </>
  );
}

/** Hosts with a word of their own on any of the rows, promoted ones first into the bound. */
function columnsOf(rows: readonly CapabilityRow[]): readonly string[] {
  const promoted = rows.flatMap(({ promotion }) => promotion?.host ?? []);
  const speaking = rows.flatMap(({ cells }) => cells.map(({ host }) => host));
  return [...new Set([...promoted, ...speaking])].slice(0, MOST_COLUMNS).sort();
}

function Row({ row, columns }: {
  readonly row: CapabilityRow;
  readonly columns: readonly string[];
}) {
  const { capability, verdict, promotion, cells, counts, declared } = row;
  return (
    <tr>
      <th scope="row">
        {cut(capability, MOST_WORD)}
        {declared ? "" : <span class="none">, not declared</span>}
      </th>
      <td>
        <Verdict of={verdict} />
      </td>
      <td>
        {promotion === null ? <span class="none">no</span> : (
          <>
            {promotion.host}, {promotion.state}
            {promotion.why === "" ? "" : `: ${cut(promotion.why, 100)}`}
          </>
        )}
      </td>
      {columns.map((host) => (
        <td>
          <Cell cell={cells.find((one) => one.host === host) ?? null} />
        </td>
      ))}
      <td class="why">{countsText(counts)}</td>
    </tr>
  );
}

function Cell({ cell }: { readonly cell: CapabilityCell | null }) {
  if (cell === null) {
    return (
      <span class="none">
        –<span class="hidden">nothing of its own</span>
      </span>
    );
  }
  const shown = cell.said.find(({ standing, model }) =>
    standing === cell.verdict && model !== null
  );
  return (
    <>
      <Verdict of={cell.verdict} />
      {typeof shown?.model === "string" && <span class="model">{cut(shown.model, MOST_WORD)}</span>}
    </>
  );
}

/** `1 served, 2 empty`; what no host says is left out. */
export function countsText(counts: CapabilityRow["counts"]): string {
  return STANDINGS.filter((one) => counts[one] > 0).map((one) => `${counts[one]} ${one}`)
    .join(", ");
}

/**
 * The capability matrix as people look at it.
 *
 * @module
 */

import {
  type CapabilityCell,
  type CapabilityMatrix,
  type CapabilityRow,
  type Said,
  STANDINGS,
} from "../../lib/dispatch/capability.ts";
import { table } from "../../lib/terminal/table.ts";
import { INELIGIBLE } from "../../lib/topology/eligibility.ts";
import { ageText } from "./age.ts";
import { short } from "./told.ts";

/** Names of hosts in one cell. */
const MOST_NAMES = 4;

/** One line per capability. */
export function matrixText({ rows, left_out }: CapabilityMatrix): string {
  if (rows.length === 0) return "no capability is declared, and no host tells of one\n";
  const more = left_out === 0 ? "" : `${left_out} more names are left out: ask by name\n`;
  return table(
    ["capability", "verdict", "served by", "model", "promoted", "hosts", "why"],
    rows.map((row) => {
      const served = row.cells.filter(({ verdict }) => verdict === "served");
      return [
        row.capability,
        row.verdict,
        namesText(served.map(({ host }) => host)),
        namesText([...new Set(served.flatMap(modelOf))]),
        promotionText(row),
        countsText(row),
        problemText(row),
      ];
    }),
  ) + more;
}

/** One capability: what is promoted, and a line per host and perspective. */
export function capabilityText(row: CapabilityRow, { hosts }: CapabilityMatrix): string {
  const { promotion } = row;
  const head = [
    `${row.capability}: ${row.verdict}${row.declared ? "" : ", not declared in the topology"}`,
    promotion === null
      ? "promoted: no"
      : `promoted: ${promotion.host}, tier ${promotion.tier}, by ${promotion.evidence}: ` +
        `${promotion.state}${promotion.why === "" ? "" : `, ${promotion.why}`}`,
    `hosts: ${countsText(row)}`,
  ];
  const spoken = new Set(row.cells.map(({ host }) => host));
  // A host without a word of its own is told of unless it said a plain no.
  const others = hosts.filter(({ host, verdict }) => !spoken.has(host) && verdict !== "empty");
  const rows = [
    ...row.cells.flatMap(cellRows),
    ...others.map(({ host, verdict, code, why }) => [
      ...[host, verdict, "-", code, "-", "-", "-", "-", short(why)],
    ]),
  ];
  const said = rows.length === 0 ? "no host has anything of that name\n" : table(
    ["host", "verdict", "who", "says", "model", "revision", "age", "may be promoted", "why"],
    rows,
  );
  return `${head.map((line) => `${short(line, 300)}\n`).join("")}\n${said}`;
}

function cellRows(cell: CapabilityCell): string[][] {
  return cell.said.map((said, at) => {
    const { perspective, standing, code, model, revision, age_ms } = said;
    return [
      at === 0 ? cell.host : "",
      at === 0 ? cell.verdict : "",
      perspective,
      standing === "empty" ? code : `${standing}: ${code}`,
      model ?? "-",
      revision?.slice(0, 12) ?? "-",
      age_ms === null ? "-" : ageText(age_ms),
      at === 0 ? eligibleText(cell) : "",
      whyText(cell, said, at),
    ];
  });
}

function whyText({ expected }: CapabilityCell, { why }: Said, at: number): string {
  const home = at === 0 && expected !== null ? `the home declares ${expected.model}` : "";
  return short([why, home].filter((one) => one !== "" && one !== why).join("; ") || why);
}

function eligibleText({ promoted, ineligible }: CapabilityCell): string {
  const may = ineligible.length === 0
    ? "yes"
    : `no: ${ineligible.map((one) => INELIGIBLE[one]).join("; ")}`;
  return promoted ? `is promoted${ineligible.length === 0 ? "" : `, and may not: ${may}`}` : may;
}

function modelOf({ said }: CapabilityCell): readonly string[] {
  const proven = said.find(({ perspective, standing, model }) =>
    perspective !== "agent" && standing === "served" && model !== null
  );
  return proven?.model ? [proven.model] : [];
}

function namesText(names: readonly string[]): string {
  if (names.length === 0) return "-";
  const more = names.length - MOST_NAMES;
  return short(names.slice(0, MOST_NAMES).join(" ") + (more > 0 ? ` and ${more} more` : ""));
}

function promotionText({ promotion }: CapabilityRow): string {
  return promotion === null ? "no" : `${promotion.host}: ${promotion.state}`;
}

function countsText({ counts }: CapabilityRow): string {
  return STANDINGS.filter((one) => counts[one] > 0).map((one) => `${counts[one]} ${one}`)
    .join(", ");
}

/** The worst cell's own words; they come first. */
function problemText({ cells, promotion }: CapabilityRow): string {
  const [worst] = cells;
  const broken = promotion?.state === "broken" ? `promotion broken: ${promotion.why}` : "";
  if (worst === undefined || worst.verdict === "served" || worst.verdict === "empty") return broken;
  const said = worst.said.find(({ standing }) => standing === worst.verdict);
  return short(
    [broken, `${worst.host} ${said?.code ?? worst.verdict}`, said?.why ?? ""].filter(Boolean)
      .join(": "),
  );
}

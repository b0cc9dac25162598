/**
 * One host in the fleet table. What it said is shown as now only while it answers; afterwards it is
 * what it was, and when. No state is told by its colour alone.
 *
 * @module
 */

import { Ago, type Moment } from "./ago.tsx";
import { whyOf } from "./attention.ts";
import type { Trend } from "./fleet_watch.ts";
import type { NodeStanding, NodeView } from "./node_view.ts";
import { Sparkline } from "./sparkline.tsx";

/** Headings of the table. */
export const HOST_HEADINGS = [
  ...["Host", "State", "As of", "Version", "Topology", "In flight", "Slowest p95", "Why"],
] as const;

/** A sign and a class for each standing; the word beside it says the same. */
const SIGNS: Readonly<Record<NodeStanding, readonly [sign: string, word: string]>> = {
  fresh: ["●", "answers"],
  old: ["◐", "old answer"],
  trouble: ["▲", ""],
  unknown: ["○", "not asked yet"],
};

/** The state of a host, in a sign and a word. */
export function State({ view, standing }: {
  readonly view: NodeView;
  readonly standing: NodeStanding;
}) {
  const [sign, word] = SIGNS[standing];
  return (
    <span class={`state ${standing}`}>
      <span aria-hidden="true">{sign}</span>{" "}
      {standing === "trouble" ? (view.look?.kind ?? "unknown").replaceAll("_", " ") : word}
    </span>
  );
}

/** Where a host has its own page. */
export function hostPath(host: string): string {
  return `/host/${encodeURIComponent(host)}`;
}

/** The id of a host's row. */
export function hostRowId(host: string): string {
  return `h-${host}`;
}

/** Characters of a reason in a row; the host's own page has it whole. */
const MOST_WHY = 110;
/** Characters of a word that a host said, in a row. */
export const MOST_WORD = 32;

/** A host's words as a row has room for them. */
export function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/** The row. */
export function HostRow({ view, standing, trend, moment }: {
  readonly view: NodeView;
  readonly standing: NodeStanding;
  readonly trend: Trend | null;
  readonly moment: Moment;
}) {
  const { host, look, sighting } = view;
  const answers = standing === "fresh" || standing === "old";
  return (
    <tr id={hostRowId(host)} class={standing}>
      <th scope="row">
        <a href={hostPath(host)}>{host}</a>
      </th>
      <td>
        <State view={view} standing={standing} />
      </td>
      <td>
        {answers ? <Ago at={look?.at} moment={moment} /> : (
          <>
            seen <Ago at={sighting?.at} moment={moment} />
          </>
        )}
      </td>
      <td>
        {sighting === null
          ? "unknown"
          : `${answers ? "" : "was "}${cut(sighting.version, MOST_WORD)}`}
      </td>
      <td class={view.topology === "differs" ? "warn" : undefined}>{view.topology}</td>
      <td>
        <Numbers view={view} trend={trend} of="inFlight" />
      </td>
      <td>
        <Numbers view={view} trend={trend} of="latency" />
      </td>
      <td class="why">
        {cut(whyOf(view), MOST_WHY)}
      </td>
    </tr>
  );
}

/** In flight or latency; a host without a router has neither. */
export function Numbers({ view, trend, of }: {
  readonly view: NodeView;
  readonly trend: Trend | null;
  readonly of: "inFlight" | "latency";
}) {
  const { router, look } = view;
  if (look?.kind === "done" && router.kind === "none") return <span class="none">no router</span>;
  const [name, unit] = of === "inFlight" ? ["in flight", ""] : ["slowest p95", " ms"];
  return <Sparkline ring={trend?.[of] ?? null} name={name} unit={unit} />;
}

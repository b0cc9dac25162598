/**
 * One host in the fleet table. What it said is shown as now only while it answers; afterwards it is
 * what it was, and when. No state is told by its colour alone.
 *
 * @module
 */

import { Ago, type Moment } from "./ago.tsx";
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
        {sighting === null ? "unknown" : answers ? sighting.version : `was ${sighting.version}`}
      </td>
      <td class={view.topology === "differs" ? "warn" : undefined}>{view.topology}</td>
      <td>
        <Numbers view={view} trend={trend} of="inFlight" />
      </td>
      <td>
        <Numbers view={view} trend={trend} of="latency" />
      </td>
      <td class="why">
        {why(view)}
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

/** Why a host is not as it should be; empty when it is. */
export function why({ look, router }: NodeView): string {
  if (look === null) return "";
  if (look.kind !== "done") return `${look.code ?? look.kind}: ${look.detail}`;
  if (router.kind === "unknown") return `router.status: ${router.code}: ${router.detail}`;
  if (router.kind !== "told") return "";
  const tiers = router.tiers.filter(({ ready, intent }) => !ready || intent === "quiesce");
  return [
    ...(router.draining ? ["its router drains"] : []),
    ...tiers.slice(0, 4).map(({ tier, ready }) =>
      `tier ${tier} ${ready ? "quiesced" : "not ready"}`
    ),
    ...(tiers.length > 4 ? [`and ${tiers.length - 4} tiers more`] : []),
  ].join("; ");
}

/**
 * What a person should look at: a host that does not answer, or that says itself that something is not
 * as it should be.
 *
 * @module
 */

import { CANDIDATES_STATUS } from "../adoption_seen.ts";
import type { NodeStanding, NodeView } from "./node_view.ts";
import type { RouterSeen } from "./router_seen.ts";

/** Tiers that are named; the others are counted. */
const MOST_TIERS = 4;

/** Why a host is not as it should be, in one line; empty when it is, or was not asked yet. */
export function whyOf({ look, router, topology, adoption }: NodeView): string {
  if (look === null) return "";
  if (look.kind !== "done") return `${look.code ?? look.kind}: ${look.detail}`;
  return [
    ...routerWhy(router),
    ...(topology === "differs" ? ["it was set up from another topology"] : []),
    ...(adoption.kind === "known" && adoption.adoption.freshness === "stale"
      ? [`software is stale: ${adoption.adoption.why}`]
      : []),
    ...(adoption.kind === "unknown" && adoption.code !== "not_asked"
      ? [`${CANDIDATES_STATUS}: ${adoption.code}: ${adoption.detail}`]
      : []),
  ].join("; ");
}

function routerWhy(router: RouterSeen): readonly string[] {
  if (router.kind === "unknown") return [`router.status: ${router.code}: ${router.detail}`];
  if (router.kind === "none") return [];
  const tiers = router.tiers.filter(({ ready, intent }) => !ready || intent === "quiesce");
  return [
    ...(router.draining ? ["its router drains"] : []),
    ...tiers.slice(0, MOST_TIERS).map(({ tier, ready }) =>
      `tier ${tier} ${ready ? "quiesced" : "not ready"}`
    ),
    ...(tiers.length > MOST_TIERS ? [`and ${tiers.length - MOST_TIERS} tiers more`] : []),
  ];
}

/** True for a host that should be looked at: what is not known to be well is one. */
export function needsAttention(view: NodeView, standing: NodeStanding): boolean {
  return standing !== "fresh" || whyOf(view) !== "";
}

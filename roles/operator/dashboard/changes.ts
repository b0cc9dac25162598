/**
 * What changed between two pictures of a host, in sentences for the feed. The first picture of a host
 * is no change: whoever opens the page sees it in the table.
 *
 * @module
 */

import type { NodeView } from "./node_view.ts";
import type { TierSeen } from "./router_seen.ts";

/** What a change is about. */
export type ChangeKind = "host" | "software" | "adoption" | "router";

/** One change; the text holds the host's own words. */
export interface Change {
  readonly kind: ChangeKind;
  readonly text: string;
}

/** Changes of one look that are told; more are summed up. */
const MOST = 12;

/** What is different in `after`. */
export function changesBetween(before: NodeView, after: NodeView): readonly Change[] {
  if (before.look === null || after.look === null) return [];
  const changes = [
    ...hostChanges(before, after),
    ...softwareChanges(before, after),
    ...adoptionChanges(before, after),
    ...routerChanges(before, after),
  ];
  return changes.length <= MOST ? changes : [
    ...changes.slice(0, MOST),
    { kind: "host", text: `and ${changes.length - MOST} changes more at once` },
  ];
}

function hostChanges(before: NodeView, after: NodeView): readonly Change[] {
  const [was, is] = [before.look, after.look];
  if (is === null || (was?.kind === is.kind && was.code === is.code)) return [];
  return [{
    kind: "host",
    text: is.kind === "done" ? "answers again" : `${is.kind}: ${is.code ?? ""}: ${is.detail}`,
  }];
}

function softwareChanges(before: NodeView, after: NodeView): readonly Change[] {
  const [was, is] = [before.sighting, after.sighting];
  if (was === null || is === null) return [];
  return [
    ...(was.version === is.version && was.build_digest === is.build_digest ? [] : [
      `runs ${is.version}${build(is.build_digest)}, was ${was.version}${build(was.build_digest)}`,
    ]),
    ...(was.started_at === is.started_at ? [] : ["its agent was started again"]),
  ].map((text) => ({ kind: "software", text }));
}

function build(digest: string | null): string {
  return digest === null ? "" : ` (${digest.slice(0, 12)})`;
}

function adoptionChanges(before: NodeView, after: NodeView): readonly Change[] {
  const [was, is] = [before.adoption, after.adoption];
  if (after.look?.kind !== "done" || before.adoptionAt === null) return [];
  if (is.kind !== "known" || was.kind !== "known") {
    if (is.kind === was.kind) return [];
    const text = is.kind === "known"
      ? `adoption is ${is.adoption.freshness}`
      : is.kind === "no_adopter"
      ? "has no adopter any more"
      : `adoption is unknown: ${is.code}`;
    return [{ kind: "adoption", text }];
  }
  const [old, now] = [was.adoption, is.adoption];
  const lines = [
    old.freshness === now.freshness ? null : `adoption is ${now.freshness}, was ${old.freshness}`,
    old.known_good_rev === now.known_good_rev
      ? null
      : `proven: ${now.known_good_rev?.slice(0, 12) ?? "nothing"}`,
    old.pending_boot_since === now.pending_boot_since
      ? null
      : now.pending_boot_since === null
      ? "no boot is pending any more"
      : "a boot is pending",
    now.last_refusal === null || old.last_refusal?.at === now.last_refusal.at
      ? null
      : `refused: ${now.last_refusal.code}`,
  ];
  return lines.filter((text) => text !== null).map((text) => ({ kind: "adoption", text }));
}

function routerChanges(before: NodeView, after: NodeView): readonly Change[] {
  const [was, is] = [before.router, after.router];
  if (after.look?.kind !== "done" || before.look?.kind !== "done") return [];
  if (was.kind !== "told" || is.kind !== "told") {
    if (was.kind === is.kind) return [];
    const text = is.kind === "told"
      ? "its router answers"
      : is.kind === "none"
      ? "has no router any more"
      : `its router is unknown: ${is.code}`;
    return [{ kind: "router", text }];
  }
  const drains = was.draining === is.draining
    ? []
    : [is.draining ? "its router drains" : "its router takes requests"];
  const old = new Map(was.tiers.map((one) => [one.tier, one]));
  const tiers = is.tiers.flatMap((one) => tierChanges(old.get(one.tier), one));
  const gone = was.tiers.filter(({ tier }) => !is.tiers.some((one) => one.tier === tier))
    .map(({ tier }) => `tier ${tier} is gone`);
  return [...drains, ...tiers, ...gone].map((text) => ({ kind: "router", text }));
}

function tierChanges(was: TierSeen | undefined, is: TierSeen): readonly string[] {
  if (was === undefined) return [`tier ${is.tier} is new`];
  return [
    ...(was.ready === is.ready ? [] : [`tier ${is.tier} is ${is.ready ? "ready" : "not ready"}`]),
    ...(was.intent === is.intent
      ? []
      : [`tier ${is.tier} is ${is.intent === "admit" ? "admitted" : "quiesced"}`]),
  ];
}

/**
 * What the agent of a host, asked anew over an authenticated connection, means for a bootstrap.
 *
 * @module
 */

import type { BootstrapCode } from "../../../lib/bootstrap/codes.ts";
import type { Plan } from "../../../lib/bootstrap/plan.ts";
import type { Json } from "../../../lib/core/canonical_json.ts";
import { type Refusal, refuse } from "../../../lib/core/refusal.ts";

/** What an agent says of itself. */
export type Health = { readonly [key: string]: Json };

/** What the declared agent is. */
export type AgentSeen =
  | { readonly kind: "answers"; readonly health: Health }
  /** Proven to be down, before anything was asked of it. */
  | { readonly kind: "absent" }
  /** It does not know the token, or gives it no such scope. */
  | { readonly kind: "rejects" }
  /** Another node, another process, or nobody knows; `why` is the code of what was seen. */
  | { readonly kind: "uncertain"; readonly why?: string };

/** What looking at an agent needs. */
export interface LookPorts {
  /** Over a fresh, authenticated connection. */
  readonly agent: () => Promise<AgentSeen>;
  /** Waits after so many looks at something that is not there yet; false when that was long enough. */
  readonly wait: (looks: number) => Promise<boolean>;
}

/** Health alone is not enough, and neither is the version: it must be the planned build. */
export function isPlanned({ expected_node, bundle, expected }: Plan, health: Health): boolean {
  return isAll(health, {
    node: expected_node,
    version: bundle.version,
    build_digest: bundle.build_digest,
    protocol: expected.protocol,
    catalogue_digest: expected.catalogue_digest,
  });
}

/** Whether it is the one that was current when the plan was made. */
export function isPrior(
  node: string,
  prior: { readonly version: string; readonly build_digest: string } | null | undefined,
  health: Health,
): boolean {
  if (prior === null || prior === undefined) return false;
  const { version, build_digest } = prior;
  return isAll(health, { node, version, build_digest });
}

function isAll(health: Health, wanted: Health): boolean {
  return Object.entries(wanted).every(([key, value]) => health[key] === value);
}

/** Looks until an agent answers, and judges it; null when it is the wanted one. */
export async function acceptAgent(
  { agent, wait }: LookPorts,
  isWanted: (health: Health) => boolean,
): Promise<BootstrapCode | null> {
  for (let looks = 1;; looks++) {
    const seen = await agent();
    if (seen.kind === "answers") return isWanted(seen.health) ? null : "acceptance_failed";
    if (seen.kind !== "absent" || !await wait(looks)) return "acceptance_failed";
  }
}

/** Why the receiver may not be asked: only an agent that is proven to be down makes room for it. */
export function refuseAgent(seen: AgentSeen): Refusal<BootstrapCode> | null {
  switch (seen.kind) {
    case "absent":
      return null;
    case "answers":
      return refuse(
        "agent_available",
        "the agent of this host answers",
        "install through it; the receiver is for hosts without one",
      );
    case "rejects":
      return refuse(
        "auth_rejected",
        "the agent does not accept this operator's token",
        "mend the token; the receiver is no way around it",
      );
    case "uncertain":
      return refuse(
        "precondition_failed",
        seen.why === undefined
          ? "nothing proves that the agent is down"
          : `nothing proves that the agent is down: looking at it gave ${seen.why}`,
        "look at what listens on the agent's port, and whether this machine may connect there",
      );
  }
}

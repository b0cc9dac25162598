/**
 * The capability question, in words: is an alias served anywhere in the fleet, by what, and who says
 * so. What hosts told goes in ({@link HostTold}); the matrix comes out ({@link CapabilityMatrix}).
 *
 * Three perspectives look at the same thing, and each is kept apart: what the agent's manifest
 * declares and its runtime runs; what the router of the host sends an alias to; what a probe of
 * process and engine proves. Unknown, unreachable, empty and wrong are four different answers; only
 * `empty` and `idle` are a no.
 *
 * @module
 */

import type { Ineligible } from "../topology/eligibility.ts";

/** From whose perspective a thing is said, in the order in which they are shown. */
export const PERSPECTIVES = ["agent", "router", "probe"] as const;
/** One of {@link PERSPECTIVES}. */
export type Perspective = (typeof PERSPECTIVES)[number];

/** What can be said of a capability: on a host by one perspective, on a host, in the fleet. */
export const STANDINGS = [
  "served", // proven now, or, for the agent's perspective, running under its name
  "wrong", // something is there, and it is not what was declared
  "unreachable", // whoever could tell did not answer
  "unknown", // answered, and could not tell
  "idle", // declared there, and not serving now: stopped, quiesced, not ready
  "empty", // answered, and there is nothing of that name
] as const;
/** One of {@link STANDINGS}. */
export type Standing = (typeof STANDINGS)[number];

/** A part of what a host was asked, or why there is none. */
export type Told<Value> =
  | { readonly kind: "told"; readonly value: Value }
  /** The host has no such thing, and says so: no router, no serves. */
  | { readonly kind: "none"; readonly code: string; readonly detail: string }
  | { readonly kind: "unknown" | "unreachable"; readonly code: string; readonly detail: string };

/** A serve of a host, as its agent tells of it. */
export interface ServeTold {
  readonly serve: string;
  readonly capability: string;
  readonly tier: string | null;
  readonly port: number | null;
  /** The model as its publisher names it. */
  readonly model: string | null;
  readonly revision: string | null;
  readonly quantization: string | null;
  readonly engine: string | null;
  readonly state: "running" | "stopping" | "stopped" | "foreign" | "unknown";
  readonly why: string;
  /** Null: it was not asked for, because nothing runs. */
  readonly proof: Told<ProofTold> | null;
}

/** What looking at process and engine gave. */
export interface ProofTold {
  readonly proof: "proven" | "differs" | "absent" | "undeclared" | "unknown";
  /** As clients of the engine call it; null when nothing is proven. */
  readonly model: string | null;
  readonly revision: string | null;
  /** What speaks against it; empty when nothing does. */
  readonly observed: string;
  readonly health: "healthy" | "silent" | "not_asked";
}

/** A router, as it tells of itself. */
export interface RouterTold {
  readonly draining: boolean;
  /** Tiers by alias. */
  readonly aliases: ReadonlyMap<string, string>;
  readonly tiers: readonly TierTold[];
}

/** One of its tiers. */
export interface TierTold {
  readonly tier: string;
  readonly intent: "admit" | "quiesce";
  readonly members: readonly MemberTold[];
}

/** One endpoint of a tier. */
export interface MemberTold {
  readonly id: string;
  readonly state: "ready" | "identity_mismatch" | "unreachable" | "unparseable" | "unknown";
  readonly expected: string;
  readonly observed: string;
  /** Since its last probe, in milliseconds; null: none counts. */
  readonly ageMs: number | null;
}

/** What one host told, of everything it has. */
export interface HostTold {
  readonly host: string;
  readonly serves: Told<readonly ServeTold[]>;
  readonly router: Told<RouterTold>;
}

/** What the home says a host should serve. */
export interface ServeExpected {
  readonly host: string;
  readonly serve: string;
  readonly capability: string;
  readonly tier: string;
  readonly model: string;
  readonly revision: string;
}

/** One perspective on one capability on one host. */
export type Said = {
  readonly perspective: Perspective;
  readonly standing: Standing;
  /** Stable, for programs: `running`, `ready`, `proven`, `identity_mismatch`, … */
  readonly code: string;
  /** One sentence for people; empty where the code says it all. */
  readonly why: string;
  readonly serve: string | null;
  readonly tier: string | null;
  /** The identity of the model, as this perspective names it; null when it names none. */
  readonly model: string | null;
  readonly revision: string | null;
  /** How old what it says is, in milliseconds; null when it was looked at now, or never. */
  readonly age_ms: number | null;
};

/** One capability on one host. */
export type CapabilityCell = {
  readonly host: string;
  readonly verdict: Standing;
  readonly said: readonly Said[];
  /** The fleet's promotion stands on this host. */
  readonly promoted: boolean;
  /** Every reason why the host may not back a promotion of it; none: it may. */
  readonly ineligible: readonly Ineligible[];
  /** What the home declares there; null when it declares nothing, or no home was read. */
  readonly expected: ServeExpected | null;
};

/** How the promotion of a capability stands: `broken` when the promoted host does not serve it. */
export type Promotion = {
  readonly host: string;
  readonly tier: string;
  readonly evidence: string;
  readonly state: "kept" | "broken" | "unknown";
  readonly why: string;
};

/** One capability over the fleet. */
export type CapabilityRow = {
  readonly capability: string;
  /** The topology declares it. */
  readonly declared: boolean;
  readonly verdict: Standing;
  readonly promotion: Promotion | null;
  /** Hosts of which there is more to say than what they say of everything, problems first. */
  readonly cells: readonly CapabilityCell[];
  /** All hosts, by what they say of it; those without a cell too. */
  readonly counts: Readonly<Record<Standing, number>>;
};

/** What a host says of every capability for which it has no cell. */
export type HostOtherwise = {
  readonly host: string;
  readonly verdict: Standing;
  readonly code: string;
  readonly why: string;
};

/** The whole. */
export type CapabilityMatrix = {
  /** By name in ascending order. */
  readonly rows: readonly CapabilityRow[];
  /** Every host that was asked, in ascending order. */
  readonly hosts: readonly HostOtherwise[];
  /** Names beyond the bound, which are left out. */
  readonly left_out: number;
};

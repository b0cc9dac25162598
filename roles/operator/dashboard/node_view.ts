/**
 * What is known of one host, and since when: a look goes in, the next picture comes out.
 *
 *     not asked yet ──look──> answers ──time──> old
 *           │                    │  ▲
 *           └──look──> trouble <─┘  └── the next good look
 *
 * Nothing a host said is shown as now once it does not answer: it is what it was, with its age.
 *
 * @module
 */

import type { HostTold } from "../../../lib/dispatch/capability.ts";
import { objectOf } from "../../../lib/dispatch/reply.ts";
import type { Outcome } from "../../../lib/dispatch/outcome.ts";
import type { Looked } from "../../../lib/dispatch/visit.ts";
import {
  type Adoption,
  adoptionOf,
  type AdoptionSeen,
  CANDIDATES_STATUS,
} from "../adoption_seen.ts";
import { type Sighting, sightingOf, withAdoption } from "../seen.ts";
import { joinMarks, type Mark, marksBefore, marksOf } from "./marks.ts";
import { routerOf, type RouterSeen } from "./router_seen.ts";

/** How a look ended. */
export type LookEnd =
  & Pick<Outcome, "kind" | "code" | "detail" | "nextStep" | "tookMs">
  /** Wall clock, milliseconds. */
  & { readonly at: number };

/** One host. */
export interface NodeView {
  readonly host: string;
  /** The last look; null: none has ended since this process began. */
  readonly look: LookEnd | null;
  /** What it was when it answered last, perhaps to another command; null: it never did. */
  readonly sighting: Sighting | null;
  readonly skewMs: number | null;
  readonly running: number | null;
  /** What its agent was set up from, beside the topology read here. */
  readonly topology: "same" | "differs" | "none" | "unknown";
  readonly adoption: AdoptionSeen;
  /** When {@link adoption} was told; null: it was not. */
  readonly adoptionAt: number | null;
  readonly adoptionBefore: Adoption | null;
  readonly marks: readonly Mark[];
  readonly router: RouterSeen;
  /** What it told of its serves and its router, for the capability matrix; null before a look. */
  readonly told: HostTold | null;
}

const NOT_ASKED = { kind: "unknown", code: "not_asked", detail: "it was not asked yet" } as const;

/** A host before the first look. */
export function unasked(host: string, sighting: Sighting | null): NodeView {
  const adoptionBefore = sighting?.adoption ?? null;
  return {
    host,
    look: null,
    sighting,
    skewMs: null,
    running: null,
    topology: "unknown",
    adoption: NOT_ASKED,
    adoptionAt: null,
    adoptionBefore,
    marks: joinMarks([], marksBefore(adoptionBefore)),
    router: NOT_ASKED,
    told: null,
  };
}

/**
 * After a look that ended at `now`. `told`: what it gave for the capability matrix. `fingerprint`: of
 * the topology read here.
 */
export function observed(
  before: NodeView,
  { proof, answers }: Looked,
  told: HostTold,
  now: number,
  fingerprint: string,
): NodeView {
  const { kind, code, detail, nextStep, tookMs } = proof;
  const look = { kind, code, detail, nextStep, tookMs, at: now };
  if (kind !== "done") {
    const silent = { kind: "unknown", code: code ?? kind, detail } as const;
    return {
      ...before,
      ...{ look, skewMs: null, running: null, topology: "unknown" },
      ...{ adoption: silent, adoptionAt: null, router: silent },
      told,
    };
  }
  const asked = answers.get(CANDIDATES_STATUS);
  const adoption = asked === undefined ? before.adoption : adoptionTold(asked);
  const known = adoption.kind === "known" ? adoption.adoption : null;
  const fresh = sightingOf(proof, now);
  const running = objectOf(proof.health?.["ledger"])?.["running"];
  // A fast look does not ask for serves: what the last slow one told stands until the next.
  const keeps = !answers.has("serves.list") && before.look?.kind === "done";
  return {
    host: before.host,
    look,
    sighting: fresh === null
      ? before.sighting
      : withAdoption(fresh, known, before.sighting ?? undefined),
    skewMs: proof.skewMs,
    running: typeof running === "number" ? running : null,
    topology: topologyOf(answers.get("node.identity"), fingerprint) ?? before.topology,
    adoption,
    adoptionAt: asked === undefined ? before.adoptionAt : now,
    adoptionBefore: known ?? before.adoptionBefore,
    marks: asked === undefined ? before.marks : joinMarks(before.marks, marksOf(asked)),
    router: routerOf(answers.get("router.status")),
    told: keeps && before.told !== null ? { ...told, serves: before.told.serves } : told,
  };
}

function adoptionTold(outcome: Outcome): AdoptionSeen {
  return outcome.code === "operation_absent" ? { kind: "no_adopter" } : adoptionOf(outcome);
}

function topologyOf(
  identity: Outcome | undefined,
  fingerprint: string,
): NodeView["topology"] | null {
  if (identity === undefined) return null;
  const told = objectOf(identity.result)?.["topology"];
  if (identity.kind !== "done" || told === undefined) return "unknown";
  return told === null ? "none" : told === fingerprint ? "same" : "differs";
}

/** The four answers a row can give. */
export const STANDINGS = ["fresh", "old", "trouble", "unknown"] as const;
/** One of {@link STANDINGS}. */
export type NodeStanding = (typeof STANDINGS)[number];

/** How what is known of a host stands at `now`; `freshMs`: how old an answer may be to be fresh. */
export function standingOf({ look }: NodeView, now: number, freshMs: number): NodeStanding {
  if (look === null) return "unknown";
  if (look.kind !== "done") return "trouble";
  return now - look.at <= freshMs ? "fresh" : "old";
}

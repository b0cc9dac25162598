/**
 * What hosts are asked for the capability question, and how their answers are read. A node is not
 * believed to be well-behaved: texts are shortened and made harmless, lists are bounded, and an
 * answer of another shape is unknown, not empty.
 *
 * @module
 */

import { z } from "zod";
import type {
  HostTold,
  ProofTold,
  RouterTold,
  ServeTold,
  Told,
} from "../../lib/dispatch/capability.ts";
import type { Outcome } from "../../lib/dispatch/outcome.ts";
import { objectOf } from "../../lib/dispatch/reply.ts";
import type { FollowUp, Looked } from "../../lib/dispatch/visit.ts";
import type { Host } from "../../lib/topology/shape.ts";
import { readAsk } from "./one_host.ts";
import { short } from "./told.ts";

/** Asked of every host. */
export const CAPABILITY_ASKS = [readAsk("serves.list", {}), readAsk("router.status", {})];

/** Serves whose process is looked at, per host. */
const MOST_PROOFS = 16;
const MOST_SERVES = 256;
const MOST_ALIASES = 256;
const MOST_TIERS = 64;

const word = z.string().transform((text) => short(text));
const maybe = word.nullable().catch(null);

const serveShape = z.looseObject({
  name: word,
  capability: word,
  tier: maybe.default(null),
  port: z.int().nullable().catch(null).default(null),
  model: maybe.default(null),
  revision: maybe.default(null),
  quantization: maybe.default(null),
  engine: maybe.default(null),
  state: z.enum(["running", "stopping", "stopped", "foreign", "unknown"]).catch("unknown"),
  why: word.catch("").default(""),
});

const proofShape = z.looseObject({
  proof: z.enum(["proven", "differs", "absent", "undeclared", "unknown"]).catch("unknown"),
  model: maybe,
  revision: maybe,
  observed: word.catch(""),
  health: z.enum(["healthy", "silent", "not_asked"]).catch("not_asked"),
});

const routerShape = z.looseObject({
  draining: z.boolean(),
  aliases: z.record(z.string(), z.string()),
  tiers: z.array(z.looseObject({
    tier: word,
    intent: z.enum(["admit", "quiesce"]),
    members: z.array(z.looseObject({
      id: word,
      state: z.enum(["ready", "identity_mismatch", "unreachable", "unparseable", "unknown"])
        .catch("unknown"),
      expected: word,
      observed: word,
      age_ms: z.number().min(0).nullable().catch(null),
    })).max(64),
  })).max(MOST_TIERS),
});

/** Asks for the proof of what runs; of `only`, where one capability is asked about. */
export function proofsOf(only: string | null): FollowUp {
  return (answers) => {
    const listed = answers.get("serves.list");
    const serves = listed === undefined ? [] : servesIn(listed);
    return serves.filter(({ capability, state, port }) =>
      (only === null || capability === only) && state === "running" && port !== null
    ).slice(0, MOST_PROOFS).map(({ port }) =>
      [`proof ${port}`, readAsk("serves.identity", { port })] as const
    );
  };
}

function servesIn({ kind, result }: Outcome): readonly z.infer<typeof serveShape>[] {
  const list = kind === "done" ? objectOf(result)?.["serves"] : undefined;
  const read = z.array(serveShape).safeParse(Array.isArray(list) ? list.slice(0, MOST_SERVES) : []);
  return read.success ? read.data : [];
}

/** Reads what one host told. `host`: what the topology declares of it. */
export function hostTold(
  id: string,
  host: Pick<Host, "runtime" | "roles"> | undefined,
  looked: Looked | null,
): HostTold {
  const proof = looked?.proof ?? null;
  if (looked === null || proof?.kind !== "done") {
    const failed = fallen(proof);
    return { host: id, serves: failed, router: failed };
  }
  const { answers } = looked;
  return {
    host: id,
    serves: told(answers.get("serves.list"), {
      none: host?.runtime === undefined ? "no_serves" : null,
      read: (outcome) => {
        if (!Array.isArray(objectOf(outcome.result)?.["serves"])) return null;
        const serves = servesIn(outcome);
        const all = (objectOf(outcome.result)?.["serves"] as readonly unknown[]).length;
        // One row that cannot be read makes the list unknown: it may be the one that is asked for.
        return serves.length === Math.min(all, MOST_SERVES)
          ? serves.map((one) => serveTold(one, answers))
          : null;
      },
    }),
    router: told(answers.get("router.status"), {
      none: host?.roles.some((role) => ROUTED.includes(role)) === true ? null : "no_router",
      read: (outcome) => routerTold(objectOf(outcome.result)?.["status"]),
    }),
  };
}

/** Roles of a host on which a router is expected. */
const ROUTED: readonly string[] = ["router", "gateway", "proxy", "serving", "voice"];

function told<Value>(
  outcome: Outcome | undefined,
  { none, read }: {
    /** What it means when the host has no such operation; null: that it cannot tell. */
    readonly none: string | null;
    readonly read: (outcome: Outcome) => Value | null;
  },
): Told<Value> {
  if (outcome === undefined) return fallen(null);
  if (outcome.kind === "done") {
    const value = read(outcome);
    return value === null
      ? {
        kind: "unknown",
        code: "answer_unreadable",
        detail: "the answer has another shape than this operator knows",
      }
      : { kind: "told", value };
  }
  const code = outcome.code ?? outcome.kind;
  if (code === "operation_absent" && none !== null) {
    return { kind: "none", code: none, detail: "the host is not declared to have any" };
  }
  return code === "serves_not_configured" || code === "router_not_configured"
    ? { kind: "none", code, detail: short(outcome.detail) }
    : fallen(outcome);
}

/** Outcomes of hosts from which no answer came. */
const SILENT: readonly Outcome["kind"][] = ["unreachable", "timed_out", "wrong_node"];

function fallen(outcome: Outcome | null): Exclude<Told<never>, { kind: "told" }> {
  if (outcome === null) {
    return { kind: "unknown", code: "interrupted", detail: "the command was ended before" };
  }
  return {
    kind: SILENT.includes(outcome.kind) ? "unreachable" : "unknown",
    code: outcome.code ?? outcome.kind,
    detail: short(outcome.detail),
  };
}

function serveTold(
  { name, why, ...serve }: z.infer<typeof serveShape>,
  answers: ReadonlyMap<string, Outcome>,
): ServeTold {
  const { capability, tier, port, model, revision, quantization, engine, state } = serve;
  const asked = answers.get(`proof ${port}`);
  return {
    ...{ serve: name, capability, tier, port, model, revision, quantization, engine, state, why },
    proof: state !== "running"
      ? null
      : asked === undefined
      ? { kind: "unknown", code: "not_asked", detail: "its process was not looked at" }
      : told<ProofTold>(asked, {
        none: null,
        read: ({ result }) => proofShape.safeParse(result).data ?? null,
      }),
  };
}

function routerTold(status: unknown): RouterTold | null {
  const read = routerShape.safeParse(status);
  if (!read.success) return null;
  const { draining, aliases, tiers } = read.data;
  return {
    draining,
    aliases: new Map(
      Object.entries(aliases).slice(0, MOST_ALIASES).map(([name, tier]) =>
        [short(name), short(tier)] as const
      ),
    ),
    tiers: tiers.map(({ tier, intent, members }) => ({
      tier,
      intent,
      members: members.map(({ id, state, expected, observed, age_ms }) => ({
        ...{ id, state, expected, observed, ageMs: age_ms },
      })),
    })),
  };
}

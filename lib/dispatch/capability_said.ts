/**
 * What each perspective of a host says of one capability.
 *
 *     perspective  answers with                        standing
 *     agent        a running serve of it               served
 *                  a stopped or stopping one           idle
 *                  something else under its name       wrong
 *                  a state that cannot be told         unknown
 *     router       an alias, a ready member, admitted  served
 *                  an alias, no member ready           idle; wrong when one proves another model
 *                  members not probed yet              unknown
 *     probe        the process and the engine's word   served
 *                  another process, another model      wrong
 *                  nobody listens, engine not ready    idle
 *     each         nothing of that name                empty
 *
 * @module
 */

import type {
  HostTold,
  MemberTold,
  Perspective,
  ProofTold,
  RouterTold,
  Said,
  ServeTold,
  Told,
} from "./capability.ts";

/** Parts that most have alike. */
const NOTHING = { serve: null, tier: null, model: null, revision: null, age_ms: null } as const;

function said(perspective: Perspective, more: Pick<Said, "standing" | "code" | "why">): Said {
  return { perspective, ...NOTHING, ...more };
}

/** Everything that `told` has to say of `capability`, at least one entry per perspective. */
export function saidOf({ serves, router }: HostTold, capability: string): readonly Said[] {
  const own = serves.kind === "told"
    ? serves.value.filter((one) => one.capability === capability)
    : [];
  const routed = router.kind === "told" ? saidByRouter(router.value, capability) : null;
  return [
    ...own.length > 0 ? own.map(saidByAgent) : [absent("agent", serves, "no_serve")],
    routed ?? absent("router", router, "no_alias"),
    ...own.length > 0 ? own.map(saidByProbe) : [absent("probe", serves, "no_serve")],
  ];
}

/** What a perspective says when it has nothing of that name, or nothing at all. */
function absent(perspective: Perspective, told: Told<unknown>, code: string): Said {
  if (told.kind === "told") return said(perspective, { standing: "empty", code, why: "" });
  const standing = told.kind === "none" ? "empty" : told.kind;
  return said(perspective, { standing, code: told.code, why: told.detail });
}

const AGENT = {
  running: "served",
  stopping: "idle",
  stopped: "idle",
  foreign: "wrong",
  unknown: "unknown",
} as const;

function saidByAgent(serve: ServeTold): Said {
  return {
    ...said("agent", { standing: AGENT[serve.state], code: serve.state, why: serve.why }),
    ...named(serve),
    model: serve.model,
    revision: serve.revision,
  };
}

function named({ serve, tier }: ServeTold): Pick<Said, "serve" | "tier"> {
  return { serve, tier };
}

function saidByProbe(serve: ServeTold): Said {
  const { proof } = serve;
  if (proof === null) {
    const why = `nothing to prove: the serve is ${serve.state}`;
    return { ...said("probe", { standing: "idle", code: "not_running", why }), ...named(serve) };
  }
  if (proof.kind !== "told") return { ...absent("probe", proof, "not_told"), ...named(serve) };
  const { model, revision } = proof.value;
  return { ...said("probe", proven(proof.value)), ...named(serve), model, revision };
}

function proven({ proof, health, observed }: ProofTold): Pick<Said, "standing" | "code" | "why"> {
  switch (proof) {
    case "differs":
    case "undeclared":
      return { standing: "wrong", code: "identity_differs", why: observed };
    case "absent":
      return { standing: "idle", code: "not_listening", why: observed };
    case "unknown":
      return { standing: "unknown", code: "identity_unknown", why: observed };
    case "proven":
      return health === "healthy"
        ? { standing: "served", code: "proven", why: observed }
        : health === "silent"
        ? { standing: "idle", code: "engine_not_ready", why: observed }
        : { standing: "unknown", code: "engine_not_asked", why: observed };
  }
}

/** What a router says of an alias; null when it has none of that name. */
function saidByRouter(router: RouterTold, capability: string): Said | null {
  const id = router.aliases.get(capability);
  if (id === undefined) return null;
  const tier = router.tiers.find((one) => one.tier === id);
  if (tier === undefined) {
    const why = `the alias names the tier ${id}, which the router does not tell of`;
    return { ...said("router", { standing: "unknown", code: "tier_untold", why }), tier: id };
  }
  const { members } = tier;
  const ready = members.filter(({ state }) => state === "ready");
  const [shown] = ready.length > 0 ? ready : members;
  const ages = (ready.length > 0 ? ready : members).flatMap(({ ageMs }) => ageMs ?? []);
  return {
    ...said("router", routed(router, tier.intent, members, ready)),
    tier: id,
    // What a ready member proved is what was expected of it.
    model: shown?.expected ?? null,
    age_ms: ages.length === 0 ? null : Math.max(...ages),
  };
}

function routed(
  { draining }: RouterTold,
  intent: "admit" | "quiesce",
  members: readonly MemberTold[],
  ready: readonly MemberTold[],
): Pick<Said, "standing" | "code" | "why"> {
  const others = members.filter(({ state }) => state !== "ready")
    .map(({ id, state, observed }) => `${id} ${state}: ${observed}`).join("; ");
  if (ready.length > 0) {
    if (draining) return { standing: "idle", code: "router_draining", why: "the router ends" };
    if (intent === "quiesce") {
      return { standing: "idle", code: "quiesced", why: "the tier takes no requests" };
    }
    return others === "" ? { standing: "served", code: "ready", why: "" } : {
      standing: "served",
      code: "ready_in_part",
      why: `${ready.length} of ${members.length} members; ${others}`,
    };
  }
  const wrong = members.some(({ state }) => state === "identity_mismatch");
  const unknown = members.some(({ state }) => state === "unknown" || state === "unparseable");
  const why = members.length === 0 ? "the tier has no member" : others;
  if (wrong) return { standing: "wrong", code: "identity_mismatch", why };
  return unknown
    ? { standing: "unknown", code: "not_probed", why }
    : { standing: "idle", code: "no_member_ready", why };
}

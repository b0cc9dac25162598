/**
 * Everything a plan says, resolved: topology, agent, bundle, receiver. Changes nothing on the host.
 * Applying calls it again.
 *
 * @module
 */

import { type Plan, planShape } from "../../../lib/bootstrap/plan.ts";
import type { Identity, Standing } from "../../../lib/bootstrap/requests.ts";
import { type Refusal, refuse } from "../../../lib/core/refusal.ts";
import { CatalogueShelf } from "../../../lib/dispatch/catalogue_shelf.ts";
import type { Outcome } from "../../../lib/dispatch/outcome.ts";
import { findToken } from "../../../lib/dispatch/token_source.ts";
import { visit } from "../../../lib/dispatch/visit.ts";
import type { Target } from "../../../lib/topology/resolve.ts";
import { recoveryWay, SSH_AFTER } from "../../../lib/topology/transport.ts";
import { prepareDispatch, type Ready } from "../dispatch.ts";
import type { DispatchFlags } from "../dispatch_flags.ts";
import { noHome, type WrongFile } from "../fleet_source.ts";
import type { Operator } from "../operator.ts";
import type { BootstrapPorts } from "./apply.ts";
import type { Ask } from "./ask_settled.ts";
import { within } from "../../../lib/host/paths.ts";
import { type BundleFile, readBundleFile } from "./bundle_file.ts";
import { refuseScope } from "./grants.ts";
import { type AgentSeen, type Health, refuseAgent } from "./judge_agent.ts";
import { bootstrapFolder, receiptPorts } from "./receipts.ts";
import { receiverWay } from "./receiver_way.ts";

/** What a person says. */
export interface BootstrapFlags extends DispatchFlags {
  readonly target: Target;
  /** The private key of the receiver's account. */
  readonly key: string;
  /** Where this operator's own scopes are. */
  readonly grants?: string;
  /** The explicit choice to go by the receiver. */
  readonly recoverViaSsh: boolean;
}

/** What a plan is made of besides. */
export interface PlanFlags extends BootstrapFlags {
  readonly bundle: string;
  readonly receiverBuild: string;
  readonly expectCatalogue: string;
}

/** A host, and the ways to it. */
export interface Reached {
  readonly kind: "reached";
  readonly host: string;
  readonly node: string;
  readonly fingerprint: string;
  readonly agent: BootstrapPorts["agent"];
  readonly ask: Ask;
  /** Where this operator keeps receipts and pinned keys. */
  readonly folder: string;
}

/** A host whose agent is there: nothing is opened to its receiver. */
export interface Answering {
  readonly kind: "answering";
  readonly health: Health;
  readonly folder: string;
}

/** Phases in which a receiver has something to go back from. */
const AFTER_INSTALLED: readonly Standing["phase"][] = [
  ...["activated", "restarted", "rollback_started", "rolled_back", "manual_recovery"] as const,
];
const PROOF_MS = 5000;

/** Finds the one declared host, proves that its agent is down, and opens the way to its receiver. */
export async function reachHost(
  operator: Operator,
  flags: BootstrapFlags,
): Promise<Reached | Answering | WrongFile | Refusal> {
  if (flags.target.kind !== "host") {
    return refuse("target_not_a_host", "one declared host at a time", "--target host:<id>");
  }
  const home = flags.home ?? operator.home;
  if (home === null) return noHome();
  const grants = flags.grants ?? within(home, "grants.toml");
  const ungranted = await refuseScope(operator.ports, grants, flags.target.id);
  if (ungranted !== null) return ungranted;
  const ready = await prepareDispatch(operator, flags, flags.target);
  if (ready.kind !== "ready") return ready;
  const [planned] = ready.plan.hosts;
  if (planned === undefined) throw new Error("a plan for one host has none");
  const look = () => lookAtAgent(operator, ready, flags);
  const outcome = await look();
  const seen = seenIn(outcome);
  const folder = bootstrapFolder(home);
  if (seen.kind === "answers") return { kind: "answering", health: seen.health, folder };
  const present = refuseAgent(seen);
  if (present !== null) return present;
  const way = recoveryWay(ready.index, {
    host: planned.host,
    recovery: flags.recoverViaSsh,
    failure: outcome?.failure ?? null,
  });
  if (way.kind === "refused") return way;
  const ask = await receiverWay(operator, folder, way.transport, flags.key);
  if (typeof ask !== "function") return ask;
  return {
    kind: "reached",
    host: planned.host,
    node: planned.node,
    fingerprint: ready.plan.fingerprint,
    agent: async () => seenIn(await look()),
    ask,
    folder,
  };
}

/**
 * The plan as everything is now, and the bundle it is about. For an operation that was begun, what is
 * gone back to is what was current before it.
 */
export async function resolvePlan(
  reached: Reached,
  operator: Operator,
  flags: PlanFlags,
  operationId: string | null,
): Promise<{ readonly kind: "plan"; readonly plan: Plan; readonly bundle: BundleFile } | Refusal> {
  const bundle = await readBundleFile(operator.ports, flags.bundle);
  if (bundle.kind === "refused") return bundle;
  const answer = await reached.ask({
    protocol: 1,
    verb: "identity",
    expected_node: reached.node,
  });
  if ("code" in answer) return refuse(answer.code, "the receiver did not say who it is");
  const { identity } = answer;
  if (identity === undefined || identity.node !== reached.node) {
    return refuse("wrong_node", "the receiver is of another node");
  }
  if (identity.build_digest !== flags.receiverBuild) {
    return refuse("receiver_mismatch", "the receiver is another build than the pinned one");
  }
  const { os, arch } = identity.platform;
  if (os !== bundle.platform.os || arch !== bundle.platform.arch) {
    return refuse("digest_mismatch", `the bundle is for another platform than ${os}-${arch}`);
  }
  const isOurs = answer.operation_id === operationId;
  if (answer.unfinished && answer.operation_id === "none") {
    return refuse("receiver_busy", "another connection changes this host right now", "wait for it");
  }
  if (answer.unfinished && !isOurs) {
    return refuse(
      "operation_conflict",
      "another operation of this receiver is not settled",
      "go on with that one: the same apply, with --operation and its id",
    );
  }
  const plan = planShape.parse({
    schema: 1,
    target: `host:${reached.host}`,
    topology_fingerprint: reached.fingerprint,
    expected_node: reached.node,
    bundle: bundle.facts,
    receiver: {
      build_digest: identity.build_digest,
      config_digest: identity.config_digest,
      roots_digest: identity.roots_digest,
    },
    prior: priorOf(answer, identity, isOurs),
    platform: identity.platform,
    supervisor: identity.supervisor,
    flags: {
      bootstrap_authorized: identity.bootstrap_authorized,
      recover_via_ssh: flags.recoverViaSsh,
    },
    expected: { protocol: 1, catalogue_digest: flags.expectCatalogue },
  });
  return { kind: "plan", plan, bundle };
}

/** What the receiver says of what would be gone back to; null when nothing there is known. */
function priorOf(
  { phase, unfinished, current, prior }: Standing,
  { generations }: Identity,
  isOurs: boolean,
): Plan["prior"] {
  // From the first step of activating on, the receiver remembers what was current before.
  const isActivated = isOurs && (unfinished || AFTER_INSTALLED.includes(phase));
  const digest = isActivated ? prior : current;
  const generation = isActivated ? generations.prior : generations.current;
  return digest === "none" || generation === undefined
    ? null
    : { manifest_digest: digest, ...generation };
}

/** The ports of an attempt on a host. */
export function attemptPorts(
  operator: Operator,
  { agent, ask, folder }: Reached,
  acceptSeconds: number,
): BootstrapPorts {
  const { clock } = operator.ports;
  return {
    ...receiptPorts(operator, folder),
    ask,
    agent,
    wait: async (looks) => {
      if (looks > acceptSeconds) return false;
      await clock.sleep(1000);
      return true;
    },
  };
}

async function lookAtAgent(
  { ports, dispatch }: Operator,
  { plan, tokens, authorities }: Ready,
  { connectTimeout }: BootstrapFlags,
): Promise<Outcome | null> {
  const [host] = plan.hosts;
  if (host === undefined) return null;
  const connectMs = connectTimeout * 1000;
  const limits = { connectMs, proofMs: PROOF_MS, askMs: PROOF_MS, mostBytes: 64 * 1024 };
  return await visit(
    {
      clock: ports.clock,
      open: dispatch.open(authorities),
      token: ({ token }) => findToken(tokens, token),
      catalogues: new CatalogueShelf(ports.sha256),
      onMutation: () => {},
    },
    host,
    { kind: "health" },
    limits,
    new AbortController().signal,
  );
}

/** What an outcome says of the agent: absent only with the proof that nothing was asked of it. */
export function seenIn(outcome: Outcome | null): AgentSeen {
  if (outcome === null) return { kind: "uncertain" };
  if (outcome.kind === "done") return { kind: "answers", health: outcome.health ?? {} };
  if (outcome.kind === "unauthorized") return { kind: "rejects" };
  const { failure, notSent } = outcome;
  return notSent && failure !== null && SSH_AFTER[failure]
    ? { kind: "absent" }
    : { kind: "uncertain", why: outcome.code ?? outcome.kind };
}

/**
 * Everything a plan says, resolved: topology, agent, bundle, receiver. Changes nothing on the host.
 * Applying calls it again.
 *
 * @module
 */

import { type Plan, planShape } from "../../../lib/bootstrap/plan.ts";
import type { Json } from "../../../lib/core/canonical_json.ts";
import { timestamp } from "../../../lib/core/clock.ts";
import { type Refusal, refuse } from "../../../lib/core/refusal.ts";
import { CatalogueShelf } from "../../../lib/dispatch/catalogue_shelf.ts";
import type { Outcome } from "../../../lib/dispatch/outcome.ts";
import { findToken } from "../../../lib/dispatch/token_source.ts";
import { visit } from "../../../lib/dispatch/visit.ts";
import { within } from "../../../lib/host/paths.ts";
import type { Target } from "../../../lib/topology/resolve.ts";
import { recoveryWay, SSH_AFTER } from "../../../lib/topology/transport.ts";
import { prepareDispatch, type Ready } from "../dispatch.ts";
import type { DispatchFlags } from "../dispatch_flags.ts";
import { noHome, type WrongFile } from "../fleet_source.ts";
import type { Operator } from "../operator.ts";
import { type AgentSeen, type BootstrapPorts, refuseAgent } from "./apply.ts";
import { type BundleFile, readBundleFile } from "./bundle_file.ts";
import { type AskReceiver, receiverWay } from "./receiver_way.ts";

/** What a person says. */
export interface BootstrapFlags extends DispatchFlags {
  readonly target: Target;
  /** The private key of the receiver's account. */
  readonly key: string;
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
  readonly ask: AskReceiver;
  /** Where this operator keeps receipts and pinned keys. */
  readonly folder: string;
}

/** A host whose agent is there: nothing is opened to its receiver. */
export interface Answering {
  readonly kind: "answering";
  readonly health: { readonly [key: string]: Json };
  readonly folder: string;
}

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
  const ready = await prepareDispatch(operator, flags, flags.target);
  if (ready.kind !== "ready") return ready;
  const [planned] = ready.plan.hosts;
  if (planned === undefined) throw new Error("a plan for one host has none");
  const look = () => lookAtAgent(operator, ready, flags);
  const outcome = await look();
  const seen = seenIn(outcome);
  const folder = within(home, "bootstrap");
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

/** The plan as everything is now, and the bundle it is about. */
export async function resolvePlan(
  reached: Reached,
  operator: Operator,
  flags: PlanFlags,
): Promise<{ readonly kind: "plan"; readonly plan: Plan; readonly bundle: BundleFile } | Refusal> {
  const bundle = await readBundleFile(operator.ports, flags.bundle);
  if (bundle.kind === "refused") return bundle;
  const answer = await reached.ask({
    protocol: 1,
    verb: "identity",
    expected_node: reached.node,
  });
  if ("code" in answer) return refuse(answer.code, "the receiver did not say who it is");
  const { identity } = answer as Extract<typeof answer, { ok: true }>;
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

/** The ports of an attempt on a host. */
export function attemptPorts(
  operator: Operator,
  { agent, ask, folder }: Reached,
  acceptSeconds: number,
): BootstrapPorts {
  const { clock } = operator.ports;
  let waited = 0;
  return {
    ...receiptPorts(operator, folder),
    ask: (request, bundle) => {
      waited = 0;
      return ask(request, bundle);
    },
    agent,
    waitForAgent: async () => {
      if (waited++ >= acceptSeconds) return false;
      await clock.sleep(1000);
      return true;
    },
  };
}

/** Where receipts are kept. */
export function receiptPorts(
  { ports }: Operator,
  folder: string,
): Pick<BootstrapPorts, "record" | "now"> {
  const receipts = within(folder, "receipts");
  return {
    record: async (receipt) => {
      const made = await ports.directories.make(receipts);
      if (made.kind === "refused") return made;
      const bytes = new TextEncoder().encode(`${JSON.stringify(receipt, null, 2)}\n`);
      const path = within(receipts, `${receipt.operation_id}.json`);
      const written = await ports.files.replaceFile(path, bytes, 0o600);
      return written.kind === "refused" ? written : null;
    },
    now: () => timestamp(ports.clock.now()),
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
    : { kind: "uncertain" };
}

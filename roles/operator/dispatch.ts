/**
 * Asking agents: topology -> plan -> visits -> outcomes. Shared by every command that does.
 *
 * @module
 */

import type { Ask } from "../../lib/dispatch/ask.ts";
import { CatalogueShelf } from "../../lib/dispatch/catalogue_shelf.ts";
import { answerBytesFor, fanOut, MOST_AT_ONCE } from "../../lib/dispatch/fan_out.ts";
import type { Outcome } from "../../lib/dispatch/outcome.ts";
import { type Plan, planDispatch, type PlannedHost } from "../../lib/dispatch/plan.ts";
import { findToken, type TokenSources } from "../../lib/dispatch/token_source.ts";
import { visit } from "../../lib/dispatch/visit.ts";
import { type Refusal, refuse } from "../../lib/core/refusal.ts";
import type { Secret } from "../../lib/core/secret.ts";
import { within } from "../../lib/host/paths.ts";
import type { ProgramContext } from "../../lib/terminal/program.ts";
import { type FleetIndex, indexFleet } from "../../lib/topology/fleet_index.ts";
import { identityOf, type Target } from "../../lib/topology/resolve.ts";
import type { DispatchFlags } from "./dispatch_flags.ts";
import { fleetSource, type WrongFile } from "./fleet_source.ts";
import { fingerprintOf, type Operator } from "./operator.ts";
import { Progress } from "./progress.ts";

/** Whom, and how, before anything is sent. */
export interface Ready {
  readonly kind: "ready";
  readonly index: FleetIndex;
  readonly plan: Plan;
  readonly tokens: TokenSources;
  /** The folder of the token store; null when none is known. */
  readonly store: string | null;
  /** PEM texts. */
  readonly authorities: readonly string[];
}

/** What was asked, and how it ended. */
export interface Dispatched {
  readonly index: FleetIndex;
  readonly plan: Plan;
  /** In the order of the plan; hosts about which nothing true can be said are not in it. */
  readonly outcomes: readonly Outcome[];
  /** Those hosts. */
  readonly silent: readonly string[];
}

/** Steps of the proof of who answers may take so long each, in milliseconds. */
export const PROOF_MS = 5000;
const MOST_CA_BYTES = 1024 * 1024;

/** Reads the topology, makes the plan, and finds out where tokens are. */
export async function prepareDispatch(
  operator: Operator,
  flags: DispatchFlags,
  target: Target,
): Promise<Ready | WrongFile | Refusal> {
  const source = await fleetSource(operator, flags.topology, flags.home);
  if (source.kind !== "fleet") return source;
  const index = indexFleet(source.fleet);
  const plan = planDispatch(index, {
    target,
    identity: identityOf(source.fleet),
    fingerprint: fingerprintOf(source.fleet),
    expected: flags.fingerprint ?? null,
  });
  if (plan.kind === "refused") return plan;
  const { environmentToken } = operator.dispatch;
  if (plan.hosts.length > 1 && (flags.tokenFile !== undefined || environmentToken !== null)) {
    return refuse(
      "token_for_many",
      `one token was given for ${plan.hosts.length} hosts; a token is for one`,
      "leave --token-file and ANVIL_TOKEN out: the token store has one for each",
    );
  }
  const authorities = await authoritiesOf(operator, flags.ca);
  if ("kind" in authorities) return authorities;
  const home = flags.home ?? operator.home;
  const store = flags.tokens ?? (home === null ? null : within(home, "tokens"));
  return {
    kind: "ready",
    index,
    plan,
    authorities,
    store,
    tokens: {
      files: operator.ports.files,
      tokenFile: flags.tokenFile ?? null,
      environment: environmentToken,
      storePath: store === null ? null : (name) => within(store, name),
    },
  };
}

/** Asks one host of a plan; `secret` stands in for the token that would be looked up. */
export type Visitor = (
  host: PlannedHost,
  ask: Ask,
  signal: AbortSignal,
  secret?: Secret,
) => Promise<Outcome | null>;

/** What visits the hosts of a plan, with one shelf of catalogues for all of them. */
export function visitorOf(
  operator: Operator,
  { plan, tokens, authorities }: Ready,
  flags: Pick<DispatchFlags, "connectTimeout" | "timeout">,
  onMutation: () => void,
  catalogues: CatalogueShelf = new CatalogueShelf(operator.ports.sha256),
): Visitor {
  const ports = {
    clock: operator.ports.clock,
    open: operator.dispatch.open(authorities),
    catalogues,
    onMutation,
  };
  const limits = {
    connectMs: flags.connectTimeout * 1000,
    proofMs: PROOF_MS,
    askMs: flags.timeout === undefined ? null : flags.timeout * 1000,
    mostBytes: answerBytesFor(plan.hosts.length),
  };
  return (host, ask, signal, secret) => {
    const token = () =>
      secret === undefined
        ? findToken(tokens, host.token)
        : Promise.resolve({ kind: "ok", secret } as const);
    return visit({ ...ports, token }, host, ask, limits, signal);
  };
}

/** Asks every host of the plan. A stop signal ends it: what is true by then is told. */
export async function runDispatch(
  context: ProgramContext,
  operator: Operator,
  ready: Ready,
  flags: DispatchFlags,
  ask: Ask,
  onMutation: () => void = () => {},
): Promise<Dispatched> {
  const visitor = visitorOf(operator, ready, flags, onMutation);
  return await runVisits(
    context,
    operator,
    ready,
    { json: flags.json, atOnce: MOST_AT_ONCE },
    (host, signal) => visitor(host, ask, signal),
  );
}

/** Visits every host of the plan in some way, and gathers what came of it. */
export async function runVisits(
  context: ProgramContext,
  operator: Operator,
  { index, plan }: Ready,
  { json, atOnce }: { readonly json: boolean; readonly atOnce: number },
  each: (host: PlannedHost, signal: AbortSignal) => Promise<Outcome | null>,
): Promise<Dispatched> {
  const stop = new AbortController();
  const ignore = operator.dispatch.onStop(() => stop.abort());
  const progress = new Progress(context.terminal, plan.hosts.length, json);
  try {
    const gave = await fanOut(plan.hosts, (host) => each(host, stop.signal), {
      atOnce,
      signal: stop.signal,
      onGave: (outcome) => progress.tell(outcome),
    });
    return {
      index,
      plan,
      outcomes: gave.filter((one) => one !== null),
      silent: plan.hosts.filter((_, at) => gave[at] === null).map(({ host }) => host),
    };
  } finally {
    progress.end();
    ignore();
  }
}

async function authoritiesOf(
  { ports }: Operator,
  file: string | undefined,
): Promise<readonly string[] | Refusal> {
  if (file === undefined) return [];
  const read = await ports.files.readBounded(file, MOST_CA_BYTES);
  if (read.kind === "refused") return read;
  const text = read.kind === "absent" ? "" : new TextDecoder().decode(read.bytes);
  return text.includes("-----BEGIN CERTIFICATE-----") ? [text] : refuse(
    "ca_unusable",
    read.kind === "absent" ? "there is no file where --ca points" : "--ca holds no certificate",
    "name a PEM file of certificates",
  );
}

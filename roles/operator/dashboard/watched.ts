/**
 * Whom the dashboard looks at, and with which token: the live topology of the home or a file, read
 * again from time to time, and per host a token of its own that may only read.
 *
 *     <store>/<host>-dashboard     as `tokens issue --client dashboard --scope '*:read'` puts it there
 *     <store>/<token>              the operator's own, only when that was asked for
 *
 * @module
 */

import type { Refusal } from "../../../lib/core/refusal.ts";
import type { PlannedHost } from "../../../lib/dispatch/plan.ts";
import { findToken, type FoundToken } from "../../../lib/dispatch/token_source.ts";
import type { TokenSources } from "../../../lib/dispatch/token_source.ts";
import { prepareDispatch } from "../dispatch.ts";
import { expectedServes } from "../expected_serves.ts";
import type { WrongFile } from "../fleet_source.ts";
import type { Operator } from "../operator.ts";
import { readSeen, type Seen } from "../seen.ts";
import type { Watched } from "./fleet_watch.ts";

/** How the command was given. */
export interface WatchAsk {
  readonly home?: string;
  readonly topology?: string;
  readonly tokens?: string;
  readonly ca?: string;
  readonly operatorTokens: boolean;
  readonly connectTimeout: number;
}

/** What was read. */
export interface WatchRead {
  readonly kind: "read";
  readonly watched: Watched;
  readonly tokens: TokenSources;
  /** PEM texts. */
  readonly authorities: readonly string[];
}

/** The client whose tokens the dashboard uses. */
export const CLIENT = "dashboard";

/** Reads the topology, and what the home expects of it. */
export async function readWatched(
  operator: Operator,
  ask: WatchAsk,
): Promise<WatchRead | WrongFile | Refusal> {
  // One token of the environment would be for one host.
  const dispatch = { ...operator.dispatch, environmentToken: null };
  const flags = { ...ask, json: false, requireAll: false };
  const ready = await prepareDispatch({ ...operator, dispatch }, flags, { kind: "all" });
  if (ready.kind !== "ready") return ready;
  const { index, plan, tokens, authorities } = ready;
  const { home = operator.home ?? undefined, topology } = ask;
  const expected = topology !== undefined || home === undefined
    ? []
    : await expectedServes(operator, home, index.fleet);
  if ("kind" in expected) return expected;
  return {
    kind: "read",
    watched: {
      name: topology === undefined ? "live in the home" : "of a file",
      ...{ index, fingerprint: plan.fingerprint, hosts: plan.hosts, expected },
    },
    tokens,
    authorities,
  };
}

/** What earlier commands saw of the hosts; nothing where there is no home, or nothing readable. */
export async function readSeenBefore({ ports, home: fallback }: Operator, ask: WatchAsk): Promise<
  Seen
> {
  const home = ask.home ?? fallback;
  const read = home === null ? new Map() : await readSeen(ports.files, home);
  return "kind" in read ? new Map() : read;
}

/** The token with which a host is asked. */
export async function dashboardToken(
  tokens: TokenSources,
  { host, token }: Pick<PlannedHost, "host" | "token">,
  operatorTokens: boolean,
): Promise<FoundToken> {
  const own = await findToken(tokens, `${host}-${CLIENT}`.slice(0, 63));
  if (own.kind === "ok" || own.code !== "credential_missing") return own;
  if (operatorTokens) return await findToken(tokens, token);
  const nextStep = `anvil-operator tokens issue --target host:${host} --client ${CLIENT} ` +
    `--scope '*:read', or start the dashboard with --operator-tokens`;
  return { ...own, nextStep };
}

/**
 * Flags of every command that asks agents.
 *
 * @module
 */

import { parseTarget, type Target } from "../../lib/topology/resolve.ts";
import { RESOURCE_ROLES } from "../../lib/topology/vocabulary.ts";
import { type FleetFlags, HOME_FLAG, JSON_FLAG, textFlag } from "./flags.ts";
import { fleetSource } from "./fleet_source.ts";
import type { Operator } from "./operator.ts";

/** What they all take. */
export interface DispatchFlags extends FleetFlags {
  readonly topology?: string;
  readonly tokens?: string;
  readonly tokenFile?: string;
  readonly ca?: string;
  readonly fingerprint?: string;
  readonly connectTimeout: number;
  readonly timeout?: number;
  readonly requireAll: boolean;
}

/** `--target`; completed with the hosts of the home's live topology. */
export function targetFlag(operator: Operator) {
  return {
    kind: "parsed",
    parse: targetOf,
    proposeCompletions: async (partial: string) => {
      const source = await fleetSource(operator, undefined, undefined);
      const hosts = source.kind === "fleet" ? Object.keys(source.fleet.hosts) : [];
      return [
        "all",
        ...hosts.map((id) => `host:${id}`),
        ...RESOURCE_ROLES.map((one) => `role:${one}`),
      ]
        .filter((one) => one.startsWith(partial));
    },
    brief: "host:<id>, role:<role> or all",
    placeholder: "TARGET",
  } as const;
}

/** The flags. */
export const DISPATCH_FLAGS = {
  json: JSON_FLAG,
  home: HOME_FLAG,
  topology: textFlag("A topology; without it the live one of the home", "FILE"),
  tokens: textFlag(
    "The token store: a folder of files, mode 0600 (default: tokens in the home)",
    "DIR",
  ),
  tokenFile: textFlag("A file with the token, mode 0600; for one host", "FILE"),
  ca: textFlag("Authorities of https endpoints, PEM, besides the well-known ones", "FILE"),
  fingerprint: {
    kind: "parsed",
    parse: fingerprint,
    optional: true,
    brief: "Ask nobody unless the topology is this one (64 hex digits)",
    placeholder: "HEX",
  },
  connectTimeout: {
    kind: "parsed",
    parse: seconds,
    default: "2",
    brief: "Seconds a connection may take",
    placeholder: "S",
  },
  timeout: {
    kind: "parsed",
    parse: seconds,
    optional: true,
    brief: "Seconds an answer may take (default: the operation's deadline and 5 s)",
    placeholder: "S",
  },
  requireAll: {
    kind: "boolean",
    default: false,
    withNegated: false,
    brief: "Exit 0 only when every host is done",
  },
} as const;

/** Reads a target. */
export function targetOf(text: string): Target {
  const target = parseTarget(text);
  if (target.kind === "refused") throw new SyntaxError(target.detail);
  return target;
}

/** Reads a number of seconds. */
export function seconds(text: string): number {
  const value = Number(text);
  if (!/^\d{1,5}(\.\d{1,3})?$/.test(text) || value <= 0) {
    throw new SyntaxError("expected a number of seconds above 0, as 2 or 0.5");
  }
  return value;
}

function fingerprint(text: string): string {
  if (!/^[0-9a-f]{64}$/.test(text)) throw new SyntaxError("expected 64 lower-case hex digits");
  return text;
}

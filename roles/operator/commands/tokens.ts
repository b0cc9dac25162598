/** `anvil-operator tokens ...`. @module */

import { buildCommand, buildRouteMap } from "@stricli/core";
import type { Json } from "../../../lib/core/canonical_json.ts";
import { newId } from "../../../lib/core/ids.ts";
import { refuse } from "../../../lib/core/refusal.ts";
import { objectOf } from "../../../lib/dispatch/reply.ts";
import { scopeShape } from "../../../lib/operation/authorize.ts";
import type { ProgramContext } from "../../../lib/terminal/program.ts";
import { table } from "../../../lib/terminal/table.ts";
import type { Target } from "../../../lib/topology/resolve.ts";
import { type Dispatched, prepareDispatch, type Ready, runDispatch } from "../dispatch.ts";
import { DISPATCH_FLAGS, type DispatchFlags, seconds, targetFlag } from "../dispatch_flags.ts";
import { hostId } from "../flags.ts";
import type { Operator } from "../operator.ts";
import { reportOutcomes } from "../outcome_report.ts";
import { reportFailure } from "../report.ts";
import { change, rotateOver, SHOWN, withAbsent } from "../token_reach.ts";

/** The commands on tokens of nodes. */
export function tokensRoutes(operator: Operator) {
  return buildRouteMap({
    routes: {
      list: listCommand(operator),
      issue: issueCommand(operator),
      rotate: rotateCommand(operator),
      revoke: revokeCommand(operator),
    },
    docs: {
      brief: "List, issue, rotate and revoke the tokens that nodes know",
      fullDescription:
        "A token is made here, kept here with mode 0600, and known to its node by its hash only.",
    },
  });
}

type TargetFlags = DispatchFlags & { readonly target: Target };

const flagsOf = (operator: Operator) =>
  ({ ...DISPATCH_FLAGS, target: targetFlag(operator) }) as const;

const yes = (brief: string) =>
  ({ kind: "boolean", default: false, withNegated: false, brief }) as const;

const CLIENT = {
  kind: "parsed",
  parse: hostId,
  optional: true,
  placeholder: "NAME",
} as const;

const DAYS = {
  kind: "parsed",
  parse: days,
  optional: true,
  brief: "Days until the new token expires (default: never, or as long as the one it replaces)",
  placeholder: "N",
} as const;

function listCommand(operator: Operator) {
  return buildCommand<TargetFlags, [], ProgramContext>({
    parameters: { flags: flagsOf(operator) },
    docs: {
      brief: "List the clients that nodes know, and the ids of their tokens",
      fullDescription: "Example:\n  anvil-operator tokens list --target all",
    },
    async func(flags) {
      const ready = await prepareDispatch(operator, flags, flags.target);
      if (ready.kind !== "ready") return reportFailure(this, ready, flags.json);
      const dispatched = await runDispatch(this, operator, ready, flags, {
        ...{ kind: "call", name: "tokens.list", input: {}, dryRun: false, confirm: false },
        key: "tokens-list-is-a-read",
      });
      reportOutcomes(this, dispatched, { ...flags, show: () => "", whole: tokenTable });
    },
  });
}

function tokenTable({ outcomes }: Dispatched): { readonly text: string; readonly data: Json } {
  const rows = outcomes.flatMap((outcome) => {
    const tokens = objectOf(outcome.result)?.["tokens"];
    if (!Array.isArray(tokens)) {
      return [{ host: outcome.host, outcome: outcome.kind, code: outcome.code }];
    }
    return tokens.map((token: Json) => ({ host: outcome.host, ...objectOf(token) }));
  }) as { readonly [key: string]: Json | undefined }[];
  const word = (value: Json | undefined) => typeof value === "string" ? value : "-";
  const text = table(
    ["host", "client", "token", "state", "created", "expires", "scopes"],
    rows.map((row) => [
      word(row["host"]),
      row["outcome"] === undefined ? word(row["client"]) : `(${word(row["outcome"])})`,
      word(row["id"] ?? row["code"]),
      word(row["state"]),
      word(row["created_at"]),
      row["outcome"] === undefined
        ? row["expires_at"] === null ? "never" : word(row["expires_at"])
        : "-",
      Array.isArray(row["scopes"]) ? row["scopes"].map((one: Json) => word(one)).join(" ") : "-",
    ]),
  );
  return { text, data: rows as Json };
}

interface IssueFlags extends TargetFlags {
  readonly client: string;
  readonly scope?: readonly string[];
  readonly expiresInDays?: number;
  readonly saveAs?: string;
  readonly dryRun: boolean;
}

function issueCommand(operator: Operator) {
  return buildCommand<IssueFlags, [], ProgramContext>({
    parameters: {
      flags: {
        ...flagsOf(operator),
        client: {
          kind: "parsed",
          parse: hostId,
          brief: "The client the token is for",
          placeholder: "NAME",
        },
        scope: {
          kind: "parsed",
          parse: scope,
          variadic: true,
          optional: true,
          brief: "What a new client may do, as node.*:read; once per scope",
        },
        expiresInDays: DAYS,
        saveAs: {
          kind: "parsed",
          parse: hostId,
          optional: true,
          brief: "Its name in the token store (default: HOST-CLIENT)",
          placeholder: "NAME",
        },
        dryRun: yes("Show what would be done; make nothing"),
      },
    },
    docs: {
      brief: "Make a token for a client of one node",
      fullDescription:
        "The token is written to the store with mode 0600, and printed nowhere. Who asks must hold\n" +
        "every scope that is given.\n\n" +
        "Example:\n  anvil-operator tokens issue --target host:gpu-a --client dashboard " +
        "--scope '*:read' --expires-in-days 90",
    },
    async func(flags) {
      const ready = await prepareDispatch(operator, flags, flags.target);
      if (ready.kind !== "ready") return reportFailure(this, ready, flags.json);
      const [only] = ready.plan.hosts;
      if (only === undefined || ready.plan.hosts.length > 1) {
        const many = refuse("one_host_only", "a token is issued on one host at a time");
        return reportFailure(this, many, flags.json);
      }
      const { client, scope: scopes, expiresInDays } = flags;
      await change(this, operator, ready, flags, () => ({
        operation: "tokens.issue",
        input: {
          client,
          ...(scopes === undefined ? {} : { scopes: [...scopes] }),
          ...lifetime(expiresInDays),
        },
        name: flags.saveAs ?? `${only.host}-${client}`.slice(0, 63),
        store: ready.store,
        replace: false,
      }));
    },
  });
}

interface RotateFlags extends TargetFlags {
  readonly anew: boolean;
  readonly overlap: number;
  readonly expiresInDays?: number;
  readonly dryRun: boolean;
}

function rotateCommand(operator: Operator) {
  return buildCommand<RotateFlags, [], ProgramContext>({
    parameters: {
      flags: {
        ...flagsOf(operator),
        overlap: {
          kind: "parsed",
          parse: seconds,
          default: "3600",
          brief: "Seconds for which the old tokens stay valid",
          placeholder: "S",
        },
        expiresInDays: DAYS,
        anew: yes("Rotate every host again, also those an unfinished rotation is done with"),
        dryRun: yes("Show which tokens would end and when; make nothing"),
      },
    },
    docs: {
      brief: "Replace the operator's own token on hosts",
      fullDescription:
        "One host after the other: a new token is made and kept aside, the node is told its hash, the\n" +
        "new one is proven, and takes the old one's place in the store. Every other token of the same\n" +
        "client ends after the overlap. Which those are, and when, is told before anything is made.\n" +
        "Stopped in between, or with a host that was down, the same command goes on with the hosts that\n" +
        "are left; after a day it begins anew.\n\n" +
        "Examples:\n  anvil-operator tokens rotate --target all --dry-run\n" +
        "  anvil-operator tokens rotate --target host:gpu-a --overlap 600",
    },
    async func(flags) {
      const ready = await prepareDispatch(operator, flags, flags.target);
      if (ready.kind !== "ready") return reportFailure(this, ready, flags.json);
      const unfit = rotationRefusal(operator, ready, flags);
      if (unfit !== null) return reportFailure(this, unfit, flags.json);
      const input = {
        overlap_seconds: Math.round(flags.overlap),
        ...lifetime(flags.expiresInDays),
      };
      await rotateOver(this, operator, ready, flags, (name) => ({
        ...{ operation: "tokens.rotate", input, name, store: ready.store, replace: true },
      }));
    },
  });
}

/** Only what the store holds can be replaced in it, and only what one host alone uses. */
function rotationRefusal({ dispatch }: Operator, { plan, index }: Ready, flags: RotateFlags) {
  if (flags.tokenFile !== undefined || dispatch.environmentToken !== null) {
    return refuse(
      "rotation_outside_store",
      "a rotation puts the new token into the store, and the old one is not from there",
      "leave --token-file and ANVIL_TOKEN out",
    );
  }
  const users = Map.groupBy(index.agents.values(), ({ token }) => token);
  const shared = plan.hosts.find(({ token }) => (users.get(token)?.length ?? 0) > 1);
  return shared === undefined ? null : refuse(
    "token_shared",
    `several hosts use the token ${shared.token}; a rotation on one would lose the others`,
    "give each transport a token name of its own",
  );
}

interface RevokeFlags extends TargetFlags {
  readonly client?: string;
  readonly id?: string;
  readonly confirm: boolean;
  readonly dryRun: boolean;
}

function revokeCommand(operator: Operator) {
  return buildCommand<RevokeFlags, [], ProgramContext>({
    parameters: {
      flags: {
        ...flagsOf(operator),
        client: { ...CLIENT, brief: "End every token of this client" },
        id: { ...CLIENT, brief: "End this token", placeholder: "ID" },
        confirm: yes("Yes, end it"),
        dryRun: yes("Show which tokens would end; end none"),
      },
    },
    docs: {
      brief: "End a token, or a client with all of its tokens",
      fullDescription:
        "Takes effect within a second; what is running goes on. The client that asks cannot end its\n" +
        "own last token. Without --confirm it is shown which tokens would end, and nothing is done. A\n" +
        "host that has it no more is done: asked again, the command goes on with those that were down.\n\n" +
        "Examples:\n  anvil-operator tokens revoke --target all --client laptop --dry-run\n" +
        "  anvil-operator tokens revoke --target host:gpu-a --id tk-0123… --confirm",
    },
    async func(flags) {
      const { client, id, confirm, dryRun } = flags;
      if ((client === undefined) === (id === undefined)) {
        const refusal = refuse("revocation_unclear", "expected --client or --id, and not both");
        return reportFailure(this, refusal, flags.json);
      }
      const ready = await prepareDispatch(operator, flags, flags.target);
      if (ready.kind !== "ready") return reportFailure(this, ready, flags.json);
      const key = newId("op", operator.dispatch.random);
      const plan = dryRun || !confirm;
      const dispatched = await runDispatch(this, operator, ready, flags, {
        ...{ kind: "call", name: "tokens.revoke", dryRun: plan, confirm, key },
        input: client === undefined ? { id: id ?? "" } : { client },
      });
      reportOutcomes(this, withAbsent(dispatched), {
        ...{ ...flags, ...SHOWN, key: plan ? null : key, unconfirmed: !dryRun && !confirm },
      });
    },
  });
}

function lifetime(days: number | undefined): { readonly expires_in_seconds?: number } {
  return days === undefined ? {} : { expires_in_seconds: days * 86_400 };
}

function days(text: string): number {
  const value = Number(text);
  if (!/^\d{1,4}$/.test(text) || value < 1 || value > 3650) {
    throw new SyntaxError("expected a number of days from 1 to 3650");
  }
  return value;
}

function scope(text: string): string {
  if (!scopeShape.safeParse(text).success) {
    throw new SyntaxError("expected a scope, as node.*:read or tokens.list");
  }
  return text;
}

/**
 * `tokens.list|issue|rotate|revoke`: who may ask this agent, changed from afar. A token itself never
 * comes here and never leaves: whoever asks makes it, keeps it, and sends its hash.
 *
 * @module
 */

import { z } from "zod";
import { type Clock, timestamp } from "../../../lib/core/clock.ts";
import type { Files } from "../../../lib/core/files.ts";
import type { TryLock } from "../../../lib/core/lock.ts";
import { type Refusal, refuse } from "../../../lib/core/refusal.ts";
import type { Clients } from "../../../lib/credential/clients.ts";
import {
  changeClients,
  type ClientsRead,
  readClientsFile,
} from "../../../lib/credential/clients_file.ts";
import { scopeShape } from "../../../lib/operation/authorize.ts";
import {
  defineMutation,
  defineRead,
  type Operation,
  type OperationContext,
  type Ran,
} from "../../../lib/operation/operation.ts";
import { readClients } from "../clients.ts";
import {
  clientName,
  editTokens,
  type TokenEffect,
  tokenEffect,
  tokenId,
  type TokenRequest,
} from "./token_edits.ts";

/** What these operations change. */
export interface TokenParts {
  readonly clock: Clock;
  readonly files: Files;
  readonly tryLock: TryLock;
  /** The clients file; null when the agent trusts its loopback and has none. */
  readonly path: string | null;
}

/** What a dry run shows, and what a live run starts from. */
type TokenPlan = { readonly request: TokenRequest; readonly effect: TokenEffect };

const DAY_SECONDS = 86_400;
const fresh = z.strictObject({
  id: tokenId,
  sha256: z.string().regex(/^[0-9a-f]{64}$/, "expected 64 lower-case hex digits"),
});
const lifetime = z.int().min(60).max(3650 * DAY_SECONDS).optional();
const row = z.strictObject({
  client: z.string(),
  scopes: z.array(z.string()),
  id: z.string().nullable(),
  created_at: z.string().nullable(),
  expires_at: z.string().nullable(),
  state: z.enum(["valid", "expired", "none"]),
});

type Row = z.infer<typeof row>;

/** The four. */
export function tokenOperations(parts: TokenParts): Operation[] {
  const { clock } = parts;
  const later = (seconds: number) => timestamp(clock.now() + seconds * 1000);
  const added = (token: z.infer<typeof fresh>, seconds: number | undefined) => ({
    ...token,
    created_at: timestamp(clock.now()),
    expires_at: seconds === undefined ? null : later(seconds),
  });
  const mutation = {
    effect: "mutate",
    roles: null,
    deadlineMs: 5000,
    output: tokenEffect,
  } as const;
  const run = (plan: TokenPlan, context: OperationContext) => applied(parts, context, plan);
  return [
    defineRead({
      name: "tokens.list",
      brief: "Clients of this agent, their scopes, and the ids of their tokens",
      effect: "read",
      roles: null,
      deadlineMs: 5000,
      input: z.strictObject({}),
      output: z.strictObject({ tokens: z.array(row) }),
      run: async () => {
        const read = await clientsNow(parts);
        return read.kind === "refused"
          ? read
          : { kind: "ok", value: { tokens: rowsOf(read.clients, clock.now()) } };
      },
    }),
    defineMutation({
      ...mutation,
      name: "tokens.issue",
      brief: "Make a token valid for a client, by its hash; a client that is new needs scopes",
      destructive: false,
      input: z.strictObject({
        client: clientName,
        scopes: z.array(scopeShape).min(1).max(64).optional(),
        token: fresh,
        expires_in_seconds: lifetime,
      }),
      plan: ({ client, scopes, token, expires_in_seconds }, context) =>
        planned(parts, context, {
          ...{ change: "issue", client, scopes: scopes ?? null },
          token: added(token, expires_in_seconds),
        }),
      run,
    }),
    defineMutation({
      ...mutation,
      name: "tokens.rotate",
      brief:
        "Make a token valid for a client, by its hash, and let its others end after an overlap",
      destructive: false,
      input: z.strictObject({
        client: clientName.optional().describe("Without it: the client that asks."),
        token: fresh,
        expires_in_seconds: lifetime,
        overlap_seconds: z.int().min(0).max(30 * DAY_SECONDS).default(3600),
      }),
      plan: ({ client, token, expires_in_seconds, overlap_seconds }, context) =>
        planned(parts, context, {
          ...{ change: "rotate", client: client ?? context.principal },
          token: added(token, expires_in_seconds),
          others_end_at: later(overlap_seconds),
        }),
      run,
    }),
    defineMutation({
      ...mutation,
      name: "tokens.revoke",
      brief: "End one token, or a client with all of its tokens, now",
      destructive: true,
      input: z.strictObject({ client: clientName.optional(), id: tokenId.optional() }).refine(
        ({ client, id }) => (client === undefined) !== (id === undefined),
        "expected a client's name or a token's id, and not both",
      ),
      plan: ({ client, id }, context) =>
        planned(parts, context, { change: "revoke", client: client ?? null, id: id ?? null }),
      run,
    }),
  ];
}

async function planned(
  parts: TokenParts,
  { principal }: OperationContext,
  request: TokenRequest,
): Promise<Ran<TokenPlan>> {
  const read = await clientsNow(parts);
  if (read.kind === "refused") return read;
  const edit = editTokens(read.clients, request, principal, timestamp(parts.clock.now()));
  return "kind" in edit ? edit : { kind: "ok", value: { request, effect: edit.effect } };
}

/** The same edit, on the file as it is then: what changed meanwhile is refused, not overwritten. */
async function applied(
  parts: TokenParts,
  { principal, step }: OperationContext,
  { request }: TokenPlan,
): Promise<Ran<TokenEffect>> {
  const { path, files, tryLock, clock } = parts;
  if (path === null) return notConfigured();
  let effect: TokenEffect | null = null;
  step("write", "unknown");
  const place = { path, program: "anvil-agent", files, tryLock, read: readClients };
  const changed = await changeClients(place, (clients) => {
    const edit = editTokens(clients, request, principal, timestamp(clock.now()));
    if ("kind" in edit) return edit;
    effect = edit.effect;
    return edit.clients;
  });
  const clients = clientsOf(changed);
  if (clients.kind === "refused") return clients;
  step("written", "applied");
  if (effect === null) throw new TypeError("a clients file was changed without an edit");
  return { kind: "ok", value: effect };
}

type ClientsNow = { readonly kind: "ok"; readonly clients: Clients<string> } | Refusal;

async function clientsNow({ path, files }: TokenParts): Promise<ClientsNow> {
  if (path === null) return notConfigured();
  return clientsOf(await readClientsFile({ path, files, read: readClients }));
}

/** The codes of files become one: what this host's files are called is nobody's business elsewhere. */
function clientsOf(read: ClientsRead<string>): ClientsNow {
  if (read.kind === "ok") return read;
  if (read.kind === "invalid") {
    return refuse("clients_unusable", "the clients file is wrong", "run `anvil-agent check` there");
  }
  // After this one the change stands; whether it survives a power cut is not known.
  if (read.code === "file_sync_unknown") throw new Error(read.detail);
  return read.code.startsWith("file_") || read.code === "lock_unavailable"
    ? refuse("clients_unusable", read.detail, "see to the clients file and its folder there")
    : read;
}

function notConfigured(): Refusal {
  return refuse(
    "tokens_not_configured",
    "this agent trusts its loopback and has no clients file",
    "name one in agent.toml with `auth.clients`, and restart the agent",
  );
}

function rowsOf(clients: Clients<string>, now: number): Row[] {
  return clients.clients.flatMap(({ name: client, scopes, tokens }): Row[] => {
    const of = { client, scopes: [...scopes] };
    if (tokens.length === 0) {
      return [{ ...of, id: null, created_at: null, expires_at: null, state: "none" }];
    }
    return tokens.map(({ id, created_at, expires_at = null }) => {
      const over = expires_at !== null && Date.parse(expires_at) <= now;
      return { ...of, id, created_at, expires_at, state: over ? "expired" : "valid" };
    });
  });
}

/**
 * What a change of tokens does to the clients file, as values: (request, who asks, clients) -> the
 * clients after it and what to tell of it, or why not.
 *
 * Nobody gives more than they have: a client's token opens its scopes, so whoever makes one must hold
 * them all. Nobody locks themselves out by mistake.
 *
 * @module
 */

import { z } from "zod";
import { timestamp } from "../../../lib/core/clock.ts";
import { ID_PATTERN } from "../../../lib/core/ids.ts";
import { type Refusal, refuse } from "../../../lib/core/refusal.ts";
import type { Client, Clients } from "../../../lib/credential/clients.ts";
import { holds } from "../../../lib/operation/authorize.ts";

/** A client's name. */
export const clientName = z.string().regex(ID_PATTERN, "expected a client's name");
/** A token's id. */
export const tokenId = z.string().regex(ID_PATTERN, "expected a token's id");

const added = z.strictObject({
  id: tokenId,
  sha256: z.string().regex(/^[0-9a-f]{64}$/, "expected 64 lower-case hex digits"),
  created_at: z.string(),
  expires_at: z.string().nullable(),
});

/** A request with every time worked out, so that what is planned is what is done. */
export const tokenRequest = z.discriminatedUnion("change", [
  z.strictObject({
    change: z.literal("issue"),
    client: clientName,
    scopes: z.array(z.string()).nullable(),
    token: added,
  }),
  z.strictObject({
    change: z.literal("rotate"),
    client: clientName,
    token: added,
    others_end_at: z.string(),
  }),
  z.strictObject({
    change: z.literal("revoke"),
    client: clientName.nullable(),
    id: tokenId.nullable(),
  }),
]);

/** A request. */
export type TokenRequest = z.infer<typeof tokenRequest>;

/** What is told of a change. */
export const tokenEffect = z.strictObject({
  client: z.string(),
  scopes: z.array(z.string()),
  added: z.string().nullable(),
  /** When the added one ends; null for never, and when none was added. */
  expires_at: z.string().nullable(),
  ended: z.array(z.strictObject({ id: z.string(), at: z.string() })),
  /** Ids of the client's tokens that are valid right after it. */
  valid: z.array(z.string()),
});

/** What is told. */
export type TokenEffect = z.infer<typeof tokenEffect>;

/** A change that may be made. */
export interface Edit {
  readonly clients: Clients<string>;
  readonly effect: TokenEffect;
}

type Token = Client<string>["tokens"][number];

/** Most tokens of one client; the file's shape has the same bound. */
const MOST_TOKENS = 16;

/** What `request` of `principal` does at `now`. */
export function editTokens(
  clients: Clients<string>,
  request: TokenRequest,
  principal: string,
  now: string,
): Edit | Refusal {
  return request.change === "revoke"
    ? revoke(clients, request, principal, now)
    : add(clients, request, principal, now);
}

function add(
  clients: Clients<string>,
  request: Exclude<TokenRequest, { change: "revoke" }>,
  principal: string,
  now: string,
): Edit | Refusal {
  const asks = clients.clients.find(({ name }) => name === principal);
  const known = clients.clients.find(({ name }) => name === request.client);
  const wanted = request.change === "issue" ? request.scopes : null;
  if (known === undefined && request.change === "rotate") return clientAbsent();
  const scopes = known?.scopes ?? wanted;
  if (scopes === null) {
    return refuse("scopes_missing", "the client is new", "say with `scopes` what it may do");
  }
  if (known !== undefined && wanted !== null && !same(wanted, known.scopes)) {
    return refuse(
      "scopes_differ",
      `the client has the scopes ${known.scopes.join(", ")}`,
      "leave `scopes` out to give it one more token, or choose another name",
    );
  }
  const missing = scopes.filter((scope) => !holds(asks?.scopes ?? [], scope));
  if (missing.length > 0) {
    return refuse(
      "scope_not_held",
      `who asks does not hold ${missing.join(", ")}, and nobody gives more than they have`,
      "ask with a client that holds these scopes, or on the host with `anvil-agent tokens`",
    );
  }
  const { id, sha256, created_at } = request.token;
  // Asked for again it was made before, and stays as it was made.
  const before = known?.tokens.find((one) => one.id === id && one.sha256 === sha256);
  const expires_at = request.token.expires_at ??
    (request.change === "rotate" ? inheritedEnd(known?.tokens ?? [], now) : null);
  const token: Token = before ??
    { id, sha256, created_at, ...(expires_at === null ? {} : { expires_at }) };
  const others: Token[] = [];
  const ended: { id: string; at: string }[] = [];
  for (const one of known?.tokens ?? []) {
    if (one === before) continue;
    if (request.change === "issue" || expired(one, now)) {
      // An expired one stays with `issue`, as it was; a rotation sweeps it away.
      if (request.change === "issue") others.push(one);
      continue;
    }
    const sooner = one.expires_at !== undefined &&
      Date.parse(one.expires_at) < Date.parse(request.others_end_at);
    const at = sooner ? one.expires_at ?? "" : request.others_end_at;
    others.push({ ...one, expires_at: at });
    ended.push({ id: one.id, at });
  }
  const taken = clients.clients.flatMap(({ tokens }) => tokens)
    .some((one) => (one.id === id) !== (one.sha256 === sha256));
  if (taken) {
    return refuse("token_id_taken", "another token has this id or this hash", "make a fresh one");
  }
  if (others.length >= MOST_TOKENS) {
    return refuse("tokens_full", `the client has ${MOST_TOKENS} tokens`, "revoke some of them");
  }
  const client = { name: request.client, scopes: [...new Set(scopes)], tokens: [...others, token] };
  return {
    clients: {
      ...clients,
      clients: known === undefined
        ? [...clients.clients, client]
        : clients.clients.map((one) => one === known ? client : one),
    },
    effect: { ...told(client, now), added: id, expires_at: token.expires_at ?? null, ended },
  };
}

/** A rotation makes nothing live longer: the newest token's lifetime begins anew. */
function inheritedEnd(tokens: readonly Token[], now: string): string | null {
  const newest = tokens.toSorted((a, b) => Date.parse(b.created_at) - Date.parse(a.created_at))[0];
  if (newest?.expires_at === undefined) return null;
  const lifetime = Date.parse(newest.expires_at) - Date.parse(newest.created_at);
  return timestamp(Date.parse(now) + lifetime);
}

function revoke(
  clients: Clients<string>,
  { client: name, id }: Extract<TokenRequest, { change: "revoke" }>,
  principal: string,
  now: string,
): Edit | Refusal {
  const known = clients.clients.find((client) =>
    name === null ? client.tokens.some((token) => token.id === id) : client.name === name
  );
  if (known === undefined) {
    return name === null
      ? refuse("token_absent", "no token has this id", "see `tokens.list`")
      : clientAbsent();
  }
  const left = name === null ? known.tokens.filter((token) => token.id !== id) : [];
  if (known.name === principal && left.every((token) => expired(token, now))) {
    return refuse(
      "would_lock_out",
      "this would end every token of the client that asks",
      "rotate it instead, with no overlap, or revoke on the host with `anvil-agent tokens`",
    );
  }
  const client = { ...known, tokens: left };
  return {
    clients: {
      ...clients,
      clients: name === null
        ? clients.clients.map((one) => one === known ? client : one)
        : clients.clients.filter((one) => one !== known),
    },
    effect: {
      ...told(client, now),
      added: null,
      expires_at: null,
      ended: known.tokens.filter((token) => !left.includes(token) && !expired(token, now))
        .map((token) => ({ id: token.id, at: now })),
    },
  };
}

function told(
  client: Client<string>,
  now: string,
): Pick<TokenEffect, "client" | "scopes" | "valid"> {
  const valid = client.tokens.filter((token) => !expired(token, now)).map(({ id }) => id);
  return { client: client.name, scopes: [...client.scopes], valid };
}

/** Times are spelled alike only within one program: they are compared as times. */
function expired({ expires_at }: Token, now: string): boolean {
  return expires_at !== undefined && Date.parse(expires_at) <= Date.parse(now);
}

function same(left: readonly string[], right: readonly string[]): boolean {
  return new Set(left).symmetricDifference(new Set(right)).size === 0;
}

function clientAbsent(): Refusal {
  return refuse("client_absent", "no client is called so", "see `tokens.list`");
}

/**
 * Who may ask: clients, their scopes, and the hashes of their tokens. The tokens themselves are
 * written nowhere; each holds 256 random bits, so a plain SHA-256 of one gives nothing away.
 *
 * @module
 */

import { z } from "zod";
import type { Checked, Problem } from "../core/problem.ts";
import { ID_PATTERN, type RandomBytes } from "../core/ids.ts";
import { Secret } from "../core/secret.ts";
import { checkShape } from "../document/shape.ts";
import { readToml } from "../document/toml.ts";

const id = z.string().regex(
  ID_PATTERN,
  "expected lower-case letters, digits and `-`, a letter first",
);

const tokenShape = z.strictObject({
  id,
  sha256: z.string().regex(/^[0-9a-f]{64}$/, "expected 64 lower-case hex digits"),
  created_at: z.iso.datetime({ message: "expected a UTC time, as 2026-01-02T03:04:05Z" }),
  expires_at: z.iso.datetime({ message: "expected a UTC time, as 2026-01-02T03:04:05Z" })
    .optional(),
});

/** `clients.toml` of a program whose scopes are `scope`. */
export function clientsShapeOf<Scope extends string>(scope: z.ZodType<Scope>) {
  return z.strictObject({
    schema: z.literal(1),
    clients: z.array(z.strictObject({
      name: id,
      scopes: z.array(scope).min(1),
      tokens: z.array(tokenShape).max(16).default([]),
    })).max(4096).default([]),
  });
}

/** The file's content. */
export interface Clients<Scope extends string> {
  readonly schema: 1;
  readonly clients: readonly Client<Scope>[];
}

/** One client: a name, what it may do, and its tokens as hashes. */
export interface Client<Scope extends string> {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly tokens: readonly z.infer<typeof tokenShape>[];
}

/** Reads `clients.toml`: client names, token ids and hashes are unique in it. */
export function readClientsOf<Scope extends string>(
  scope: z.ZodType<Scope>,
  text: string,
): Checked<Clients<Scope>> {
  const table = readToml(text);
  if (table.kind === "invalid") return table;
  const shaped = checkShape<Clients<Scope>>(clientsShapeOf(scope), table.model);
  if (shaped.kind === "invalid") return shaped;
  const problems: Problem[] = [];
  const names = new Set<string>();
  const ids = new Set<string>();
  const hashes = new Set<string>();
  const once = (seen: Set<string>, value: string, path: string, noun: string) => {
    if (seen.has(value)) {
      problems.push({
        path,
        code: "duplicate_id",
        message: `another ${noun} is the same; keep one`,
      });
    }
    seen.add(value);
  };
  shaped.model.clients.forEach((client, c) => {
    once(names, client.name, `clients[${c}].name`, "client's name");
    client.tokens.forEach((token, t) => {
      once(ids, token.id, `clients[${c}].tokens[${t}].id`, "token's id");
      once(hashes, token.sha256, `clients[${c}].tokens[${t}].sha256`, "token's hash");
    });
  });
  return problems.length === 0 ? shaped : { kind: "invalid", problems };
}

/** Who a request comes from. */
export interface Principal<Scope extends string> {
  readonly name: string;
  readonly scopes: ReadonlySet<Scope>;
}

/** What a credential proves. */
export type Authenticated<Scope extends string> =
  | { readonly kind: "known"; readonly principal: Principal<Scope> }
  | { readonly kind: "missing" }
  | { readonly kind: "unknown" };

/** SHA-256 as a port: 32 bytes. */
export type Sha256 = (text: string) => Uint8Array;

/** What a credential is looked for in: `Headers`, or anything that looks names up so. */
export interface NamedHeaders {
  get(name: string): string | null;
}

interface Held<Scope extends string> {
  readonly hash: Uint8Array;
  readonly expiresAt: number;
  readonly principal: Principal<Scope>;
}

/** Finds principals by token. Compares with every hash there is, whichever matches. */
export class Roster<Scope extends string> {
  readonly #held: readonly Held<Scope>[];
  readonly #sha256: Sha256;

  constructor(clients: Clients<Scope>, sha256: Sha256) {
    this.#sha256 = sha256;
    this.#held = clients.clients.flatMap((client) => {
      const principal = { name: client.name, scopes: new Set(client.scopes) };
      return client.tokens.map((token) => ({
        hash: Uint8Array.fromHex(token.sha256),
        expiresAt: token.expires_at === undefined ? Infinity : Date.parse(token.expires_at),
        principal,
      }));
    });
  }

  /** How many tokens there are, expired ones included. */
  get size(): number {
    return this.#held.length;
  }

  /** Whose token `headers` carry: `Authorization: Bearer` first, then `x-api-key`. */
  authenticate(headers: NamedHeaders, now: number): Authenticated<Scope> {
    const token = presented(headers);
    if (token === null) return { kind: "missing" };
    const hash = this.#sha256(token);
    let principal: Principal<Scope> | null = null;
    for (const held of this.#held) {
      const matches = equal(held.hash, hash);
      if (matches && now < held.expiresAt) principal = held.principal;
    }
    return principal === null ? { kind: "unknown" } : { kind: "known", principal };
  }
}

/** A fresh token: `anvil_` and 256 random bits. Shown once, to the person who asked for it. */
export function newToken(random: RandomBytes): Secret {
  return new Secret(`anvil_${random(32).toBase64({ alphabet: "base64url", omitPadding: true })}`);
}

function presented(headers: NamedHeaders): string | null {
  const authorization = headers.get("authorization");
  if (authorization !== null) {
    const match = /^bearer +([^\s,]+)$/i.exec(authorization);
    if (match !== null) return match[1] as string;
  }
  const key = headers.get("x-api-key");
  return key === null || key === "" ? null : key;
}

/** Equality of two hashes in a time that does not depend on where they differ. */
function equal(left: Uint8Array, right: Uint8Array): boolean {
  let difference = left.length ^ right.length;
  for (let i = 0; i < left.length; i++) difference |= (left[i] ?? 0) ^ (right[i] ?? 0);
  return difference === 0;
}

/**
 * Who may ask the router: the scopes there are, and the clients file that hands them out.
 *
 * @module
 */

import { z } from "zod";
import {
  type Authenticated as AuthenticatedOf,
  type Clients as ClientsOf,
  clientsShapeOf,
  type Principal as PrincipalOf,
  readClientsOf,
  type Roster as RosterOf,
} from "../../lib/credential/clients.ts";
import type { Checked } from "../../lib/core/problem.ts";

export { newToken, Roster } from "../../lib/credential/clients.ts";

/** What a token opens: model requests; status, metrics and decisions; transitions. */
export const SCOPES = ["infer", "observe", "admin"] as const;

/** One of {@link SCOPES}. */
export type Scope = (typeof SCOPES)[number];

/** One scope, as the clients file writes it. */
export const scopeShape: z.ZodType<Scope> = z.enum(SCOPES);

/** `clients.toml`. */
export const clientsShape = clientsShapeOf(scopeShape);

/** The file's content. */
export type Clients = ClientsOf<Scope>;

/** Who a request comes from. */
export type Principal = PrincipalOf<Scope>;

/** What a credential proves. */
export type Authenticated = AuthenticatedOf<Scope>;

/** The clients known at one time. */
export type RouterRoster = RosterOf<Scope>;

/** Reads `clients.toml`: client names, token ids and hashes are unique in it. */
export function readClients(text: string): Checked<Clients> {
  return readClientsOf(scopeShape, text);
}

/** The principal of a router that was told to trust its own loopback. */
export const LOOPBACK: Principal = { name: "loopback", scopes: new Set(SCOPES) };

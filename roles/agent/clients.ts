/**
 * Who may ask the agent: scopes are patterns over operations and actions.
 *
 * @module
 */

import type { Checked } from "../../lib/core/problem.ts";
import {
  type Clients as ClientsOf,
  clientsShapeOf,
  type Principal as PrincipalOf,
  readClientsOf,
  type Roster as RosterOf,
} from "../../lib/credential/clients.ts";
import { scopeShape } from "../../lib/operation/authorize.ts";

/** `clients.toml`. */
export const clientsShape = clientsShapeOf(scopeShape);

/** Who a request comes from. */
export type Principal = PrincipalOf<string>;

/** The clients known at one time. */
export type Roster = RosterOf<string>;

/** Reads `clients.toml`: client names, token ids and hashes are unique in it. */
export function readClients(text: string): Checked<ClientsOf<string>> {
  return readClientsOf(scopeShape, text);
}

/** The principal of an agent that was told to trust its own loopback. */
export const LOOPBACK: Principal = { name: "loopback", scopes: new Set(["*"]) };

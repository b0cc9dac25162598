/** `anvil-router tokens add|list|revoke`. @module */

import { tokensRoutesOf } from "../../../lib/credential/tokens_command.ts";
import { readClients, SCOPES } from "../clients.ts";

/** The commands on client tokens. */
export const tokensRoutes = tokensRoutesOf({
  name: "anvil-router",
  scopes: SCOPES,
  scopeOf: (text) => SCOPES.find((scope) => scope === text) ?? null,
  fallback: "infer",
  read: readClients,
});

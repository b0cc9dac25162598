/**
 * The tokens with which the router asks agents who owns a member's port: read once, at start.
 *
 * @module
 */

import type { Files } from "../../lib/core/files.ts";
import type { Checked, Problem } from "../../lib/core/problem.ts";
import { pathOf } from "../../lib/core/problem.ts";
import { Secret } from "../../lib/core/secret.ts";
import type { RouterConfig } from "./config_shape.ts";

/** A token is one line. */
const MOST_BYTES = 4096;
/** What a bearer token may be made of. */
const TOKEN = /^[\x21-\x7e]{16,512}$/;

/** Tokens by tier id; every problem, when a file that is named cannot be used. */
export async function readAgentTokens(
  config: RouterConfig,
  files: Pick<Files, "readBounded" | "checkPrivate">,
): Promise<Checked<ReadonlyMap<string, Secret>>> {
  const tokens = new Map<string, Secret>();
  const problems: Problem[] = [];
  for (const [index, { id, identity }] of config.tiers.entries()) {
    if (identity.token_file === undefined) continue;
    const path = pathOf(["tiers", index, "identity", "token_file"]);
    const read = await readToken(identity.token_file, files);
    if (read instanceof Secret) tokens.set(id, read);
    else problems.push({ path, ...read });
  }
  return problems.length > 0 ? { kind: "invalid", problems } : { kind: "ok", model: tokens };
}

async function readToken(
  file: string,
  files: Pick<Files, "readBounded" | "checkPrivate">,
): Promise<Secret | { readonly code: string; readonly message: string }> {
  const read = await files.readBounded(file, MOST_BYTES);
  if (read.kind === "absent") {
    const message = "there is no such file; put the token of an agent's client there, mode 0600";
    return { code: "token_file_absent", message };
  }
  if (read.kind === "refused") return { code: read.code, message: read.detail };
  const privacy = await files.checkPrivate(file);
  if (privacy.kind === "refused") return { code: privacy.code, message: privacy.detail };
  const text = new TextDecoder().decode(read.bytes).replace(/\r?\n$/, "");
  return TOKEN.test(text) ? new Secret(text) : {
    code: "token_malformed",
    message: "expected one line, a token as `anvil-agent tokens add` prints it",
  };
}

/**
 * Hashes of the credentials this host knows: its clients' tokens, and the token it shows its router.
 * A text that holds one of them does not leave the host, whatever the token looks like.
 *
 * @module
 */

import type { Files } from "../../lib/core/files.ts";
import { hex } from "../../lib/core/ids.ts";
import { readClientsFile } from "../../lib/credential/clients_file.ts";
import { sha256 } from "../../lib/host/digest.ts";
import { readClients } from "./clients.ts";
import type { AgentConfig } from "./config.ts";

const MOST_TOKEN_BYTES = 4096;

/** SHA-256 of each, lower-case hex. A file that cannot be read adds none: others may still match. */
export async function knownCredentials(
  { auth, router }: Pick<AgentConfig, "auth" | "router">,
  files: Files,
): Promise<ReadonlySet<string>> {
  const known = new Set<string>();
  if (auth.clients !== undefined) {
    const read = await readClientsFile({ path: auth.clients, files, read: readClients });
    for (const { tokens } of read.kind === "ok" ? read.clients.clients : []) {
      for (const token of tokens) known.add(token.sha256);
    }
  }
  if (router?.token_file !== undefined) {
    const read = await files.readBounded(router.token_file, MOST_TOKEN_BYTES);
    if (read.kind === "ok") known.add(hex(sha256(new TextDecoder().decode(read.bytes).trim())));
  }
  return known;
}

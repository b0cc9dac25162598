/**
 * Asking a receiver: one run of the system's OpenSSH client per request.
 *
 * @module
 */

import type { Verb } from "../../../lib/bootstrap/codes.ts";
import { encodeFrame } from "../../../lib/bootstrap/frames.ts";
import {
  knownHostsText,
  MOST_ANSWER_BYTES,
  readSshOutcome,
  sshArgv,
} from "../../../lib/bootstrap/ssh.ts";
import type { Json } from "../../../lib/core/canonical_json.ts";
import type { Refusal } from "../../../lib/core/refusal.ts";
import { within } from "../../../lib/host/paths.ts";
import type { SshTransport } from "../../../lib/topology/shape.ts";
import type { Operator } from "../operator.ts";
import type { Ask } from "./ask_settled.ts";

/** How long a request may take, in milliseconds: a bundle's way and a supervisor's patience. */
const DEADLINES: Readonly<Record<Verb, number>> = {
  identity: 30_000,
  status: 30_000,
  stage: 3_700_000,
  activate: 1_300_000,
  rollback: 1_300_000,
};

/** The way to the receiver of `host`; writes the file with the one key that the host must show. */
export async function receiverWay(
  { ports }: Operator,
  folder: string,
  transport: SshTransport,
  identityFile: string,
): Promise<Ask | Refusal> {
  const made = await ports.directories.make(folder);
  if (made.kind === "refused") return made;
  const knownHostsFile = within(folder, `known-${transport.host}`);
  const text = new TextEncoder().encode(knownHostsText(transport.host, transport.known_host));
  const written = await ports.files.replaceFile(knownHostsFile, text, 0o600);
  if (written.kind === "refused" && written.code !== "file_sync_unknown") return written;
  const argv = sshArgv({
    node: transport.host,
    address: transport.address,
    port: transport.port ?? 22,
    user: transport.user,
    identityFile,
    knownHostsFile,
    hostKeyType: transport.known_host.split(" ")[0] ?? "",
  });
  return async (request, bundle = new Uint8Array(0)) => {
    const frame = encodeFrame(request as Json);
    const stdin = new Uint8Array(frame.length + bundle.length);
    stdin.set(frame);
    stdin.set(bundle, frame.length);
    const outcome = await ports.run({
      argv,
      env: { PATH: ports.searchPath, LC_ALL: "C" },
      stdin,
      deadlineMs: DEADLINES[request.verb],
      maxOutputBytes: MOST_ANSWER_BYTES,
    });
    return readSshOutcome(request.verb, outcome);
  };
}

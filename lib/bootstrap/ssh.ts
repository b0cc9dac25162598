/**
 * The way to a receiver: the system's OpenSSH client with one pinned host key and one key of ours, no
 * configuration, no terminal, no forwarding, no command; and what its end means.
 *
 * @module
 */

import type { Json } from "../core/canonical_json.ts";
import type { ProcessOutcome } from "../core/process.ts";
import { type Refusal, refuse } from "../core/refusal.ts";
import type { BootstrapCode, Verb } from "./codes.ts";
import { decodeFrame, frameLength, HEAD_BYTES, MOST_FRAME_BYTES } from "./frames.ts";
import { type Answer, answerShape } from "./requests.ts";

/** The declared way: of the topology, never of a caller. */
export interface SshWay {
  readonly node: string;
  readonly address: string;
  readonly port: number;
  readonly user: string;
  /** The private key's file, the operator's own. */
  readonly identityFile: string;
  /** A file that holds {@link knownHostsText} and nothing else. */
  readonly knownHostsFile: string;
  /** Of the pinned key, as `ssh-ed25519`. */
  readonly hostKeyType: string;
}

/** More than an answer is never read. */
export const MOST_ANSWER_BYTES = HEAD_BYTES + MOST_FRAME_BYTES;

/** The whole known-hosts file: the node, and the one key it must show. */
export function knownHostsText(node: string, knownHost: string): string {
  return `${node} ${knownHost}\n`;
}

/** Program and arguments. The address stands behind `--`: nothing in it is ever an option. */
export function sshArgv(way: SshWay): readonly [string, ...string[]] {
  const options: Readonly<Record<string, string>> = {
    BatchMode: "yes",
    CheckHostIP: "no",
    ClearAllForwardings: "yes",
    ConnectTimeout: "10",
    ControlMaster: "no",
    ControlPath: "none",
    ForwardAgent: "no",
    ForwardX11: "no",
    GlobalKnownHostsFile: "none",
    HostKeyAlgorithms: way.hostKeyType,
    HostKeyAlias: way.node,
    IdentitiesOnly: "yes",
    IdentityAgent: "none",
    LogLevel: "ERROR",
    PermitLocalCommand: "no",
    PreferredAuthentications: "publickey",
    ProxyCommand: "none",
    RequestTTY: "no",
    ServerAliveCountMax: "3",
    ServerAliveInterval: "5",
    StrictHostKeyChecking: "yes",
    UpdateHostKeys: "no",
    UserKnownHostsFile: way.knownHostsFile,
  };
  return [
    "ssh",
    ...["-F", "none", "-T", "-p", `${way.port}`, "-l", way.user, "-i", way.identityFile],
    ...Object.entries(options).flatMap(([name, value]) => ["-o", `${name}=${value}`]),
    "--",
    way.address,
  ];
}

/** Verbs after which, without an answer, nobody knows what happened. */
const CHANGES: readonly Verb[] = ["stage", "activate", "rollback"];

/** What came back. Nothing that ssh or the other end wrote beside a frame is ever passed on. */
export function readSshOutcome(
  verb: Verb,
  outcome: ProcessOutcome,
): Answer | Refusal<BootstrapCode> {
  if (outcome.kind === "failed_to_start") {
    return refuse("precondition_failed", "the OpenSSH client does not start on this machine");
  }
  const answer = readAnswer(outcome.stdout);
  if (answer !== null) return answer;
  if (outcome.stdout.length > 0) {
    return refuse("invalid_contract", "what came back is no answer of a receiver");
  }
  return CHANGES.includes(verb)
    ? refuse(
      "may_have_executed",
      "the receiver did not answer: it may have done it or not",
      "ask for the status, then send the same again",
    )
    : refuse(
      "transport_failed",
      "the receiver did not answer",
      "check the pinned host key, the account's key and that the host is up",
    );
}

/** The one answer in `bytes`; null when they are anything else, more than one included. */
export function readAnswer(bytes: Uint8Array): Answer | null {
  if (bytes.length < HEAD_BYTES) return null;
  const length = frameLength(bytes.subarray(0, HEAD_BYTES));
  if (typeof length !== "number" || bytes.length !== HEAD_BYTES + length) return null;
  const frame = decodeFrame(bytes.subarray(HEAD_BYTES));
  return frame.kind === "ok" ? answerOf(frame.value) : null;
}

function answerOf(value: Json): Answer | null {
  return answerShape.safeParse(value).data ?? null;
}

/**
 * The five verbs. Each begins with the target configuration, read anew, and learns nothing from the
 * caller but digests, an id and a length.
 *
 * @module
 */

import { admitActivate, admitRollback, admitStage } from "../../lib/bootstrap/admit.ts";
import { type BootstrapCode, PROTOCOL } from "../../lib/bootstrap/codes.ts";
import { decodeEntry } from "../../lib/bootstrap/journal_entry.ts";
import type { ReceiverState } from "../../lib/bootstrap/receiver_machine.ts";
import type { Answer, Request, RequestOf, Standing } from "../../lib/bootstrap/requests.ts";
import { type Refusal, refuse } from "../../lib/core/refusal.ts";
import type { ByteSource } from "../../lib/generation/byte_source.ts";
import { readPointers } from "../../lib/generation/pointer.ts";
import { stageArchive } from "../../lib/generation/store.ts";
import { within } from "../../lib/host/paths.ts";
import type { ReceiverPorts } from "./ports.ts";
import { readTarget, type Target } from "./target.ts";
import { codeOfStore, lookAt, storeOf, withWork, type Work } from "./work.ts";

/** What an answer says of an operation when nothing is known of one. */
export const NOTHING: Standing = {
  operation_id: "none",
  phase: "none",
  error: "none",
  unfinished: false,
  current: "none",
  prior: "none",
};

/**
 * Answers one request; `source` holds what follows its frame. `bundleWithin` is told how many seconds
 * the host gives a bundle to arrive.
 */
export async function answerRequest(
  ports: ReceiverPorts,
  targetPath: string,
  request: Request,
  source: ByteSource,
  bundleWithin: (seconds: number) => void = () => {},
): Promise<Answer> {
  if (request.verb !== "stage" && !await source.isAtEnd()) {
    return refusal(refuse("invalid_contract", "bytes follow the request"));
  }
  const target = await readTarget(ports, targetPath);
  if (target.kind === "refused") return refusal(target);
  switch (request.verb) {
    case "identity":
      if (request.expected_node !== target.config.node) return refusal(wrongNode());
      return { ...await standing(ports, target), identity: identityOf(ports, target) };
    case "status": {
      const found = await standing(ports, target);
      return found.operation_id === request.operation_id
        ? found
        : refusal(refuse("operation_unknown", "this receiver knows no such operation"));
    }
    default:
      if (request.verb === "stage") bundleWithin(target.config.limits.stage_seconds);
      return await change(ports, target, request, source);
  }
}

async function change(
  ports: ReceiverPorts,
  target: Target,
  request: RequestOf<"stage" | "activate" | "rollback">,
  source: ByteSource,
): Promise<Answer> {
  const refused = refuseChange(target, request);
  if (refused !== null) return refusal(refused);
  const outcome = await withWork(ports, target, async (work) => {
    switch (request.verb) {
      case "stage":
        return await stage(ports, work, request, source);
      case "activate":
        return await activate(work, request);
      case "rollback":
        return await rollBack(work, request);
    }
  });
  const found = await standing(ports, target);
  if (outcome === null) return found;
  return { ...found, ok: false, protocol: PROTOCOL, code: outcome.code };
}

function refuseChange(
  { config, configDigest }: Target,
  request: RequestOf<"stage" | "activate" | "rollback">,
): Refusal<BootstrapCode> | null {
  if (request.verb === "stage" && request.expected_node !== config.node) return wrongNode();
  if (request.config_digest !== configDigest) {
    return refuse("receiver_mismatch", "the target configuration is another than planned");
  }
  if (!config.bootstrap_authorized) {
    return refuse("not_authorized", "this host does not allow to be bootstrapped");
  }
  return request.verb === "stage" && request.bundle_length > config.limits.bundle_bytes
    ? refuse("bundle_refused", "the bundle is larger than this host takes")
    : null;
}

/** Null when the generation is there, whole. */
async function stage(
  ports: ReceiverPorts,
  { store, state, offer }: Work,
  ask: RequestOf<"stage">,
  source: ByteSource,
): Promise<Refusal<BootstrapCode> | null> {
  const { operation_id, plan_sha256, manifest_digest } = ask;
  const operation = { operation_id, plan_sha256, manifest_digest };
  const admitted = admitStage(state, operation);
  if (admitted.kind === "refused") return admitted;
  if (admitted.kind === "done") return null;
  await offer({ type: "begin", operation });
  const staged = await stageArchive(store, source.rest(), {
    digest: manifest_digest,
    length: ask.bundle_length,
  });
  if (staged.kind === "refused") {
    ports.remark(`${staged.code}: ${staged.cause ?? staged.detail}`);
    const code = codeOfStore(staged, "bundle_refused");
    await offer({ type: "refused", code });
    return refuse(code, "the bundle was not installed");
  }
  await offer({ type: "installed" });
  return null;
}

/** Null when the new generation is current and its unit runs. */
async function activate(
  { store, state, offer }: Work,
  ask: RequestOf<"activate">,
): Promise<Refusal<BootstrapCode> | null> {
  const admitted = admitActivate(state, ask);
  if (admitted.kind === "refused") return admitted;
  if (admitted.kind === "done") return null;
  const pointers = await readPointers(store);
  if ("kind" in pointers) return refuse("ownership_uncertain", "nobody knows what is current");
  // Tried before: what was current then is what it goes back to.
  const prior = state.prior ?? pointers.current ?? "none";
  return failureOf(await offer({ type: "activate", prior }), "restarted");
}

/** Null when the prior generation is current again and its unit runs. */
async function rollBack(
  { state, offer }: Work,
  ask: RequestOf<"rollback">,
): Promise<Refusal<BootstrapCode> | null> {
  const admitted = admitRollback(state, ask);
  if (admitted.kind === "refused") return admitted;
  if (admitted.kind === "done") return null;
  const after = await offer({ type: "rollback", trigger: ask.trigger_error_code });
  return failureOf(after, "rolled_back");
}

function failureOf(
  { phase, error }: ReceiverState,
  wanted: ReceiverState["phase"],
): Refusal<BootstrapCode> | null {
  return phase === wanted ? null : refuse(error ?? "activation_failed", "it did not come to that");
}

/** Where the last operation stands, as the journal and the pointers say. */
async function standing(
  ports: ReceiverPorts,
  { config }: Target,
): Promise<Extract<Answer, { ok: true }>> {
  const pointers = await readPointers(storeOf(ports, config));
  const current = "kind" in pointers ? "none" : pointers.current ?? "none";
  const nothing = { ok: true, protocol: PROTOCOL, ...NOTHING, current } as const;
  const present = await ports.directories.list(config.state, 1000);
  if (present.kind !== "ok") return nothing;
  if (!present.entries.some(({ name }) => name === "receiver.jsonl")) return nothing;
  const opened = await ports.openJournal(within(config.state, "receiver.jsonl"), decodeEntry);
  if (opened.kind !== "open") return { ...nothing, unfinished: opened.kind === "busy" };
  await using journal = opened.journal;
  const { state, unfinished } = await lookAt(journal);
  return {
    ...nothing,
    operation_id: state.operation?.operation_id ?? "none",
    phase: state.phase ?? "none",
    error: state.error ?? "none",
    unfinished,
    prior: state.prior ?? "none",
  };
}

function identityOf({ build }: ReceiverPorts, target: Target) {
  const { node, supervisor, bootstrap_authorized } = target.config;
  const [system, machine] = build.platform.split("-");
  return {
    node,
    version: build.version,
    build_digest: build.build_digest ?? "source" as const,
    config_digest: target.configDigest,
    roots_digest: target.rootsDigest,
    platform: {
      os: system === "windows" ? "windows" as const : "linux" as const,
      arch: machine === "aarch64" ? "arm64" as const : "x64" as const,
    },
    supervisor,
    bootstrap_authorized,
  };
}

function wrongNode(): Refusal<BootstrapCode> {
  return refuse("wrong_node", "this host is another node");
}

/** An answer that nothing was done. */
export function refusal({ code }: Refusal<BootstrapCode>): Answer {
  return { ok: false, protocol: PROTOCOL, code, ...NOTHING };
}

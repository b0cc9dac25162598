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
import type {
  Answer,
  Identity,
  Request,
  RequestOf,
  Standing,
} from "../../lib/bootstrap/requests.ts";
import { type Refusal, refuse } from "../../lib/core/refusal.ts";
import type { ByteSource } from "../../lib/generation/byte_source.ts";
import { readPointers } from "../../lib/generation/pointer.ts";
import { loadManifest, stageArchive } from "../../lib/generation/store.ts";
import { within } from "../../lib/host/paths.ts";
import type { ReceiverPorts } from "./ports.ts";
import { readTarget, type Target } from "./target.ts";
import {
  codeOfStore,
  lookAt,
  refuseReplace,
  type Stand,
  storeOf,
  withWork,
  type Work,
} from "./work.ts";

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
    case "identity": {
      if (request.expected_node !== target.config.node) return refusal(wrongNode());
      const found = await standing(ports, target);
      return { ...found, identity: await identityOf(ports, target, found) };
    }
    case "status": {
      const found = await standing(ports, target);
      if (found.operation_id === request.operation_id) return found;
      // Another connection has the journal: it may well be this operation's.
      return found.operation_id === "none" && found.unfinished
        ? refusal(refuse("receiver_busy", "another connection changes this host right now"))
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
  const outcome = await withWork(ports, target, async (work): Promise<Answer> => {
    const failed = await act(ports, target, work, request, source);
    // Looked at while the lock is held: nobody changed it since.
    const found = { ...await pointed(ports, target), ...standOf(await work.look()) };
    return failed === null ? found : { ...found, ok: false, code: failed.code };
  });
  if ("ok" in outcome) return outcome;
  return { ...await standing(ports, target), ok: false, protocol: PROTOCOL, code: outcome.code };
}

async function act(
  ports: ReceiverPorts,
  { config }: Target,
  work: Work,
  request: RequestOf<"stage" | "activate" | "rollback">,
  source: ByteSource,
): Promise<Refusal<BootstrapCode> | null> {
  const refuseStore = () => refuseReplace(ports, config);
  switch (request.verb) {
    case "stage":
      return await stage(ports, work, request, source, refuseStore);
    case "activate":
      return await activate(work, request, refuseStore);
    case "rollback":
      return await rollBack(work, request);
  }
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
  refuseStore: () => Promise<Refusal<BootstrapCode> | null>,
): Promise<Refusal<BootstrapCode> | null> {
  const { operation_id, plan_sha256, manifest_digest } = ask;
  const operation = { operation_id, plan_sha256, manifest_digest };
  const admitted = admitStage(state, operation);
  if (admitted.kind === "refused") return admitted;
  if (admitted.kind === "done") return null;
  // Before a bundle is taken that could not be pointed at.
  const unfit = await refuseStore();
  if (unfit !== null) return unfit;
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
  refuseStore: () => Promise<Refusal<BootstrapCode> | null>,
): Promise<Refusal<BootstrapCode> | null> {
  const admitted = admitActivate(state, ask);
  if (admitted.kind === "refused") return admitted;
  if (admitted.kind === "done") return null;
  const unfit = await refuseStore();
  if (unfit !== null) return unfit;
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
async function standing(ports: ReceiverPorts, target: Target): Promise<Told> {
  const { state } = target.config;
  const nothing = await pointed(ports, target);
  const present = await ports.directories.list(state, 1000);
  if (present.kind !== "ok") return nothing;
  if (!present.entries.some(({ name }) => name === "receiver.jsonl")) return nothing;
  const opened = await ports.openJournal(within(state, "receiver.jsonl"), decodeEntry);
  if (opened.kind !== "open") return { ...nothing, unfinished: opened.kind === "busy" };
  await using journal = opened.journal;
  return { ...nothing, ...standOf(await lookAt(journal)) };
}

type Told = Extract<Answer, { ok: true }>;

/** What `current` names, and nothing of an operation. */
async function pointed(ports: ReceiverPorts, { config }: Target): Promise<Told> {
  const pointers = await readPointers(storeOf(ports, config));
  const current = "kind" in pointers ? "none" : pointers.current ?? "none";
  return { ok: true, protocol: PROTOCOL, ...NOTHING, current };
}

function standOf({ state, unfinished }: Stand): Omit<Standing, "current"> {
  return {
    operation_id: state.operation?.operation_id ?? "none",
    phase: state.phase ?? "none",
    error: state.error ?? "none",
    unfinished,
    prior: state.prior ?? "none",
  };
}

async function identityOf(
  ports: ReceiverPorts,
  target: Target,
  { current, prior }: Standing,
): Promise<Identity> {
  const { node, supervisor, bootstrap_authorized } = target.config;
  const { build } = ports;
  const [system, machine] = build.platform.split("-");
  return {
    node,
    version: build.version,
    build_digest: build.build_digest ?? "source",
    config_digest: target.configDigest,
    roots_digest: target.rootsDigest,
    platform: {
      os: system === "windows" ? "windows" : "linux",
      arch: machine === "aarch64" ? "arm64" : "x64",
    },
    supervisor,
    bootstrap_authorized,
    generations: {
      ...await programsOf(ports, target, "current", current),
      ...await programsOf(ports, target, "prior", prior),
    },
  };
}

/** Which build a generation is; nothing where it is gone, damaged, or says none. */
async function programsOf(
  ports: ReceiverPorts,
  { config }: Target,
  name: "current" | "prior",
  digest: string,
): Promise<Identity["generations"]> {
  if (digest === "none") return {};
  const manifest = await loadManifest(storeOf(ports, config), digest);
  if ("kind" in manifest || manifest.build === null) return {};
  return { [name]: { build_digest: manifest.build.digest, version: manifest.version } };
}

function wrongNode(): Refusal<BootstrapCode> {
  return refuse("wrong_node", "this host is another node");
}

/** An answer that nothing was done. */
export function refusal({ code }: Refusal<BootstrapCode>): Answer {
  return { ok: false, protocol: PROTOCOL, code, ...NOTHING };
}

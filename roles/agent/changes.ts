/**
 * The changes of this host: mode, promotion and config install, wired from `agent.toml`.
 *
 *     start ──> drive on what an earlier process left ──> operations ──> stop: after the running step
 *
 * @module
 */

import type { Clock } from "../../lib/core/clock.ts";
import type { Directories } from "../../lib/core/directories.ts";
import type { Files } from "../../lib/core/files.ts";
import type { TryLock } from "../../lib/core/lock.ts";
import type { RunProcess } from "../../lib/core/process.ts";
import type { Refusal } from "../../lib/core/refusal.ts";
import type { Remarks } from "../../lib/core/remarks.ts";
import { within } from "../../lib/host/paths.ts";
import type { Operation } from "../../lib/operation/operation.ts";
import type { Upstream } from "../../lib/relay/upstream.ts";
import { keepCopy } from "../../lib/serves/machines/dated_copy.ts";
import { Conductor } from "../../lib/serves/machines/conductor.ts";
import type { ServeHands } from "../../lib/serves/machines/ports.ts";
import { type RouterClient, routerClient } from "../../lib/serves/machines/router_client.ts";
import { routerProgram } from "../../lib/serves/machines/router_program.ts";
import { ChangeStore, type OpenChangeJournal } from "../../lib/serves/machines/store.ts";
import type { HostFacts, RouterPorts, SurveyPorts } from "../../lib/serves/machines/survey.ts";
import type { Serve } from "../../lib/serves/manifest_shape.ts";
import type { AgentConfig } from "./config.ts";
import { type ChangeParts, NOT_CONFIGURED } from "./operations/change.ts";
import { modeOperations } from "./operations/mode.ts";
import { promotionOperations } from "./operations/promotion.ts";
import { routerOperations } from "./operations/router.ts";
import { routerConfigOperations } from "./operations/router_config.ts";
import type { Stillness } from "./stillness.ts";

/** The serves of this host, for changes. */
export interface HostServes {
  /** Manifest and topology as they are now; a refusal when either has problems. */
  readonly facts: (signal: AbortSignal) => Promise<HostFacts | Refusal>;
  /** Hands on exactly these serves; a refusal when their runtimes cannot be known. */
  readonly handsFor: (serves: readonly Serve[]) => Promise<ServeHands | Refusal>;
}

/** What changes need from outside. */
export interface ChangesPorts {
  readonly clock: Clock;
  readonly remarks: Remarks;
  readonly files: Files;
  readonly directories: Directories;
  readonly openJournal: OpenChangeJournal;
  readonly tryLock: TryLock;
  readonly run: RunProcess;
  readonly upstream: Upstream;
  /** Null on a host whose agent was told of no serves. */
  readonly serves: HostServes | null;
  readonly stillness: Stillness;
  /** What a supervisor of a user needs to be found. */
  readonly env: Readonly<Record<string, string>>;
}

/** Changes of one host, opened. */
export interface Changes {
  readonly operations: readonly Operation[];
  /** How the router of this host is asked; null when the agent knows none. */
  readonly router: RouterClient | null;
  /** The change that is worked on now; null when there is none. */
  readonly live: () => string | null;
  /** The newest change and how it stands, as one word; null when nobody can say. */
  readonly newest: () => Promise<string | null>;
  /** Resolves once the start has said what it goes on with, if anything. */
  readonly looked: () => Promise<void>;
  /** The router's admin listener; null where agent.toml names no router. */
  readonly client: RouterClient | null;
  /** Goes on with what an earlier process left. Resolves at its end; never rejects. */
  resume(): Promise<void>;
  /** Resolves when the step that runs now is over. */
  stop(): Promise<void>;
}

/** Wires them. */
export function openChanges(config: AgentConfig, ports: ChangesPorts): Changes {
  const { clock, remarks, files, tryLock, serves, stillness } = ports;
  const client = clientOf(config, ports);
  const store = new ChangeStore({
    root: within(config.state, "changes"),
    directories: ports.directories,
    files,
    openJournal: ports.openJournal,
    routerConfig: config.router?.config ?? null,
    backup: async (text) => {
      const root = within(config.state, "backups");
      const kept = await keepCopy({ ...ports, root }, "router.toml", text);
      return kept.kind === "refused" ? kept : null;
    },
  });
  const router = client === null ? null : routerOf(config, ports, client, store);
  const conductor = new Conductor({
    clock,
    remarks,
    tryLock,
    lockPath: within(config.state, "changes.lock"),
    store,
    router,
    handsFor: serves?.handsFor ?? (() => Promise.resolve(NO_HANDS)),
    disturb: (what) => stillness.disturb(what),
  });
  const parts: ChangeParts = {
    conductor,
    store,
    survey: (signal) => survey(config, serves, router, signal),
    measuring: () => stillness.inTheWay(null),
    clock,
  };
  return {
    operations: [
      ...routerOperations({ client, change: () => conductor.live, stillness }),
      ...routerConfigOperations(parts, router),
      ...modeOperations(parts),
      ...promotionOperations(parts),
    ],
    router: client,
    live: () => conductor.live,
    newest: async () => {
      const newest = await store.newest();
      if (newest === null) return "none";
      return "kind" in newest ? null : `${newest.id} ${newest.state.at}`;
    },
    looked: () => conductor.looked,
    client,
    resume: async () => {
      try {
        const end = await conductor.resume();
        if (end?.kind === "refused") {
          remarks.error("a change that was left cannot be gone on with: {code}, {detail}", {
            code: end.code,
            detail: end.detail,
          });
        } else if (end?.kind === "ended" && end.record.state.at === "stuck") {
          remarks.error("{change} waits for a person", {
            change: end.record.id,
          });
        }
      } catch (error) {
        remarks.error("a change that was left cannot be gone on with: {code}, {detail}", {
          code: "operation_failed",
          detail: String(error),
        });
      }
    },
    stop: () => conductor.stop(),
  };
}

async function survey(
  { node, topology }: AgentConfig,
  serves: HostServes | null,
  router: RouterPorts | null,
  signal: AbortSignal,
): Promise<SurveyPorts | Refusal> {
  if (serves === null) {
    const facts = { node, axes: null, topology: topology ?? null, serves: [], manifest: null };
    return { facts, hands: NO_HANDS, router };
  }
  const facts = await serves.facts(signal);
  if ("kind" in facts) return facts;
  const hands = await serves.handsFor(facts.serves);
  return "kind" in hands ? hands : { facts, hands, router };
}

/** On a host without serves nothing can be done to one, and nothing asks for it. */
const NO_HANDS: ServeHands = {
  state: () => Promise.resolve({ kind: "stopped", exit: null }),
  resolve: () => Promise.resolve(NOT_CONFIGURED),
  fits: () => Promise.resolve(NOT_CONFIGURED),
  up: () => Promise.resolve({ ...NOT_CONFIGURED, changed: false }),
  down: () => Promise.resolve({ ...NOT_CONFIGURED, changed: false }),
  prove: () => Promise.resolve({ ...NOT_CONFIGURED, changed: false }),
};

function clientOf({ router }: AgentConfig, ports: ChangesPorts): RouterClient | null {
  const { upstream, files, clock } = ports;
  return router === undefined ? null : routerClient({
    upstream,
    files,
    clock,
    admin: router.admin,
    tokenFile: router.token_file ?? null,
  });
}

/** Null when only looking is configured: then no plan that touches the router is made. */
function routerOf(
  { router }: AgentConfig,
  { run, files, env }: ChangesPorts,
  admin: RouterClient,
  store: ChangeStore,
): RouterPorts | null {
  if (router?.config === undefined || router.unit === undefined) return null;
  const { config, program, supervisor, unit } = router;
  const [first = "anvil-router", ...rest] = program;
  return {
    admin,
    program: routerProgram({
      run,
      files,
      config,
      program: [first, ...rest],
      supervisor,
      unit,
      env,
    }),
    config: { live: () => store.live(), write: (text) => store.write(text) },
  };
}

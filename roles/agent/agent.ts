/**
 * An agent at work, from opened state to drained stop.
 *
 *     open: lock ─> audit ─> ledger ─> settle what an earlier process left ─> listen
 *           ─> go on with the change it left
 *     stop: refuse new calls ─> running ones end, or are settled ─> the running step of a change ends
 *           ─> listener closed ─> files closed
 *
 * @module
 */

import { hex, type RandomBytes } from "../../lib/core/ids.ts";
import { type Refusal, refuse } from "../../lib/core/refusal.ts";
import { within } from "../../lib/host/paths.ts";
import { type Database, openDatabase } from "../../lib/host/sqlite.ts";
import { type Audit, openAudit } from "../../lib/operation/audit.ts";
import { Ledger } from "../../lib/operation/ledger.ts";
import { LEDGER_MIGRATIONS } from "../../lib/operation/ledger_schema.ts";
import type { RunView } from "../../lib/operation/run_record.ts";
import { Runner } from "../../lib/operation/runner.ts";
import { type AppParts, handle } from "./app.ts";
import type { Roster } from "./clients.ts";
import type { AgentConfig } from "./config.ts";
import { catalogueOf, type CataloguePorts } from "./catalogue_of.ts";

/** Everything an agent needs from outside. */
export interface AgentPorts extends CataloguePorts {
  readonly random: RandomBytes;
  readonly listen: (
    at: { readonly hostname: string; readonly port: number },
    handler: (request: Request) => Promise<Response>,
  ) => { readonly kind: "listening"; readonly port: number; shutdown(): Promise<void> } | Refusal;
  /** The clients known now; null when loopback is trusted. */
  readonly roster: (() => Roster) | null;
}

/** A stopped operation may take so many milliseconds to notice. */
const GRACE_MS = 2000;
/** A ledger of so many bytes is looked through at start: about a second. */
const CHECKED_BYTES = 64 * 1024 * 1024;
/** Nobody else writes the ledger; everything waits while somebody does, so not for long. */
const BUSY_MS = 500;
/** The last answers may take so long to leave, in milliseconds. */
const CLOSING_MS = 1000;

/** A running agent. */
export interface Agent {
  readonly kind: "running";
  readonly port: number;
  readonly epoch: string;
  /** Resolves when everything is settled, flushed and closed. */
  stop(): Promise<void>;
}

/** Opens the state and listens, or says why that cannot be. */
export async function startAgent(config: AgentConfig, ports: AgentPorts): Promise<Agent | Refusal> {
  const lock = await ports.tryLock(within(config.state, "agent.lock"));
  if (lock.kind === "busy") {
    return refuse("state_in_use", "another agent uses this state folder", "stop the other agent");
  }
  if (lock.kind === "refused") {
    return refuse("state_unavailable", "the state folder cannot be written", "make it, and own it");
  }
  const { audit_mib, audit_files } = config.limits;
  const audit = await openAudit(within(config.state, "audit.jsonl"), ports.clock, {
    fileBytes: audit_mib * 1024 * 1024,
    files: audit_files,
  });
  if (audit.kind === "refused") {
    await lock.release();
    return audit;
  }
  const opened = openDatabase(within(config.state, "ledger.sqlite"), {
    migrations: LEDGER_MIGRATIONS,
    quickCheckBytes: CHECKED_BYTES,
    busyMs: BUSY_MS,
  });
  const close = async () => {
    audit.audit.close();
    if (opened.kind === "open") opened.database.close();
    await lock.release();
  };
  if (opened.kind === "refused") {
    ports.remarks.error("the ledger cannot be opened: {cause}", { cause: opened.cause });
    await close();
    return opened;
  }
  const running = listen(config, ports, audit.audit, opened.database);
  if (running.kind === "refused") {
    await close();
    return running;
  }
  const { port, epoch, stop } = running;
  return {
    kind: "running",
    port,
    epoch,
    stop: async () => {
      await stop();
      await close();
    },
  };
}

function listen(
  config: AgentConfig,
  ports: AgentPorts,
  audit: Audit,
  database: Database,
): Agent | Refusal {
  const { clock, remarks, build } = ports;
  const epoch = hex(ports.random(16));
  const ledger = new Ledger(database, { clock, epoch });
  const { catalogue, changes } = catalogueOf(config, ports, {
    ...{ epoch, audit },
    ledger,
    cancel: (id) => runner.cancel(id),
    isLive: (id) => runner.isLive(id),
  });
  const { reads, mutations, body_seconds, drain_seconds } = config.limits;
  const runner: Runner = new Runner(
    catalogue,
    {
      clock,
      random: ports.random,
      ledger,
      audit,
      remarks,
      node: config.node,
      topology: config.topology ?? null,
    },
    { reads, mutations, graceMs: GRACE_MS },
  );
  let left: readonly RunView[];
  try {
    left = runner.recover();
  } catch (error) {
    remarks.error("what an earlier process left cannot be settled: {error}", { error });
    return refuse(
      "state_unwritable",
      "what an earlier process left cannot be settled: the state folder takes no writes",
      "see to disk space, then start again",
    );
  }
  for (const run of left) {
    remarks.warn("run {run} of {operation} was interrupted by the end of an earlier process", {
      run: run.id,
      operation: run.operation,
      step: run.step,
      effect: run.effect,
    });
  }
  const parts: AppParts = {
    node: config.node,
    version: build.version,
    catalogue,
    runner,
    ledger,
    clock,
    remarks,
    roster: ports.roster,
    bodyMs: body_seconds * 1000,
  };
  const listener = ports.listen(config.listen, (request) => handle(parts, request));
  if (listener.kind === "refused") return listener;
  // Not waited for: it may take as long as a model takes to load, and is told by `mode.status`.
  const resumed = changes.resume();
  return {
    kind: "running",
    port: listener.port,
    epoch,
    stop: async () => {
      remarks.info("stopping: {running} operations run", { running: runner.running });
      await runner.stop(drain_seconds * 1000);
      await changes.stop();
      await resumed;
      const over = new AbortController();
      const closed = listener.shutdown();
      await Promise.race([closed, clock.sleep(CLOSING_MS, over.signal).catch(() => {})]);
      over.abort();
      ports.upstream.close();
      remarks.info("stopped", {});
    },
  };
}

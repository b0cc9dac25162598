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

import type { Clock } from "../../lib/core/clock.ts";
import type { Directories } from "../../lib/core/directories.ts";
import { hex, type RandomBytes } from "../../lib/core/ids.ts";
import type { TryLock } from "../../lib/core/lock.ts";
import type { ReadPlainFile } from "../../lib/core/plain_file.ts";
import { type Refusal, refuse } from "../../lib/core/refusal.ts";
import type { Remarks } from "../../lib/core/remarks.ts";
import type { Build } from "../../lib/core/version.ts";
import { userId, within } from "../../lib/host/paths.ts";
import { type Database, openDatabase } from "../../lib/host/sqlite.ts";
import type { Upstream } from "../../lib/relay/upstream.ts";
import { type Audit, openAudit } from "../../lib/operation/audit.ts";
import { Catalogue } from "../../lib/operation/catalogue.ts";
import { Ledger } from "../../lib/operation/ledger.ts";
import { LEDGER_MIGRATIONS } from "../../lib/operation/ledger_schema.ts";
import type { Operation } from "../../lib/operation/operation.ts";
import type { RunView } from "../../lib/operation/run_record.ts";
import { Runner } from "../../lib/operation/runner.ts";
import type { OpenChangeJournal } from "../../lib/serves/machines/store.ts";
import { adopterProgram } from "./adopter_program.ts";
import { type AppParts, handle } from "./app.ts";
import type { Roster } from "./clients.ts";
import { type Changes, type HostServes, openChanges } from "./changes.ts";
import type { AgentConfig } from "./config.ts";
import type { FactPorts } from "./facts/fact.ts";
import { Bench } from "./benchmarks/bench.ts";
import { BenchmarkStore, type OpenBenchmarkJournal } from "./benchmarks/store.ts";
import { benchmarkOperations } from "./operations/benchmarks.ts";
import { candidateOperations } from "./operations/candidates.ts";
import { configBackupsOperation } from "./operations/config_backups.ts";
import { configInstallOperation } from "./operations/config_install.ts";
import { configOperations } from "./operations/config.ts";
import { type DigestParts, digestsOperation } from "./operations/digests.ts";
import { knownCredentials } from "./known_credentials.ts";
import { nodeOperations } from "./operations/node.ts";
import { recordOperations } from "./operations/record.ts";
import { tokenOperations } from "./operations/tokens.ts";
import { serveIdentityOperation } from "./operations/serve_identity.ts";
import { servesOperations } from "./operations/serves.ts";
import type { ServesHost } from "./serves_host.ts";

/** Everything an agent needs from outside. */
export interface AgentPorts {
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly remarks: Remarks;
  readonly build: Build;
  readonly facts: FactPorts;
  readonly readPlain: ReadPlainFile;
  readonly upstream: Upstream;
  readonly tryLock: TryLock;
  readonly directories: Directories;
  readonly openJournal: OpenChangeJournal;
  readonly openBenchmarkJournal: OpenBenchmarkJournal;
  /** The serves of this host, for changes; null when agent.toml names none. */
  readonly serves: HostServes | null;
  /** Opens the files and runtimes of this host's serves anew. */
  readonly openServes: () => Promise<ServesHost | Refusal>;
  readonly listen: (
    at: { readonly hostname: string; readonly port: number },
    handler: (request: Request) => Promise<Response>,
  ) => { readonly kind: "listening"; readonly port: number; shutdown(): Promise<void> } | Refusal;
  /** The environment that programs are given; nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  /** The clients known now; null when loopback is trusted. */
  readonly roster: (() => Roster) | null;
  /** Operations besides those of this program; tests bring some. */
  readonly more?: readonly Operation[];
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

/** What `config.digests` looks at, as agent.toml names it. */
function digestParts(
  { config, state, auth, router, adopter }: AgentConfig,
  { facts, readPlain, directories, build }: AgentPorts,
  changes: Changes,
): DigestParts {
  const ofUser = router?.supervisor === "systemd-user";
  const named = router?.unit !== undefined && router.supervisor !== "launchd" ? [router.unit] : [];
  return {
    files: {
      roots: config.roots,
      own: [auth.clients, router?.token_file].filter((path) => path !== undefined),
      except: [state],
      read: readPlain,
      directories,
    },
    units: {
      run: facts.run,
      os: facts.os,
      scope: ofUser ? "--user" : "--system",
      env: ofUser ? { XDG_RUNTIME_DIR: `/run/user/${userId() ?? 0}` } : {},
    },
    named,
    programs: {
      run: facts.run,
      build,
      router: router?.program ?? null,
      adopter: adopter?.program ?? null,
      client: changes.router,
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
  const topology = config.topology ?? null;
  const changes: Changes = openChanges(config, {
    ...ports,
    files: ports.facts.files,
    run: ports.facts.run,
  });
  const store = new BenchmarkStore({
    root: within(config.state, "benchmarks"),
    directories: ports.directories,
    files: ports.facts.files,
    openJournal: ports.openBenchmarkJournal,
  });
  const bench = new Bench({
    ...{ config, clock, remarks, build, store },
    ...{ upstream: ports.upstream, files: ports.facts.files, openServes: ports.openServes },
    ...{ facts: ports.facts, tryLock: ports.tryLock, change: changes.live },
    router: changes.client,
    lockPath: within(config.state, "benchmarks.lock"),
  });
  const { roles } = config;
  const places = { roots: config.config.roots, roles, read: ports.readPlain };
  const catalogue: Catalogue = Catalogue.for(config.roles, [
    ...nodeOperations({
      node: config.node,
      roles: config.roles,
      topology,
      build,
      state: config.state,
      epoch,
      startedAt: clock.now(),
      facts: ports.facts,
      catalogueDigest: () => catalogue.digest,
      ledgerState: () => ledger.count(),
    }),
    ...recordOperations({
      audit,
      ledger,
      cancel: (id) => runner.cancel(id),
      isLive: (id) => runner.isLive(id),
    }),
    ...configOperations(places, () => knownCredentials(config, ports.facts.files)),
    configInstallOperation({
      ...{ node: config.node, topology, places, state: config.state, clock },
      named: { topology: config.serves?.topology, serves: config.serves?.manifest },
      files: ports.facts.files,
      directories: ports.directories,
      tryLock: ports.tryLock,
      change: changes.live,
    }),
    configBackupsOperation({
      ...{ places, state: config.state },
      files: ports.facts.files,
      directories: ports.directories,
    }),
    digestsOperation(digestParts(config, ports, changes)),
    ...tokenOperations({
      clock,
      files: ports.facts.files,
      tryLock: ports.tryLock,
      path: config.auth.clients ?? null,
    }),
    ...candidateOperations(
      config.adopter === undefined
        ? null
        : adopterProgram({ run: ports.facts.run, env: ports.env, ...config.adopter }),
    ),
    ...servesOperations({
      node: config.node,
      open: ports.openServes,
      change: changes.live,
    }),
    serveIdentityOperation({ open: ports.openServes }),
    ...benchmarkOperations({ bench, store }),
    ...changes.operations,
    ...(ports.more ?? []),
  ]);
  const { reads, mutations, body_seconds, drain_seconds } = config.limits;
  const runner: Runner = new Runner(
    catalogue,
    { clock, random: ports.random, ledger, audit, remarks, node: config.node, topology },
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

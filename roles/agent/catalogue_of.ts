/**
 * The catalogue of one agent, wired from `agent.toml`: which operations its host has, and through what
 * they act. Wiring asks nothing of anybody, so `check` does it too, and tells the digest.
 *
 * @module
 */

import type { Clock } from "../../lib/core/clock.ts";
import type { Directories } from "../../lib/core/directories.ts";
import type { TryLock } from "../../lib/core/lock.ts";
import type { ReadPlainFile } from "../../lib/core/plain_file.ts";
import type { Refusal } from "../../lib/core/refusal.ts";
import type { Remarks } from "../../lib/core/remarks.ts";
import type { Build } from "../../lib/core/version.ts";
import { userId, within } from "../../lib/host/paths.ts";
import type { Upstream } from "../../lib/relay/upstream.ts";
import { Catalogue } from "../../lib/operation/catalogue.ts";
import type { Ledger } from "../../lib/operation/ledger.ts";
import type { Operation } from "../../lib/operation/operation.ts";
import type { OpenChangeJournal } from "../../lib/serves/machines/store.ts";
import { adopterProgram } from "./adopter_program.ts";
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
import { recordOperations, type RecordParts } from "./operations/record.ts";
import { tokenOperations } from "./operations/tokens.ts";
import { serveIdentityOperation } from "./operations/serve_identity.ts";
import { servesOperations } from "./operations/serves.ts";
import type { ServesHost } from "./serves_host.ts";
import { Stillness } from "./stillness.ts";

/** What operations act through. */
export interface CataloguePorts {
  readonly clock: Clock;
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
  /** The environment that programs are given; nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  /** Operations besides those of this program; tests bring some. */
  readonly more?: readonly Operation[];
}

/** What is on record: of an agent that runs, or of none. */
export interface Records extends RecordParts {
  readonly epoch: string;
  readonly ledger: RecordParts["ledger"] & Pick<Ledger, "count">;
}

/** Wires all of it. */
export function catalogueOf(
  config: AgentConfig,
  ports: CataloguePorts,
  records: Records,
): { readonly catalogue: Catalogue; readonly changes: Changes } {
  const { clock, remarks, build } = ports;
  const topology = config.topology ?? null;
  const stillness = new Stillness(clock);
  const changes: Changes = openChanges(config, {
    ...ports,
    stillness,
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
    ...{ facts: ports.facts, tryLock: ports.tryLock, stillness },
    changes,
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
      epoch: records.epoch,
      startedAt: clock.now(),
      facts: ports.facts,
      catalogueDigest: () => catalogue.digest,
      ledgerState: () => records.ledger.count(),
    }),
    ...recordOperations(records),
    ...configOperations(places, () => knownCredentials(config, ports.facts.files)),
    configInstallOperation({
      ...{ node: config.node, topology, places, state: config.state, clock },
      named: { topology: config.serves?.topology, serves: config.serves?.manifest },
      files: ports.facts.files,
      directories: ports.directories,
      tryLock: ports.tryLock,
      ...{ change: changes.live, stillness },
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
      ...{ change: changes.live, stillness },
    }),
    serveIdentityOperation({ open: ports.openServes }),
    ...benchmarkOperations({ bench, store }),
    ...changes.operations,
    ...(ports.more ?? []),
  ]);
  return { catalogue, changes };
}

/** What `config.digests` looks at, as agent.toml names it. */
function digestParts(
  { config, state, auth, router, adopter }: AgentConfig,
  { facts, readPlain, directories, build }: CataloguePorts,
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

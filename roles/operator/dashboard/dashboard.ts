/**
 * The dashboard as a whole: topology -> watch, poller -> watch, watch -> page and stream.
 *
 * @module
 */

import type { Clock } from "../../../lib/core/clock.ts";
import { hex } from "../../../lib/core/ids.ts";
import type { Refusal } from "../../../lib/core/refusal.ts";
import { CatalogueShelf } from "../../../lib/dispatch/catalogue_shelf.ts";
import { answerBytesFor } from "../../../lib/dispatch/fan_out.ts";
import type { PlannedHost } from "../../../lib/dispatch/plan.ts";
import { type FollowUp, look } from "../../../lib/dispatch/visit.ts";
import type { Listening } from "../../../lib/host/serve.ts";
import { serveBounded } from "../../../lib/host/serve_bounded.ts";
import { hostTold, proofsOf } from "../capability_told.ts";
import { PROOF_MS } from "../dispatch.ts";
import type { WrongFile } from "../fleet_source.ts";
import type { Operator } from "../operator.ts";
import { FleetWatch } from "./fleet_watch.ts";
import { allowedHosts } from "./guard.ts";
import { matrixCache } from "./matrix_cache.ts";
import { pageText } from "./page.tsx";
import { pageAsk } from "./page_ask.ts";
import { partsOf, type Source } from "./parts.tsx";
import { Poller } from "./poller.ts";
import { asksOf, isAllowed } from "./reads.ts";
import { Updates } from "./updates.ts";
import {
  dashboardToken,
  readSeenBefore,
  readWatched,
  type WatchAsk,
  type WatchRead,
} from "./watched.ts";
import { dashboardWeb, type Web } from "./web.ts";

/** Where it listens, besides what it looks at. */
export interface DashboardAsk extends WatchAsk {
  /** 0 lets the operating system choose. */
  readonly port: number;
  /** How often the topology is read again while somebody looks, in milliseconds; 30 s. */
  readonly rereadMs?: number;
}

/** A dashboard that listens. */
export interface Dashboard {
  readonly kind: "listening";
  readonly url: string;
  readonly port: number;
  readonly watch: FleetWatch;
  readonly poller: Poller;
  readonly updates: Updates;
  /** Ends the streams, the looks and the listener; resolves when all are over. */
  stop(): Promise<void>;
}

/** The one address it ever listens on. */
export const HOSTNAME = "127.0.0.1";
const CONNECTIONS = 64;
const IDLE_MS = 60_000;
/** An answer may take so long, in milliseconds: a page shows no slower truth. */
const ANSWER_MS = 15_000;
/** See {@link DashboardAsk.rereadMs}. */
const REREAD_MS = 30_000;
/** Most bytes of one answer. */
const MOST_ANSWER_BYTES = 256 * 1024;

/** Starts it. `onTrouble` is told what escaped a handler, or kept a client out. */
export async function startDashboard(
  operator: Operator,
  ask: DashboardAsk,
  onTrouble: (line: string) => void,
): Promise<Dashboard | WrongFile | Refusal> {
  const first = await readWatched(operator, ask);
  if (first.kind !== "read") return first;
  const { clock } = operator.ports;
  const seen = await readSeenBefore(operator, ask);
  const epoch = hex(operator.dispatch.random(8));
  const watch = new FleetWatch(epoch, first.watched, seen, clock.now());
  const over = new AbortController();
  const state = { read: first };
  const poller = new Poller(
    {
      clock,
      chance: () => (operator.dispatch.random(1)[0] ?? 0) / 256,
      look: looker(operator, ask, watch, () => state.read, over.signal),
    },
    first.watched.hosts.map(({ host }) => host),
  );
  const source = {
    clock,
    watch,
    matrix: matrixCache(watch, clock),
    freshMs: () => poller.freshMs,
  };
  const updates = new Updates({ ...source, onReader: () => poller.read() });
  let hosts: ReadonlySet<string> = new Set();
  const web = dashboardWeb({
    ...source,
    updates,
    periodMs: () => poller.pace.periodMs,
    onPage: () => poller.read()(),
    hosts: () => hosts,
  });
  const listening = listen(web, ask.port, onTrouble);
  if (listening.kind === "refused") return listening;
  hosts = allowedHosts(HOSTNAME, listening.port);
  warmUp(source, poller.pace.periodMs);
  const running = Promise.all([
    poller.run(over.signal),
    reread(operator, ask, { watch, poller, state }, over.signal),
  ]);
  return {
    kind: "listening",
    url: `http://${HOSTNAME}:${listening.port}/`,
    port: listening.port,
    ...{ watch, poller, updates },
    async stop() {
      updates.close();
      over.abort();
      await Promise.all([running, listening.shutdown()]);
    },
  };
}

/** The first page is as quick as the second: what makes it has run once. */
function warmUp(source: Source & { readonly clock: Clock }, periodMs: number): void {
  const subject = { kind: "fleet", ask: pageAsk(new URLSearchParams()) } as const;
  const now = source.clock.now();
  const parts = partsOf(subject, source, now);
  pageText({ subject, watch: source.watch, parts, moment: { now, ages: true }, periodMs });
}

function listen(
  web: Web,
  port: number,
  onTrouble: (line: string) => void,
): Listening | Refusal {
  return serveBounded({
    hostname: HOSTNAME,
    port,
    connections: CONNECTIONS,
    idleMs: IDLE_MS,
    handler: web,
    onError: (error) => onTrouble(error instanceof Error ? error.name : "an error"),
    onFull: (open) => onTrouble(`${open} connections are open; one more was closed`),
  });
}

/** What looks at one host, and puts what it saw into the watch. */
function looker(
  { ports, dispatch }: Operator,
  ask: DashboardAsk,
  watch: FleetWatch,
  read: () => WatchRead,
  signal: AbortSignal,
): (host: string, slow: boolean) => Promise<boolean> {
  const { clock } = ports;
  // Kept for one topology: catalogues are few, but a node may make up as many as it likes.
  let shelf = new CatalogueShelf(ports.sha256);
  let shelved = 0;
  return async (host, slow) => {
    const { watched, tokens, authorities } = read();
    const planned = watched.hosts.find((one) => one.host === host);
    if (planned === undefined) return false;
    if (++shelved > watched.hosts.length * 16) {
      shelved = 0;
      shelf = new CatalogueShelf(ports.sha256);
    }
    const looked = await look(
      {
        clock,
        open: dispatch.open(authorities),
        catalogues: shelf,
        token: (target: PlannedHost) => dashboardToken(tokens, target, ask.operatorTokens),
      },
      planned,
      asksOf(slow),
      {
        connectMs: ask.connectTimeout * 1000,
        proofMs: PROOF_MS,
        askMs: ANSWER_MS,
        mostBytes: Math.min(MOST_ANSWER_BYTES, answerBytesFor(watched.hosts.length)),
      },
      signal,
      slow ? proofs : undefined,
    );
    if (looked === null) return false;
    const told = hostTold(host, watched.index.hosts.get(host), looked);
    watch.take(host, looked, told, clock.now());
    return looked.proof.kind === "done";
  };
}

/** Questions that follow: no other than the table has. */
const proofs: FollowUp = (answers) => proofsOf(null)(answers).filter(([, ask]) => isAllowed(ask));

/** Reads the topology again from time to time, while somebody looks. */
async function reread(
  operator: Operator,
  ask: DashboardAsk,
  { watch, poller, state }: {
    readonly watch: FleetWatch;
    readonly poller: Poller;
    readonly state: { read: WatchRead };
  },
  signal: AbortSignal,
): Promise<void> {
  const { clock } = operator.ports;
  for (;;) {
    await clock.sleep(ask.rereadMs ?? REREAD_MS, signal).catch(() => {});
    if (signal.aborted) return;
    if (poller.paused) continue;
    const now = await readWatched(operator, ask);
    if (now.kind !== "read") {
      watch.lost(
        now.kind === "refused" ? now.code : `${now.problems.length} problems`,
        clock.now(),
      );
      continue;
    }
    const other = now.watched.fingerprint !== watch.watched.fingerprint;
    state.read = now;
    watch.rewatch(
      now.watched,
      other ? await readSeenBefore(operator, ask) : new Map(),
      clock.now(),
    );
    if (other) poller.retarget(now.watched.hosts.map(({ host }) => host));
  }
}

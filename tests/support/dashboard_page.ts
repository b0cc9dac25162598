/**
 * The dashboard's page on a port of its own, from a watch that a test fills.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Clock } from "../../lib/core/clock.ts";
import { systemClock } from "../../lib/host/clock.ts";
import { serveBounded } from "../../lib/host/serve_bounded.ts";
import type { FleetWatch } from "../../roles/operator/dashboard/fleet_watch.ts";
import { allowedHosts } from "../../roles/operator/dashboard/guard.ts";
import { matrixCache } from "../../roles/operator/dashboard/matrix_cache.ts";
import { Updates } from "../../roles/operator/dashboard/updates.ts";
import { dashboardWeb } from "../../roles/operator/dashboard/web.ts";

/** A page that is served. */
export interface ServedPage extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly updates: Updates;
  /** What escaped a handler. */
  readonly troubles: readonly unknown[];
}

/** Serves `watch`; `port` 0 takes a free one. `clock` is what the stream waits by. */
export function servePage(
  watch: FleetWatch,
  port = 0,
  clock: Clock = systemClock,
): ServedPage {
  const freshMs = 600_000;
  const troubles: unknown[] = [];
  const source = { clock, watch, matrix: matrixCache(watch, clock), freshMs: () => freshMs };
  const updates = new Updates({ ...source, onReader: () => () => {} });
  let hosts: ReadonlySet<string> = new Set();
  const web = dashboardWeb({
    ...source,
    updates,
    ...{ periodMs: () => 5000, onPage: () => {}, hosts: () => hosts },
  });
  const listening = serveBounded({
    ...{ hostname: "127.0.0.1", port, connections: 64, idleMs: 60_000, handler: web },
    onError: (error) => troubles.push(error),
    onFull: (open) => troubles.push(open),
  });
  assert.ok(listening.kind === "listening", JSON.stringify(listening));
  hosts = allowedHosts("127.0.0.1", listening.port);
  return {
    url: `http://127.0.0.1:${listening.port}/`,
    port: listening.port,
    updates,
    troubles,
    async [Symbol.asyncDispose]() {
      updates.close();
      await listening.shutdown();
    },
  };
}

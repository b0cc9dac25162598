/**
 * A router in the test's own process whose ports a test may replace: clock, intents, record sink.
 * For tests of transitions, records and time; all others take the plainer `startRouter`.
 *
 * @module
 */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { stringify } from "smol-toml";
import type { Clock } from "../../lib/core/clock.ts";
import type { RecordSink } from "../../lib/core/record_sink.ts";
import { acceptTcp } from "../../lib/host/accept.ts";
import { systemClock } from "../../lib/host/clock.ts";
import { tcpDial } from "../../lib/host/dial.ts";
import { sha256 } from "../../lib/host/digest.ts";
import { systemRandom } from "../../lib/host/random.ts";
import { serve } from "../../lib/host/serve.ts";
import { DIALECTS } from "../../lib/relay/dialect.ts";
import { http1Upstream } from "../../lib/relay/http1.ts";
import { readClients, Roster } from "../../roles/router/clients.ts";
import { readConfig } from "../../roles/router/config.ts";
import type { Decision } from "../../roles/router/decision.ts";
import type { IntentStore } from "../../roles/router/intent_file.ts";
import { Router } from "../../roles/router/router.ts";
import { OBSERVER, type RouterSettings, routerToml, TOKEN } from "./router_toml.ts";
import { until } from "./wait.ts";

/** A token with the scope `admin` alone. */
export const ADMIN = `anvil_${"adminkey".repeat(5)}T`;

/** Every dialect there is: what a tier of the whole router may declare. */
export const ALL_DIALECTS = DIALECTS;

/** A clients file with one client per scope. */
export function scopedClients(): string {
  const client = (name: string, scope: string, token: string) => ({
    name,
    scopes: [scope],
    tokens: [{
      id: `tk-${name}`,
      sha256: createHash("sha256").update(token).digest("hex"),
      created_at: "2026-01-01T00:00:00Z",
    }],
  });
  return `${
    stringify({
      schema: 1,
      clients: [
        client("tester", "infer", TOKEN),
        client("watcher", "observe", OBSERVER),
        client("operator", "admin", ADMIN),
      ],
    })
  }\n`;
}

/** What a rig is made of, besides its settings. */
export interface RigOptions extends RouterSettings {
  readonly clock?: Clock;
  readonly intents?: IntentStore;
  /** Gets every decision too. */
  readonly sink?: RecordSink<Decision>;
  readonly waitReady?: boolean;
}

/** A JSON answer of the admin listener. */
export interface AdminAnswer {
  readonly status: number;
  readonly code: string | null;
  readonly body: {
    readonly intent?: string;
    readonly readiness?: string;
    readonly in_flight?: number;
    readonly drained?: boolean;
    readonly persisted?: boolean;
    readonly dry_run?: boolean;
    readonly error?: { readonly code: string; readonly message: string };
    readonly observed?: { readonly intent: string; readonly in_flight: number } | null;
  };
}

/** Asks for a transition. */
export async function transition(
  adminPort: number,
  body: unknown,
  token = ADMIN,
): Promise<AdminAnswer> {
  const answer = await fetch(`http://127.0.0.1:${adminPort}/v1/admin/transition`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  return {
    status: answer.status,
    code: answer.headers.get("x-anvil-code"),
    body: await answer.json(),
  };
}

/** A GET on the admin listener with the observer's token, as text. */
export async function observe(adminPort: number, path: string): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${adminPort}${path}`, {
    headers: { authorization: `Bearer ${OBSERVER}` },
  });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  return text;
}

/** A router with ports of the test's choice. */
export class Rig implements AsyncDisposable {
  readonly decisions: Decision[] = [];
  readonly remarks: string[] = [];
  readonly router: Router;

  constructor(options: RigOptions) {
    const config = readConfig(routerToml(options));
    assert.ok(config.kind === "ok", JSON.stringify(config));
    const clients = readClients(scopedClients());
    assert.ok(clients.kind === "ok", JSON.stringify(clients));
    const roster = new Roster(clients.model, sha256);
    const clock = options.clock ?? systemClock;
    const say = (message: string, properties: object) =>
      void this.remarks.push(`${message} ${Deno.inspect(properties)}`);
    const { decisions } = this;
    const sink = options.sink;
    this.router = new Router(config.model, {
      clock,
      random: systemRandom,
      upstream: http1Upstream(tcpDial, clock),
      remarks: { info: say, warn: say, error: say },
      decisions: {
        get lost() {
          return sink?.lost ?? 0;
        },
        write: (decision) => {
          decisions.push(decision);
          sink?.write(decision);
        },
        flush: () => sink?.flush() ?? Promise.resolve(),
      },
      listen: ({ hostname, port }, handler) =>
        serve({ hostname, port, handler, onError: (error) => say("a handler failed", { error }) }),
      accept: ({ hostname, port }, reusePort, take) =>
        acceptTcp({
          hostname,
          port,
          reusePort,
          take,
          onError: (error) => say("a connection was not accepted", { error }),
        }),
      agentToken: () => null,
      traced: null,
      intents: options.intents ?? null,
      residentBytes: () => 1,
      version: "0.0.0-test",
      configDigest: "0".repeat(64),
    }, () => roster);
  }

  /** Starts one, ready unless told not to wait. */
  static async start(options: RigOptions): Promise<Rig> {
    const rig = new Rig(options);
    assert.equal(await rig.router.start(), null);
    if (options.waitReady !== false) {
      await until(
        "the tiers are ready",
        () => [...rig.router.core.tiers.values()].every((tier) => tier.admits),
      );
    }
    return rig;
  }

  get port(): number {
    return this.router.ports.data;
  }

  get adminPort(): number {
    return this.router.ports.admin;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.router.stop(AbortSignal.abort());
  }
}

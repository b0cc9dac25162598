/**
 * A router in the test's own process: the real router on real sockets, with either upstream.
 *
 * @module
 */

import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { acceptTcp } from "../../lib/host/accept.ts";
import { systemClock } from "../../lib/host/clock.ts";
import { tcpDial } from "../../lib/host/dial.ts";
import { sha256 } from "../../lib/host/digest.ts";
import { fetchUpstream } from "../../lib/host/fetch_upstream.ts";
import { systemRandom } from "../../lib/host/random.ts";
import { serve } from "../../lib/host/serve.ts";
import { http1Upstream } from "../../lib/relay/http1.ts";
import { readClients, Roster } from "../../roles/router/clients.ts";
import { readConfig } from "../../roles/router/config.ts";
import type { Decision } from "../../roles/router/decision.ts";
import { Router } from "../../roles/router/router.ts";
import { clientsToml, OBSERVER, type RouterSettings, routerToml, TOKEN } from "./router_toml.ts";
import { until } from "./wait.ts";

/** The two implementations of the upstream port. */
export const UPSTREAMS = ["http1", "fetch"] as const;

/** One of {@link UPSTREAMS}. */
export type UpstreamKind = (typeof UPSTREAMS)[number];

/** A router that runs. */
export interface TestRouter extends AsyncDisposable {
  readonly port: number;
  readonly adminPort: number;
  readonly url: string;
  readonly router: Router;
  /** Every decision, oldest first. */
  readonly decisions: readonly Decision[];
  /** What it said to the people who run it, rendered with its properties. */
  readonly remarks: readonly string[];
  readonly openai: OpenAI;
  readonly anthropic: Anthropic;
  /** `/v1/router/status`. */
  status(): Promise<Status>;
  /** Waits until the tier is ready. */
  ready(): Promise<void>;
  /** Waits until no request is open; asserts that nothing is held then. */
  quiet(): Promise<void>;
  stop(hurry?: AbortSignal): Promise<{ readonly cut: number }>;
}

/** The part of `/v1/router/status` that tests look at. */
export interface Status {
  readonly draining: boolean;
  readonly open: number;
  readonly buffered_bytes: number;
  readonly decisions_lost: number;
  readonly tiers: readonly {
    readonly tier: string;
    readonly readiness: "ready" | "not_ready";
    readonly in_flight: number;
    readonly waiting: number;
    readonly members: readonly {
      readonly id: string;
      readonly state: string;
      readonly expected: string;
      readonly observed: string;
      readonly in_flight: number;
    }[];
  }[];
}

/** How a router is started. */
export interface RouterOptions extends RouterSettings {
  readonly upstream?: UpstreamKind;
  /** Default true: returns only once the tier is ready. */
  readonly waitReady?: boolean;
}

/** Starts one, and waits until its tier is ready. */
export async function startRouter(options: RouterOptions): Promise<TestRouter> {
  const config = readConfig(routerToml(options));
  assert.ok(config.kind === "ok", JSON.stringify(config));
  const clients = readClients(clientsToml());
  assert.ok(clients.kind === "ok", JSON.stringify(clients));
  const roster = new Roster(clients.model, sha256);
  const decisions: Decision[] = [];
  const remarks: string[] = [];
  const say = (message: string, properties: object) =>
    void remarks.push(`${message} ${Deno.inspect(properties)}`);
  const router = new Router(config.model, {
    clock: systemClock,
    random: systemRandom,
    upstream: options.upstream === "fetch" ? fetchUpstream() : http1Upstream(tcpDial, systemClock),
    remarks: { info: say, warn: say, error: say },
    decisions: {
      lost: 0,
      write: (decision) => void decisions.push(decision),
      flush: () => Promise.resolve(),
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
    intents: null,
    residentBytes: () => 0,
    version: "0.0.0-test",
    configDigest: "0".repeat(64),
  }, () => roster);
  const refusal = await router.start();
  assert.equal(refusal, null);
  const running = new Running(router, decisions, remarks);
  if (options.waitReady !== false) await running.ready();
  return running;
}

class Running implements TestRouter {
  readonly port: number;
  readonly adminPort: number;
  readonly url: string;
  readonly openai: OpenAI;
  readonly anthropic: Anthropic;
  #stopped: Promise<{ readonly cut: number }> | null = null;

  constructor(
    readonly router: Router,
    readonly decisions: readonly Decision[],
    readonly remarks: readonly string[],
  ) {
    this.port = router.ports.data;
    this.adminPort = router.ports.admin;
    this.url = `http://127.0.0.1:${this.port}`;
    const options = { apiKey: TOKEN, maxRetries: 0, logLevel: "off" } as const;
    this.openai = new OpenAI({ ...options, baseURL: `${this.url}/v1` });
    this.anthropic = new Anthropic({ ...options, baseURL: this.url });
  }

  async status(): Promise<Status> {
    return await statusAt(this.adminPort);
  }

  async ready(): Promise<void> {
    const tiers = [...this.router.core.tiers.values()];
    await until("the tier is ready", () => tiers.every((tier) => tier.admits));
  }

  async quiet(): Promise<void> {
    const { core } = this.router;
    await until("no request is open", () => core.open.size === 0);
    for (const tier of core.tiers.values()) {
      assert.equal(tier.inFlight, 0, "leases");
      assert.equal(tier.report().waiting, 0, "waiters");
    }
    assert.equal(core.bounds.budget.held, 0, "buffered bytes");
  }

  stop(hurry?: AbortSignal): Promise<{ readonly cut: number }> {
    this.#stopped ??= this.router.stop(hurry);
    return this.#stopped;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop(AbortSignal.abort());
  }
}

/** `/v1/router/status` of the router whose admin listener is there. */
export async function statusAt(adminPort: number, token = OBSERVER): Promise<Status> {
  const answer = await fetch(`http://127.0.0.1:${adminPort}/v1/router/status`, {
    headers: { authorization: `Bearer ${token}` },
  });
  assert.equal(answer.status, 200);
  return await answer.json() as Status;
}

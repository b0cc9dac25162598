/**
 * One request on the data side, from its arrival to its record.
 *
 *     arrive -> authenticate -> read the ask -> resolve the tier -> honour? -> lease -> send once
 *            -> relay -> end: lease released, decision recorded
 *
 * Every way out goes through `#finish`, once: that is the only place a lease is given up.
 *
 * @module
 */

import { timestamp } from "../../lib/core/clock.ts";
import { requestIdFrom } from "../../lib/core/ids.ts";
import type { Asked, Reply } from "../../lib/intake/asked.ts";
import { BodyWatch } from "../../lib/relay/body_watch.ts";
import { type Family, familyOf, type Route } from "../../lib/relay/dialect.ts";
import { type FailureCode, failureOf, type Outcome } from "../../lib/relay/failure.ts";
import { toMember } from "../../lib/relay/headers.ts";
import type { UpstreamAnswer } from "../../lib/relay/upstream.ts";
import { answerHead, Relayed } from "./answer.ts";
import { type Ask, readAsk } from "./ask.ts";
import type { Core } from "./core.ts";
import type { Decision } from "./decision.ts";
import { messageOf } from "./exchange_messages.ts";
import { spanOf } from "./request_span.ts";
import { unhonoured } from "./honour.ts";
import { errorAnswer, give } from "./response.ts";
import type { Member, Tier } from "./tier.ts";

/** What cut an exchange short. */
type Interruption =
  | { readonly kind: "left" }
  | { readonly kind: "expired"; readonly code: FailureCode }
  | { readonly kind: "stopped" };

/** One request at work. */
export class Exchange {
  readonly #core: Core;
  readonly #asked: Asked;
  readonly #reply: Reply;
  readonly #route: Route;
  readonly #query: string;
  readonly #family: Family;
  /** Names the lease: a client's request id may come twice. */
  readonly #id: string;
  readonly requestId: string;
  readonly #arrivedAt: number;
  readonly #arrived: number;
  readonly #upstream = new AbortController();
  #interruption: Interruption | null = null;
  /** How long what is waited for now may take, in milliseconds. */
  #limitMs = Infinity;
  #limitCode: FailureCode = "body_too_slow";
  /** When that was first looked at: nothing on the way of a byte asks what time it is. */
  #waitingSince: number | null = null;
  #relaying: Relayed | null = null;
  #finished = false;

  #client: string | null = null;
  #ask: Ask | null = null;
  #tier: Tier | null = null;
  #member: Member | null = null;
  #alias: string | null = null;
  #stream: boolean | null = null;
  #queueMs: number | null = null;
  #dispatched: 0 | 1 = 0;

  constructor(core: Core, asked: Asked, reply: Reply, route: Route, query: string) {
    this.#core = core;
    this.#asked = asked;
    this.#reply = reply;
    this.#route = route;
    this.#query = query;
    this.#family = familyOf(route.path, asked.headers);
    this.#id = core.nextId();
    this.requestId = requestIdFrom(asked.headers.get("x-request-id")) ?? this.#id;
    this.#arrivedAt = core.ports.clock.now();
    this.#arrived = core.ports.clock.monotonic();
  }

  /** Answers the request. Never rejects because of what a client or a member did. */
  async respond(): Promise<void> {
    const { open, config } = this.#core;
    if (this.#core.refusing) return this.#refuse("router_draining", { retryAfterSeconds: 5 });
    if (open.size >= config.limits.requests) {
      return this.#refuse("router_saturated", { retryAfterSeconds: 1 });
    }
    open.add(this);
    this.#reply.onGone = () => this.#interrupt({ kind: "left" });
    try {
      await this.#admit();
    } catch (error) {
      this.#core.ports.onBug(error);
      this.#upstream.abort();
      await this.#refuse("router_error");
    }
  }

  /** Cuts the exchange short when it has waited too long, never early. Called by the core's sweep. */
  expire(now: number): void {
    this.#waitingSince ??= now;
    if (now - this.#waitingSince >= this.#limitMs) {
      this.#interrupt({ kind: "expired", code: this.#limitCode });
    } else this.#relaying?.beat(now);
  }

  /** Cuts the exchange short because the router stops. */
  stop(): void {
    this.#interrupt({ kind: "stopped" });
  }

  async #admit(): Promise<void> {
    const { config, tiers } = this.#core;
    const proven = this.#core.authenticate(this.#asked.headers);
    if (proven.kind === "missing") return this.#refuse("token_missing");
    if (proven.kind === "unknown") return this.#refuse("token_unknown");
    this.#client = proven.principal.name;
    if (!proven.principal.scopes.has("infer")) return this.#refuse("scope_missing");

    this.#expireIn(config.limits.body_seconds * 1000, "body_too_slow");
    const ask = await readAsk(this.#asked, this.#route.body, this.#core.bounds);
    if (this.#interruption !== null) {
      if (ask.kind === "ask") ask.drop();
      return this.#cutShort(this.#interruption);
    }
    if (ask.kind === "refused") return this.#refuse(ask.code, { message: ask.message });
    if (ask.kind === "left") return this.#cutShort(ask);
    this.#ask = ask;
    this.#limitMs = Infinity;

    const tier = tiers.get(config.aliases[ask.alias] ?? "");
    if (tier === undefined) return this.#refuse("alias_unknown");
    this.#alias = ask.alias;
    this.#tier = tier;
    if (!tier.config.dialects.includes(this.#route.dialect)) {
      const message = `this model does not speak ${this.#route.dialect}; ` +
        `it speaks ${tier.config.dialects.join(", ")}`;
      return this.#refuse("dialect_unsupported", { message });
    }
    const unfit = unhonoured(tier.config, ask.facts);
    if (unfit !== null) return this.#refuse(unfit.code, { message: unfit.message });

    const lease = await tier.lease(this.#id);
    if (lease.kind === "gone") return this.#cutShort(this.#interruption ?? { kind: "left" });
    if (lease.kind === "refused") {
      return this.#refuse(lease.code, { retryAfterSeconds: lease.retryAfterSeconds });
    }
    this.#queueMs = lease.waitedMs;
    this.#member = lease.member;
    return await this.#send(ask, tier, lease.member);
  }

  async #send(ask: Ask, tier: Tier, member: Member): Promise<void> {
    const { timeouts } = tier.config;
    const awaitFirstByte = () =>
      this.#expireIn(timeouts.first_byte_seconds * 1000, "upstream_first_byte_timeout");
    // A client that is still sending holds a lease: it may not take its time.
    if (ask.arriving) this.#expireIn(this.#core.config.limits.body_seconds * 1000, "body_too_slow");
    else awaitFirstByte();
    this.#dispatched = 1;
    const answer = await this.#core.ports.upstream.send({
      endpoint: member.endpoint,
      method: "POST",
      target: this.#route.path + this.#query,
      headers: toMember(this.#asked.headers.list),
      body: ask.upstreamBody(
        tier.model[this.#route.body],
        (facts) => unhonoured(tier.config, facts),
        awaitFirstByte,
      ),
      connectMs: timeouts.connect_ms,
      signal: this.#upstream.signal,
    });
    if (answer.kind === "failed") return this.#unanswered(answer, tier, member);
    if (this.#interruption !== null) {
      answer.body.cancel();
      return this.#cutShort(this.#interruption);
    }
    return await this.#relay(answer, tier);
  }

  #unanswered(
    failed: UpstreamAnswer & { readonly kind: "failed" },
    tier: Tier,
    member: Member,
  ): Promise<void> {
    if (failed.sent === "no") this.#dispatched = 0;
    const refusal = this.#ask?.refusal ?? null;
    if (refusal !== null) return this.#refuse(refusal.code, { message: refusal.message });
    if (this.#interruption !== null) return this.#cutShort(this.#interruption);
    this.#core.ports.onMemberTrouble(tier, member, failed.cause);
    if (failed.code === "body_failed") return this.#cutShort({ kind: "left" });
    if (failed.sent === "no") return this.#refuse("upstream_unreachable");
    return this.#refuse(
      failed.code === "malformed_head" ? "upstream_malformed" : "upstream_closed",
    );
  }

  async #relay(
    answer: UpstreamAnswer & { readonly kind: "answered" },
    tier: Tier,
  ): Promise<void> {
    const { ports, config } = this.#core;
    const heartbeat = tier.config.heartbeat_seconds;
    const watch = new BodyWatch(this.#route.dialect, answer.headers, answer.body.framing);
    this.#stream = watch.isStream;
    const head = answerHead(
      answer,
      watch,
      this.#family,
      this.requestId,
      tier.config.id,
      this.#asked.headers.has("origin"),
    );
    if (head === null) {
      answer.body.cancel();
      return this.#refuse("upstream_malformed");
    }
    const relayed = new Relayed({
      source: answer.body,
      watch,
      reply: this.#reply,
      head,
      family: this.#family,
      requestId: this.requestId,
      clock: ports.clock,
      expireIn: (ms, code) => this.#expireIn(ms, code),
      idleMs: tier.config.timeouts.idle_seconds * 1000,
      heartbeatMs: heartbeat === undefined ? null : heartbeat * 1000,
      stallMs: config.limits.stall_seconds * 1000,
      interrupted: () => this.#interruption === null ? null : codeOf(this.#interruption) ?? "left",
      ended: (outcome, code) => {
        const final = outcome === "completed" && answer.status >= 400 ? "upstream_status" : outcome;
        this.#finish(final, code, answer.status);
      },
    });
    this.#relaying = relayed;
    const broken = await relayed.run();
    if (broken !== null) await this.#refuse(broken);
  }

  #interrupt(interruption: Interruption): void {
    if (this.#interruption !== null || this.#finished) return;
    this.#interruption = interruption;
    this.#limitMs = Infinity;
    this.#relaying?.interrupt();
    this.#upstream.abort();
    this.#asked.body.stop();
    // A waiter's place is given up here; a lease only by `#finish`, once the send has returned.
    if (this.#queueMs === null) this.#tier?.end(this.#id);
  }

  async #cutShort(interruption: Interruption): Promise<void> {
    if (interruption.kind === "left") {
      this.#finish("client_closed", null, null);
      return this.#reply.break();
    }
    await this.#refuse(codeOf(interruption) ?? "router_stopped");
  }

  async #refuse(
    code: FailureCode,
    more: { readonly message?: string; readonly retryAfterSeconds?: number } = {},
  ): Promise<void> {
    const failure = failureOf(code);
    this.#finish(failure.outcome, code, failure.status);
    if (this.#reply.begun) return this.#reply.break();
    await give(
      this.#reply,
      errorAnswer(code, {
        family: this.#family,
        requestId: this.requestId,
        message: more.message ?? messageOf(code),
        ...(this.#tier === null ? {} : { tier: this.#tier.config.id }),
        ...(more.retryAfterSeconds === undefined
          ? {}
          : { retryAfterSeconds: more.retryAfterSeconds }),
      }),
    );
  }

  #expireIn(ms: number, code: FailureCode): void {
    this.#limitMs = ms;
    this.#limitCode = code;
    this.#waitingSince = null;
  }

  #finish(outcome: Outcome, code: FailureCode | null, status: number | null): void {
    if (this.#finished) return;
    this.#finished = true;
    this.#limitMs = Infinity;
    this.#core.open.delete(this);
    this.#tier?.end(this.#id);
    this.#ask?.drop();
    const { clock, decided, traced } = this.#core.ports;
    const relayed = this.#relaying;
    const firstAt = relayed?.firstByteAt ?? null;
    const retries = Number(this.#asked.headers.get("x-stainless-retry-count") ?? NaN);
    const decision: Decision = {
      at: timestamp(this.#arrivedAt),
      request_id: this.requestId,
      client: this.#client,
      alias: this.#alias,
      tier: this.#tier?.config.id ?? null,
      member: this.#member?.id ?? null,
      dialect: this.#route.dialect,
      stream: this.#stream,
      queue_ms: rounded(this.#queueMs),
      ttft_ms: rounded(firstAt === null ? null : firstAt - this.#arrived),
      duration_ms: rounded(clock.monotonic() - this.#arrived) ?? 0,
      bytes_in: this.#ask?.received ?? 0,
      bytes_out: relayed?.bytesOut ?? 0,
      usage: relayed?.usage() ?? null,
      status,
      outcome,
      code,
      dispatched: this.#dispatched,
      client_retries: Number.isSafeInteger(retries) && retries >= 0 ? retries : null,
    };
    decided(decision);
    traced?.(spanOf(decision, this.#route.path, this.#asked.headers.get("traceparent")));
  }
}

function codeOf(interruption: Interruption): FailureCode | null {
  switch (interruption.kind) {
    case "left":
      return null;
    case "expired":
      return interruption.code;
    case "stopped":
      return "router_stopped";
  }
}

/** Milliseconds to a hundredth. */
function rounded(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms * 100) / 100;
}

/**
 * One host: who answers there is proven first, then it is asked, once.
 *
 *     token ─> GET /livez, without the token: does it name this node?
 *           ─> GET /health: does it know the token, is it this node, does it speak our protocol?
 *           ─> what was asked for ─> an outcome
 *
 * Up to the last arrow nothing was asked, and every outcome says so (`notSent`).
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import type { Refusal } from "../core/refusal.ts";
import type { Secret } from "../core/secret.ts";
import type { Upstream } from "../relay/upstream.ts";
import { type Ask, askedOf, PROTOCOL, resultOf } from "./ask.ts";
import type { CatalogueShelf } from "./catalogue_shelf.ts";
import { exchange, type Exchanged, type ExchangeLimits } from "./exchange.ts";
import { fellBy, fellWith, type Stage } from "./failing.ts";
import { done, fell, type Health, type Outcome } from "./outcome.ts";
import type { PlannedHost } from "./plan.ts";
import { NODE_HEADER, readReply, strangerOf } from "./reply.ts";
import { withoutSecret } from "./without_secret.ts";

/** What a visit needs. */
export interface VisitPorts {
  readonly clock: Clock;
  /** A client for this visit alone; it is closed at its end. */
  readonly open: (scheme: "http" | "https") => Upstream;
  /** The token of a host. */
  readonly token: (host: PlannedHost) => Promise<
    { readonly kind: "ok"; readonly secret: Secret } | Refusal
  >;
  readonly catalogues: CatalogueShelf;
  /** Told before a live mutation leaves, or what may be one. */
  readonly onMutation: () => void;
}

/** What a visit may take. */
export interface VisitLimits {
  /** For the connection, in milliseconds. */
  readonly connectMs: number;
  /** For each step of the proof, in milliseconds. */
  readonly proofMs: number;
  /** For what is asked, in milliseconds; null: what the operation's own deadline allows. */
  readonly askMs: number | null;
  /** Of the answer. */
  readonly mostBytes: number;
}

/** How long an answer may be on its way beyond the operation's deadline, in milliseconds. */
const WAY_MS = 5000;
/** For an operation whose deadline is not known, in milliseconds. */
const UNKNOWN_DEADLINE_MS = 60_000;
const NOT_SENT = { notSent: true } as const;
/** `/health` and `/livez` are never larger. */
const MOST_PROOF_BYTES = 64 * 1024;

/**
 * Visits one host. Null when `signal` ended it before anything true could be said: nothing was
 * asked, or only something that changes nothing.
 */
export async function visit(
  ports: VisitPorts,
  target: PlannedHost,
  ask: Ask,
  limits: VisitLimits,
  signal: AbortSignal,
): Promise<Outcome | null> {
  const started = ports.clock.monotonic();
  const token = await ports.token(target);
  if (token.kind === "refused") return withoutToken(target, token);
  if (signal.aborted) return null;
  const upstream = ports.open(target.endpoint.scheme);
  try {
    const outcome = await new Visit(ports, upstream, target, limits, signal).run(token.secret, ask);
    if (outcome === null) return null;
    const tookMs = Math.round(ports.clock.monotonic() - started);
    return { ...withoutSecret(outcome, token.secret), tookMs };
  } finally {
    upstream.close();
  }
}

/** What a look at a host gave: who answers there, and what each question gave. */
export interface Looked {
  /** Of `GET /health`; when it is not `done`, nothing was asked. */
  readonly proof: Outcome;
  /** By the operation's name; none is there that `signal` ended. */
  readonly answers: ReadonlyMap<string, Outcome>;
}

/** Questions that follow from the first answers, each under the name its answer gets. */
export type FollowUp = (
  answers: ReadonlyMap<string, Outcome>,
) => readonly (readonly [name: string, ask: CallAsk])[];

/**
 * Looks at one host: proves once who answers there, then asks `asks` in turn over the same
 * connection, and after them what `followUp` makes of the answers. Only what the host's own
 * catalogue calls a read is sent; anything else is refused here.
 */
export async function look(
  ports: Omit<VisitPorts, "onMutation">,
  target: PlannedHost,
  asks: readonly CallAsk[],
  limits: VisitLimits,
  signal: AbortSignal,
  followUp: FollowUp = () => [],
): Promise<Looked | null> {
  const started = ports.clock.monotonic();
  const token = await ports.token(target);
  if (token.kind === "refused") return { proof: withoutToken(target, token), answers: new Map() };
  if (signal.aborted) return null;
  const { secret } = token;
  const upstream = ports.open(target.endpoint.scheme);
  const told = (outcome: Outcome) => withoutSecret(outcome, secret);
  try {
    const all = { ...ports, onMutation: () => {} };
    const visit = new Visit(all, upstream, target, limits, signal);
    const proven = await visit.prove(secret);
    if (proven === null) return null;
    const tookMs = Math.round(ports.clock.monotonic() - started);
    if (proven.kind !== "proven") return { proof: { ...told(proven), tookMs }, answers: new Map() };
    const { health, about } = proven;
    const answers = new Map<string, Outcome>();
    const put = async (name: string, ask: CallAsk) => {
      const outcome = await visit.read(proven, ask);
      if (outcome !== null) answers.set(name, told(outcome));
    };
    for (const ask of asks) await put(ask.name, ask);
    for (const [name, ask] of followUp(answers)) await put(name, ask);
    return { proof: { ...told(done(target.host, health, about)), tookMs }, answers };
  } finally {
    upstream.close();
  }
}

/** A call as a question of a look. */
export type CallAsk = Extract<Ask, { kind: "call" }>;

function withoutToken({ host }: PlannedHost, { code, detail, nextStep }: Refusal): Outcome {
  const more = { notSent: true, nextStep: nextStep ?? null };
  return fell(host, "unauthorized", code, detail, more);
}

/** Who answers was proven. */
interface Proven {
  readonly kind: "proven";
  readonly headers: readonly (readonly [string, string])[];
  readonly health: Health;
  readonly about: Pick<Outcome, "health" | "skewMs">;
}

class Visit {
  readonly #ports: VisitPorts;
  readonly #upstream: Upstream;
  readonly #target: PlannedHost;
  readonly #limits: VisitLimits;
  readonly #signal: AbortSignal;

  constructor(
    ports: VisitPorts,
    upstream: Upstream,
    target: PlannedHost,
    limits: VisitLimits,
    signal: AbortSignal,
  ) {
    this.#ports = ports;
    this.#upstream = upstream;
    this.#target = target;
    this.#limits = limits;
    this.#signal = signal;
  }

  async run(secret: Secret, ask: Ask): Promise<Outcome | null> {
    const proven = await this.prove(secret);
    if (proven?.kind !== "proven") return proven;
    const { headers, health, about } = proven;
    if (ask.kind === "health") return done(this.#target.host, health, about);
    const outcome = await this.#asked(headers, health, ask);
    return outcome && { ...outcome, ...about };
  }

  /** Asks what is known to change nothing; anything else is refused, and not sent. */
  async read({ headers, health, about }: Proven, ask: CallAsk): Promise<Outcome | null> {
    const { catalogues } = this.#ports;
    const digest = health["catalogue_digest"];
    const entry = await this.#entryOf(headers, health, ask.name);
    if (this.#signal.aborted) return null;
    if (entry === null || entry.effect !== "read") {
      const { host } = this.#target;
      const has = entry === null ? await catalogues.has(digest, ask.name) : true;
      return has === null
        ? fell(host, "refused", "catalogue_unknown", "its operations could not be read", NOT_SENT)
        : has
        ? fell(host, "refused", "not_a_read", "the node does not call it a read", NOT_SENT)
        : fell(host, "refused", "operation_absent", "the node has no such operation", NOT_SENT);
    }
    const outcome = await this.#asked(headers, health, ask);
    return outcome && { ...outcome, ...about };
  }

  async prove(secret: Secret): Promise<Proven | Outcome | null> {
    const { node } = this.#target;
    const alive = await this.#get("/livez", [[NODE_HEADER, node]]);
    if (alive.kind === "failed") return this.#failed("proof", "read", alive);
    // A bearer token is shown to nobody who does not even claim to be the node.
    const stranger = strangerOf(alive, node);
    if (stranger !== null) return fellWith(this.#target.host, "proof", "read", stranger);
    const headers = [
      [NODE_HEADER, node],
      ["authorization", `Bearer ${secret.reveal()}`],
      ["accept", "application/json"],
    ] as const;
    const proof = await this.#get("/health", headers);
    if (proof.kind === "failed") return this.#failed("proof", "read", proof);
    const reply = readReply(proof, node);
    if (reply.kind !== "ok") return fellWith(this.#target.host, "proof", "read", reply);
    const health: Health = reply.body;
    if (health["node"] !== node) {
      return fell(this.#target.host, "wrong_node", "wrong_node", "another node answers there", {
        ...{ notSent: true, failure: "wrong_node" },
      });
    }
    const about = { health, skewMs: this.#skew(proof.headers.get("date")) };
    if (health["protocol"] !== PROTOCOL) {
      return fell(
        this.#target.host,
        "refused",
        "protocol_differs",
        `the agent speaks protocol ${JSON.stringify(health["protocol"] ?? null).slice(0, 20)}, ` +
          `this operator ${PROTOCOL}`,
        { ...about, notSent: true, failure: "wrong_build", nextStep: "bring both to one version" },
      );
    }
    return { kind: "proven", headers, health, about };
  }

  #entryOf(headers: Proven["headers"], health: Health, name: string) {
    return this.#ports.catalogues.entryOf(
      health["catalogue_digest"],
      name,
      () => this.#get("/v1/operations", headers, 1024 * 1024),
    );
  }

  async #asked(
    headers: readonly (readonly [string, string])[],
    health: Health,
    ask: Exclude<Ask, { kind: "health" }>,
  ): Promise<Outcome | null> {
    const entry = ask.kind === "call" ? await this.#entryOf(headers, health, ask.name) : null;
    if (this.#signal.aborted) return null;
    // What is not known to change nothing is taken to change something.
    const effect = ask.kind !== "call" || ask.dryRun || entry?.effect === "read"
      ? "read"
      : "mutate";
    if (effect === "mutate") this.#ports.onMutation();
    const deadline = entry === null ? UNKNOWN_DEADLINE_MS : entry.deadlineMs + WAY_MS;
    const answer = await this.#send({ ...askedOf(ask, headers), endpoint: this.#target.endpoint }, {
      connectMs: this.#limits.connectMs,
      deadlineMs: this.#limits.askMs ?? deadline,
      mostBytes: this.#limits.mostBytes,
    });
    if (answer.kind === "failed") return this.#failed("ask", effect, answer);
    const reply = readReply(answer, this.#target.node);
    if (reply.kind !== "ok") return fellWith(this.#target.host, "ask", effect, reply);
    const result = resultOf(ask, reply.body);
    if (result !== null) {
      return done(this.#target.host, result.result, { run: result.run, known: result.known });
    }
    const detail = "the agent's answer has another shape than this operator knows";
    return fellWith(this.#target.host, "ask", effect, {
      ...{ kind: "strange", code: "answer_unreadable", detail },
    });
  }

  /** A read of the proof. */
  #get(
    target: string,
    headers: readonly (readonly [string, string])[],
    mostBytes: number = MOST_PROOF_BYTES,
  ): Promise<Exchanged> {
    const { connectMs, proofMs: deadlineMs } = this.#limits;
    const asked = { method: "GET", target, headers, body: { kind: "none" } } as const;
    return this.#send({ ...asked, endpoint: this.#target.endpoint }, {
      ...{ connectMs, deadlineMs, mostBytes },
    });
  }

  #send(asked: Parameters<typeof exchange>[1], limits: ExchangeLimits): Promise<Exchanged> {
    const { clock } = this.#ports;
    return exchange({ upstream: this.#upstream, clock }, asked, limits, this.#signal);
  }

  #failed(
    stage: Stage,
    effect: "read" | "mutate",
    exchanged: Extract<Exchanged, { kind: "failed" }>,
  ): Outcome | null {
    return fellBy(this.#target.host, stage, effect, exchanged);
  }

  #skew(date: string | undefined): number | null {
    const theirs = Date.parse(date ?? "");
    return Number.isNaN(theirs) ? null : theirs - this.#ports.clock.now();
  }
}

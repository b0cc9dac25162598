/**
 * Who may use a tier now: one gate per tier, leases in flight and a bounded FIFO queue before them.
 *
 *     ask ──> granted (lease) ──────────────── end ──> lease gone, next waiter granted
 *         ──> waiting ──> granted | refused | gone
 *         ──> refused: queue_full, queue_timeout, tier_quiesced, tier_not_ready
 *
 * Events in, effects out: `step` is the only thing that changes a gate, its owner the only caller.
 * The gate is changed in place because it stands on the request path; nobody else may hold it.
 * Every `ask` is answered by exactly one `granted` or `refused`, or withdrawn by its own `end`.
 *
 * @module
 */

/** How much a tier takes at once. */
export interface GateLimits {
  readonly inFlight: number;
  readonly queue: number;
  readonly queueSeconds: number;
}

/** What an operator wants of the tier. Only an operator changes it. */
export type Intent = "admit" | "quiesce";

/** Something that happened. `at` is monotonic milliseconds. */
export type GateEvent =
  | { readonly kind: "ask"; readonly id: string; readonly at: number }
  /** The exchange ended, whatever the end was: its lease or its place in the queue is given up. */
  | { readonly kind: "end"; readonly id: string; readonly at: number }
  | { readonly kind: "tick"; readonly at: number }
  /** The members that are ready now, in declared order. */
  | { readonly kind: "members"; readonly ready: readonly string[]; readonly at: number }
  | { readonly kind: "intent"; readonly intent: Intent; readonly at: number };

/** Why an ask was refused. */
export type GateRefusal = "queue_full" | "queue_timeout" | "tier_quiesced" | "tier_not_ready";

/** Something the owner must now do. */
export type GateEffect =
  | {
    readonly kind: "granted";
    readonly id: string;
    readonly member: string;
    readonly waitedMs: number;
  }
  | {
    readonly kind: "refused";
    readonly id: string;
    readonly code: GateRefusal;
    readonly retryAfterSeconds: number;
  };

/** The state of one gate. */
export interface Gate {
  readonly limits: GateLimits;
  intent: Intent;
  ready: readonly string[];
  /** Lease id -> the member it was granted. Its size is the tier's in-flight count. */
  readonly leases: Map<string, string>;
  /** Waiter id -> when it asked, oldest first. */
  readonly waiting: Map<string, number>;
  /** Grants so far: the round robin's cursor. */
  turns: number;
}

/** A gate with nobody in it and no member ready yet. */
export function createGate(limits: GateLimits, intent: Intent = "admit"): Gate {
  return { limits, intent, ready: [], leases: new Map(), waiting: new Map(), turns: 0 };
}

/** Seconds a refused client is told to wait while a tier is not ready or quiesced. */
const UNAVAILABLE_RETRY_SECONDS = 5;

/** Takes one event in and returns what is now owed, in order. */
export function step(gate: Gate, event: GateEvent): GateEffect[] {
  switch (event.kind) {
    case "ask":
      return ask(gate, event.id, event.at);
    case "end":
      gate.waiting.delete(event.id);
      return gate.leases.delete(event.id) ? grantWaiting(gate, event.at) : [];
    case "tick":
      return expire(gate, event.at);
    case "members":
      gate.ready = event.ready;
      return gate.ready.length === 0
        ? refuseWaiting(gate, "tier_not_ready")
        : grantWaiting(gate, event.at);
    case "intent":
      gate.intent = event.intent;
      return event.intent === "quiesce"
        ? refuseWaiting(gate, "tier_quiesced")
        : grantWaiting(gate, event.at);
  }
}

function ask(gate: Gate, id: string, at: number): GateEffect[] {
  if (gate.leases.has(id) || gate.waiting.has(id)) throw new Error(`gate: ${id} asks twice`);
  if (gate.intent === "quiesce") return [refused(gate, id, "tier_quiesced")];
  if (gate.ready.length === 0) return [refused(gate, id, "tier_not_ready")];
  if (gate.waiting.size === 0 && gate.leases.size < gate.limits.inFlight) {
    return [grant(gate, id, 0)];
  }
  if (gate.waiting.size >= gate.limits.queue) return [refused(gate, id, "queue_full")];
  gate.waiting.set(id, at);
  return [];
}

function grant(gate: Gate, id: string, waitedMs: number): GateEffect {
  const member = gate.ready[gate.turns % gate.ready.length] as string;
  gate.turns++;
  gate.leases.set(id, member);
  return { kind: "granted", id, member, waitedMs };
}

function grantWaiting(gate: Gate, at: number): GateEffect[] {
  const effects: GateEffect[] = [];
  if (gate.intent === "quiesce" || gate.ready.length === 0) return effects;
  for (const [id, asked] of gate.waiting) {
    if (gate.leases.size >= gate.limits.inFlight) break;
    gate.waiting.delete(id);
    effects.push(grant(gate, id, at - asked));
  }
  return effects;
}

function expire(gate: Gate, at: number): GateEffect[] {
  const effects: GateEffect[] = [];
  for (const [id, asked] of gate.waiting) {
    if (at - asked < gate.limits.queueSeconds * 1000) break;
    gate.waiting.delete(id);
    effects.push(refused(gate, id, "queue_timeout"));
  }
  return effects;
}

function refuseWaiting(gate: Gate, code: GateRefusal): GateEffect[] {
  const effects = [...gate.waiting.keys()].map((id) => refused(gate, id, code));
  gate.waiting.clear();
  return effects;
}

function refused(gate: Gate, id: string, code: GateRefusal): GateEffect {
  const unavailable = code === "tier_quiesced" || code === "tier_not_ready";
  const retryAfterSeconds = unavailable
    ? UNAVAILABLE_RETRY_SECONDS
    : Math.max(1, Math.ceil(gate.limits.queueSeconds / 2));
  return { kind: "refused", id, code, retryAfterSeconds };
}

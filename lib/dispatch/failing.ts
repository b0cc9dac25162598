/**
 * What a failure means: which outcome it is, whether anything left for the node, and whether it is
 * the proof that recovery needs.
 *
 * @module
 */

import type { AgentFailure } from "../topology/transport.ts";
import type { Exchanged, ExchangeFailure } from "./exchange.ts";
import { fell, type Outcome } from "./outcome.ts";
import type { Reply } from "./reply.ts";

/** `proof`: nothing was asked yet. `ask`: the question itself. */
export type Stage = "proof" | "ask";
type Effect = "read" | "mutate";

interface Told {
  readonly code: string;
  readonly detail: string;
  readonly failure: AgentFailure;
}

const told = (code: string, detail: string, failure: AgentFailure = "after_dispatch"): Told => ({
  ...{ code, detail, failure },
});

const FAILURES: Readonly<Record<Exclude<ExchangeFailure, "interrupted">, Told>> = {
  connect_refused: told("connection_refused", "nothing listens there", "connection_refused"),
  connect_unreachable: told("no_route", "the network knows no way there", "no_route"),
  connect_timeout: told("connect_timeout", "nobody answered in time", "connect_timeout"),
  connect_tls: told("tls_refused", "what answers there does not prove itself by TLS"),
  connect_local: told("connect_impossible", "this machine or this program may not connect there"),
  closed_before_head: told("connection_closed", "the connection was closed without an answer"),
  malformed_head: told("another_process", "what answers there speaks no HTTP"),
  late: told("answer_late", "no whole answer came in time"),
  truncated: told("answer_truncated", "the answer broke off"),
  too_large: told("answer_too_large", "the answer is larger than it may be"),
};

const NEXT: Readonly<Record<string, string>> = {
  connection_refused: "start the agent there, or correct the transport's endpoint",
  no_route: "look at the network between here and there",
  connect_timeout: "look whether the machine is up, and at the network",
  tls_refused: "look at the certificate, and at --ca",
  connect_impossible: "look at this program's permissions and open files",
  another_process: "look what listens on that port",
  answer_too_large: "ask for less, or ask this host alone",
};

/** Joining is the way to learn what became of a mutation. */
export const JOIN = "send the same again with the same key: it joins the run or tells how it ended";

/**
 * The outcome when no whole answer came; null when it was our own interruption, and nothing that
 * could have changed anything had left.
 */
export function fellBy(
  host: string,
  stage: Stage,
  effect: Effect,
  { code, sent }: Extract<Exchanged, { kind: "failed" }>,
): Outcome | null {
  const notSent = stage === "proof" || sent === "no";
  if (code === "interrupted") {
    return notSent || effect === "read"
      ? null
      : fell(host, "may_have_executed", "interrupted", "this command was ended while it waited", {
        ...{ failure: "after_dispatch", nextStep: JOIN },
      });
  }
  const { failure, ...of } = FAILURES[code];
  if (!notSent && effect === "mutate") {
    return fell(host, "may_have_executed", of.code, of.detail, { failure, nextStep: JOIN });
  }
  const kind = code === "late" ? "timed_out" : "unreachable";
  const nextStep = NEXT[of.code] ?? null;
  return fell(host, kind, of.code, of.detail, { notSent, failure, nextStep });
}

/** The outcome of an answer that is not the one that was hoped for. */
export function fellWith(
  host: string,
  stage: Stage,
  effect: Effect,
  reply: Exclude<Reply, { kind: "ok" }>,
): Outcome {
  const notSent = stage === "proof";
  if (reply.kind === "other_node") {
    const wrong = fell(host, "wrong_node", "wrong_node", `node ${reply.node} answers there`, {
      ...{ notSent, failure: "wrong_node", nextStep: "correct the transport's endpoint" },
    });
    return notSent || reply.refused || effect === "read"
      ? wrong
      : { ...wrong, kind: "may_have_executed", nextStep: JOIN };
  }
  if (reply.kind === "strange") {
    const { code, detail } = reply;
    const more = { notSent, failure: "after_dispatch", nextStep: NEXT[code] ?? null } as const;
    return !notSent && effect === "mutate"
      ? fell(host, "may_have_executed", code, detail, { ...more, nextStep: JOIN })
      : fell(host, "unreachable", code, detail, more);
  }
  const { code, status, detail, nextStep, run } = reply;
  const maybe = !notSent && effect === "mutate" && reply.mayHaveExecuted;
  if (maybe) {
    return fell(host, "may_have_executed", code, detail, {
      ...{ run, nextStep: nextStep ?? JOIN, failure: "after_dispatch" },
    });
  }
  const more = { notSent, run, nextStep };
  if (status === 401) {
    return fell(host, "unauthorized", code, detail, { ...more, failure: "unauthorized" });
  }
  if (code === "scope_missing") {
    return fell(host, "unauthorized", code, detail, { ...more, failure: "forbidden" });
  }
  if (code === "wrong_node") {
    return fell(host, "wrong_node", code, detail, { ...more, failure: "wrong_node" });
  }
  const kind = code === "agent_busy" || code === "agent_stopping"
    ? "busy"
    : code === "operation_timed_out"
    ? "timed_out"
    : "refused";
  return fell(host, kind, code, detail, { ...more, failure: "after_dispatch" });
}

/**
 * The runner: the one way an operation happens.
 *
 *     authorize ─> validate ─> confirm ─> a slot ─> audit start ─> [claim] ─> plan ─> run ─> [settle] ─> audit end
 *                                                                   dry run ends ┘
 *
 * Brackets: live mutations only. Before the claim nothing has happened; after it the ledger answers.
 *
 * @module
 */

import { canonicalJson } from "../core/canonical_json.ts";
import type { Clock } from "../core/clock.ts";
import { hex, newId, type RandomBytes } from "../core/ids.ts";
import type { Remarks } from "../core/remarks.ts";
import { type Refusal, refuse } from "../core/refusal.ts";
import { sha256 } from "../host/digest.ts";
import type { Audit } from "./audit.ts";
import type { AuditEvent } from "./audit_record.ts";
import { type Action, authorize } from "./authorize.ts";
import type { Catalogue } from "./catalogue.ts";
import type { Ledger } from "./ledger.ts";
import type { Operation, OperationContext, Prepared } from "./operation.ts";
import { type Answer, answerOf, type Call, notReady, plain } from "./answer.ts";
import { recover } from "./recover.ts";
import { BEGUN, type RunEnd, type RunView } from "./run_record.ts";
import { bounded, LiveRun, type Stop, stopEnd } from "./live_run.ts";

/** How much runs at once. */
export interface RunnerBounds {
  readonly reads: number;
  readonly mutations: number;
  /** Milliseconds that a stopped operation may take to notice. */
  readonly graceMs: number;
}

/** What a runner needs. */
export interface RunnerPorts {
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly ledger: Ledger;
  readonly audit: Audit;
  readonly remarks: Remarks;
  readonly node: string;
  readonly topology: string | null;
}

/** Slots for operations marked `control`. */
const CONTROL_SLOTS = 8;

type Lane = "reads" | "mutations" | "control";

/** Runs the operations of one host. */
export class Runner {
  readonly #catalogue: Catalogue;
  readonly #ports: RunnerPorts;
  readonly #bounds: RunnerBounds;
  readonly #busy: Record<Lane, number> = { reads: 0, mutations: 0, control: 0 };
  readonly #live = new Map<string, LiveRun>();
  readonly #reads = new Set<AbortController>();
  /** Ends that are not in the ledger yet, by run. */
  readonly #owed = new Map<string, RunEnd>();
  #stopping = false;

  constructor(catalogue: Catalogue, ports: RunnerPorts, bounds: RunnerBounds) {
    this.#catalogue = catalogue;
    this.#ports = ports;
    this.#bounds = bounds;
  }

  /** Settles what an earlier process left, on record. Called once, before the first call. */
  recover(): readonly RunView[] {
    return recover(this.#ports.ledger, this.#ports.audit);
  }

  /** Does what is asked, or says why not. Never rejects for what an operation does. */
  async call(ask: Call): Promise<Answer> {
    const operation = this.#catalogue.get(ask.operation);
    const action: Action = operation?.effect === "mutate" ? ask.dryRun ? "plan" : "apply" : "read";
    const denied = authorize(ask.scopes, ask.operation, action) ??
      (operation === null
        ? refuse("operation_unknown", "this host has no such operation", "see `GET /v1/operations`")
        : null);
    if (denied !== null || operation === null) {
      return this.#refused(ask, action, denied ?? refuse("operation_unknown", "no such operation"));
    }
    const prepared = operation.prepare(ask.input);
    if (prepared.kind === "invalid") {
      const no = refuse("input_invalid", "the input is not what this operation takes");
      return { ...this.#refused(ask, action, no), problems: prepared.problems };
    }
    const no = this.#stopping
      ? refuse("agent_stopping", "this agent is stopping", "ask it again")
      : notReady(operation, ask, action);
    if (no !== null) return this.#refused(ask, action, no);
    const lane: Lane = operation.control
      ? "control"
      : operation.effect === "read"
      ? "reads"
      : "mutations";
    if (this.#busy[lane] >= this.#slots(lane)) {
      const busy = refuse("agent_busy", `all slots for ${lane} are taken`, "try again soon");
      return this.#refused(ask, action, busy);
    }
    this.#busy[lane]++;
    // Given back when the handler is really over: one that hangs keeps its slot.
    const over = () => this.#busy[lane]--;
    return await this.#audited(ask, action, operation, prepared.model, over);
  }

  /** Asks a live run to end; false when it is not live. */
  cancel(id: string): boolean {
    const live = this.#live.get(id);
    live?.stop("operation_cancelled");
    return live !== undefined;
  }

  /** True while the run is worked on. */
  isLive(id: string): boolean {
    return this.#live.has(id);
  }

  /** How many mutations run. */
  get running(): number {
    return this.#live.size;
  }

  /** Refuses new calls, lets running ones finish within `budgetMs`, settles the rest as interrupted. */
  async stop(budgetMs: number): Promise<void> {
    this.#stopping = true;
    for (const read of this.#reads) read.abort("agent_stopping" satisfies Stop);
    const over = new AbortController();
    const all = Promise.allSettled([...this.#live.values()].map((live) => live.settled));
    await Promise.race([all, this.#ports.clock.sleep(budgetMs, over.signal).catch(() => {})]);
    over.abort();
    const left = [...this.#live.values()];
    for (const live of left) live.stop("agent_stopping");
    await Promise.allSettled(left.map((live) => live.settled));
  }

  #times({ deadlineMs }: Operation) {
    return { clock: this.#ports.clock, deadlineMs, graceMs: this.#bounds.graceMs };
  }

  #slots(lane: Lane): number {
    return lane === "control" ? CONTROL_SLOTS : this.#bounds[lane];
  }

  async #audited(
    ask: Call,
    action: Action,
    operation: Operation,
    prepared: Prepared,
    over: () => void,
  ): Promise<Answer> {
    const { clock, random, audit, remarks } = this.#ports;
    const call = newId("run", random);
    const started = clock.monotonic();
    const event = (part: Pick<AuditEvent, "phase" | "outcome" | "code">): AuditEvent => ({
      ...part,
      call,
      principal: ask.principal,
      operation: operation.name,
      action,
      key: ask.key,
      target_digest: hex(sha256(canonicalJson(ask.input))),
      dry_run: ask.dryRun,
      duration_ms: part.phase === "start" ? null : Math.round(clock.monotonic() - started),
    });
    const apply = action === "apply";
    try {
      audit.append(event({ phase: "start", outcome: null, code: null }), apply);
    } catch (error) {
      if (operation.vital) {
        remarks.error(
          "the audit cannot be written, {operation} is answered all the same: {error}",
          {
            operation: operation.name,
            principal: ask.principal,
            error,
          },
        );
        return await this.#looked(ask, operation, prepared, over);
      }
      over();
      remarks.error("the audit cannot be written, nothing is done: {error}", { error });
      return plain(refuse("audit_unavailable", "the audit record cannot be opened", "see the log"));
    }
    const answer = apply && prepared.kind === "mutate"
      ? await this.#applied(call, ask, operation, prepared, over)
      : await this.#looked(ask, operation, prepared, over);
    try {
      const [outcome, code] = answer.kind === "done"
        ? [answer.known ? "known" : "done", null] as const
        : [answer.run?.state === "failed" ? "failed" : "refused", answer.code] as const;
      // The ledger is on the disk: a power cut that takes this line is mended by the next start.
      audit.append(event({ phase: "end", outcome, code }), false);
    } catch (error) {
      // It happened, and the ledger says so: the answer stands.
      remarks.error("the end of {operation} is not in the audit: {error}", {
        operation: operation.name,
        call,
        error,
      });
    }
    return answer;
  }

  /** A read or a dry run: no row, no effect. */
  async #looked(
    ask: Call,
    operation: Operation,
    prepared: Prepared,
    over: () => void,
  ): Promise<Answer> {
    const controller = new AbortController();
    this.#reads.add(controller);
    const onLeft = () => controller.abort("caller_left" satisfies Stop);
    ask.signal?.addEventListener("abort", onLeft, { once: true });
    const context: OperationContext = {
      principal: ask.principal,
      run: null,
      signal: controller.signal,
      step: () => {},
    };
    const work = (async () => {
      if (prepared.kind === "read") return await prepared.run(context);
      const planned = await prepared.plan(context);
      return planned.kind === "ok" ? { kind: "ok" as const, value: planned.value.shown } : planned;
    })();
    const ended = await bounded(work, controller, this.#times(operation));
    ask.signal?.removeEventListener("abort", onLeft);
    this.#reads.delete(controller);
    void work.catch(() => {}).finally(over);
    if (ended.kind === "ok") {
      return { kind: "done", result: ended.value, dryRun: ask.dryRun, run: null, known: false };
    }
    if (ended.kind === "refused") return plain(ended);
    if (ended.kind === "failed") return plain(refuse(ended.code, ended.detail));
    if (ended.kind === "stopped") {
      const { code, detail } = stopEnd(ended.stop);
      return plain(refuse(code, detail));
    }
    this.#bug(operation, ended.error);
    return plain(refuse("operation_failed", "the operation failed in a way nobody foresaw"));
  }

  async #applied(
    id: string,
    ask: Call,
    operation: Operation,
    prepared: Extract<Prepared, { kind: "mutate" }>,
    over: () => void,
  ): Promise<Answer> {
    const { ledger, node, topology, remarks } = this.#ports;
    const subject = {
      principal: ask.principal,
      operation: operation.name,
      input: ask.input,
      node,
      topology,
    };
    try {
      this.#payOwed();
      const claimed = ledger.claim(id, ask.key ?? "", subject);
      if (claimed.kind === "refused") {
        over();
        return plain(claimed);
      }
      if (claimed.kind === "known") {
        over();
        return await this.#joined(claimed.run, ask.signal);
      }
    } catch (error) {
      over();
      remarks.error("the ledger cannot be written, nothing is done: {error}", { error });
      return plain(refuse("ledger_unavailable", "the ledger cannot be written", "see the log"));
    }
    const live = new LiveRun();
    this.#live.set(id, live);
    const { controller } = live;
    const context: OperationContext = {
      principal: ask.principal,
      run: id,
      signal: controller.signal,
      step: (name, effect) => ledger.step(id, name, effect),
    };
    const work = (async () => {
      const planned = await prepared.plan(context);
      if (planned.kind !== "ok") return planned;
      controller.signal.throwIfAborted();
      // From here on the truth is `unknown` until the operation says more.
      ledger.step(id, BEGUN, "unknown");
      return await planned.value.run(context);
    })();
    const ended = await bounded(work, controller, this.#times(operation));
    void work.catch(() => {}).finally(over);
    let end: RunEnd;
    if (ended.kind === "ok") end = { state: "done", result: ended.value };
    else if (ended.kind === "refused") {
      end = { state: "refused", code: ended.code, detail: ended.detail, effect: "none" };
    } else if (ended.kind === "failed") {
      end = { state: "failed", code: ended.code, detail: ended.detail, effect: ended.effect };
    } else if (ended.kind === "stopped") end = { state: "failed", ...stopEnd(ended.stop) };
    else {
      this.#bug(operation, ended.error);
      const detail = "the operation failed in a way nobody foresaw";
      end = { state: "failed", code: "operation_failed", detail };
    }
    let answer: Answer;
    try {
      const run = ledger.settle(id, end);
      answer = answerOf(run, false, ended.kind === "ok" ? ended.value : undefined);
      if (answer.kind === "refused" && ended.kind === "refused" && ended.nextStep !== undefined) {
        answer = { ...answer, nextStep: ended.nextStep };
      }
    } catch (error) {
      // Written with the next mutation; by the next process it is settled as interrupted: true then too.
      this.#owed.set(id, end);
      remarks.error("the end of {operation} is not in the ledger: {error}", {
        operation: operation.name,
        id,
        error,
      });
      answer = {
        ...plain(refuse("ledger_unavailable", "how it ended cannot be kept", "see the log")),
        mayHaveExecuted: true,
      };
    }
    this.#live.delete(id);
    live.finish(answer);
    return answer;
  }

  /** Ends that the ledger could not take, tried again. Throws when it still cannot. */
  #payOwed(): void {
    for (const [id, end] of this.#owed) {
      this.#ports.ledger.settle(id, end);
      this.#owed.delete(id);
    }
  }

  /** Waits for a live run of the same request, or tells how it ended. */
  async #joined(run: RunView, signal: AbortSignal | undefined): Promise<Answer> {
    const live = this.#live.get(run.id);
    if (live === undefined) return answerOf(run, true);
    const left = Promise.withResolvers<null>();
    const onLeft = () => left.resolve(null);
    signal?.addEventListener("abort", onLeft, { once: true });
    const answer = await Promise.race([live.settled, left.promise]);
    signal?.removeEventListener("abort", onLeft);
    if (answer === null) return answerOf(run, true);
    return answer.kind === "done" ? { ...answer, known: true } : answer;
  }

  #refused(ask: Call, action: Action, refusal: Refusal): Extract<Answer, { kind: "refused" }> {
    try {
      this.#ports.audit.append({
        phase: "refused",
        call: newId("run", this.#ports.random),
        principal: ask.principal,
        // A name nobody defined is a text of a stranger.
        operation: this.#catalogue.get(ask.operation) === null ? "unknown" : ask.operation,
        action,
        key: null,
        target_digest: null,
        dry_run: ask.dryRun,
        outcome: "refused",
        code: refusal.code,
        duration_ms: 0,
      }, false);
    } catch (error) {
      this.#ports.remarks.error("a refusal is not in the audit: {error}", { error });
    }
    return plain(refusal);
  }

  #bug(operation: Operation, error: unknown): void {
    this.#ports.remarks.error("{operation} failed in a way nobody foresaw: {error}", {
      operation: operation.name,
      error,
    });
  }
}

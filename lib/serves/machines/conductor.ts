/**
 * The conductor: begins a change, drives it, and drives on at every start what an earlier process
 * left. One change at a time on a host; a fleet-wide lock does not exist.
 *
 *     begin:  lock ─> nothing unfinished? ─> plan again, is it the one asked for? ─> what needs the
 *             host still ends ─> folder ─> drive
 *     resume: lock ─> the newest unfinished? ─> what needs the host still ends ─> drive on
 *
 * Nothing refused by `begin` has changed anything. From the first journal entry on a change ends as
 * the machine says, also when whoever asked for it is gone.
 *
 * @module
 */

import { canonicalJson } from "../../core/canonical_json.ts";
import type { Clock } from "../../core/clock.ts";
import { hex } from "../../core/ids.ts";
import type { HeldLock, TryLock } from "../../core/lock.ts";
import { drive } from "../../core/machine.ts";
import { type Refusal, refuse } from "../../core/refusal.ts";
import type { Remarks } from "../../core/remarks.ts";
import { sha256 } from "../../host/digest.ts";
import type { Serve } from "../manifest_shape.ts";
import { carryOut, type CarryPorts, PATIENCE, type Patience } from "./carry_out.ts";
import type { ServeHands } from "./ports.ts";
import { type Step, stepText } from "./step.ts";
import { type ChangeRecord, type ChangeStore, recordOf } from "./store.ts";
import type { RouterPorts } from "./survey.ts";
import { type Event, isOver, type Plan, type State, TRANSACTION } from "./transaction.ts";

/** What a conductor works with. */
export interface ConductorPorts {
  readonly clock: Clock;
  readonly remarks: Remarks;
  readonly tryLock: TryLock;
  /** The lock file of this host. */
  readonly lockPath: string;
  readonly store: ChangeStore;
  readonly router: Pick<RouterPorts, "admin" | "program"> | null;
  readonly handsFor: (serves: readonly Serve[]) => Promise<ServeHands | Refusal>;
  /** Ends what needs this host still, and keeps it away until disposed of. Said synchronously. */
  readonly disturb: (what: string) => Promise<(Disposable & { readonly kind: "alone" }) | Refusal>;
  readonly patience?: Patience;
}

/** What is asked for. */
export interface ChangeAsk {
  /** Plans anew, under the lock. */
  readonly plan: (signal: AbortSignal) => Promise<Plan | Refusal>;
  /** Digest of the plan that was looked at; null: whatever the plan is now. */
  readonly expected: string | null;
  readonly serves: readonly Serve[];
  /** The configuration to install. */
  readonly config: string | null;
  readonly run: string | null;
}

/** How a change stands when nobody works on it any more. */
export type ChangeEnd =
  | { readonly kind: "ended"; readonly record: ChangeRecord }
  /** Nothing was to be done. */
  | { readonly kind: "already"; readonly plan: Plan }
  /** It stopped in the middle and goes on at the next start. */
  | { readonly kind: "interrupted"; readonly id: string; readonly detail: string }
  /** Nothing was changed. */
  | Refusal;

/** Hears of each step, before it and after. */
export type OnStep = (id: string, step: Step, when: "before" | "after") => void;

/** The digest that names a plan, lower-case hex. */
export function planDigest(plan: Plan): string {
  return hex(sha256(canonicalJson(plan)));
}

/** Carries out the changes of one host. */
export class Conductor {
  readonly #ports: ConductorPorts;
  readonly #stop = new AbortController();
  /** Over once a start has seen whether there is anything to go on with. */
  #looking: Promise<void> = Promise.resolve();
  #live: {
    readonly id: string;
    /** Aborted when it is to turn back. */
    readonly turn: AbortController;
    readonly over: Promise<unknown>;
  } | null = null;

  constructor(ports: ConductorPorts) {
    this.#ports = ports;
  }

  /** The change that is worked on now; null when there is none. */
  get live(): string | null {
    return this.#live?.id ?? null;
  }

  /** Resolves once a start has said what it goes on with, if anything. */
  get looked(): Promise<void> {
    return this.#looking;
  }

  /** Begins a change and drives it to its end. `signal` turns it back; it does not leave it lying. */
  async begin(ask: ChangeAsk, onStep: OnStep, signal: AbortSignal): Promise<ChangeEnd> {
    return await this.#locked(async () => {
      const { store } = this.#ports;
      const newest = await store.newest();
      if (newest !== null && "kind" in newest) return newest;
      if (newest !== null && !isOver(newest.state)) return unfinished(newest);
      const plan = await ask.plan(signal);
      if (plan.kind === "refused") return plan;
      if (ask.expected !== null && planDigest(plan) !== ask.expected) {
        return refuse(
          "plan_stale",
          "configuration, manifest, topology or what runs is not as it was when that was planned",
          "plan again, look at it, then apply that",
        );
      }
      if (plan.steps.length === 0) return { kind: "already", plan };
      signal.throwIfAborted();
      const alone = await this.#ports.disturb(`${plan.kind} ${plan.subject}`);
      if (alone.kind === "refused") return alone;
      using _alone = alone;
      signal.throwIfAborted();
      const created = await store.create(plan.kind, ask.serves, ask.config);
      if (created.kind === "refused") return created;
      const begin: Event = { kind: "begin", plan, run: ask.run };
      return await this.#drive(created.id, ask.serves, begin, onStep, signal);
    });
  }

  /** Drives on what an earlier process left. Null when nothing is left to do. */
  async resume(): Promise<ChangeEnd | null> {
    const looked = Promise.withResolvers<void>();
    this.#looking = looked.promise;
    return await this.#withLock(async () => {
      const newest = await this.#ports.store.newest();
      if (newest === null) return null;
      if ("kind" in newest) return newest;
      if (newest.state.at === "stuck") return { kind: "ended", record: newest };
      if (isOver(newest.state)) return null;
      const disturbing = this.#ports.disturb(newest.id);
      looked.resolve();
      const alone = await disturbing;
      if (alone.kind === "refused") return alone;
      using _alone = alone;
      return await this.#again(newest.id, { kind: "resumed", by: "start" }, () => {}, null);
    }).finally(looked.resolve);
  }

  /** Goes on with a change that a person was asked about, or that was interrupted. */
  async resumeByPerson(id: string, onStep: OnStep, signal: AbortSignal): Promise<ChangeEnd> {
    return await this.#locked(async () => {
      const newest = await this.#openChange(id);
      if (newest.kind === "refused") return newest;
      const alone = await this.#ports.disturb(id);
      if (alone.kind === "refused") return alone;
      using _alone = alone;
      return await this.#again(id, { kind: "resumed", by: "person" }, onStep, signal);
    });
  }

  /** Ends a change that is stuck as it stands: somebody has seen to it by hand. */
  async abandon(id: string, by: string): Promise<ChangeEnd> {
    return await this.#locked(async () => {
      const newest = await this.#openChange(id);
      if (newest.kind === "refused") return newest;
      if (newest.record.state.at !== "stuck") {
        return refuse("change_not_stuck", `${id} can go on by itself`, "resume it");
      }
      return await this.#again(id, { kind: "abandoned", by }, () => {}, null);
    });
  }

  /** Asks the live change to turn back; false when there is none. */
  cancel(): boolean {
    if (this.#live === null) return false;
    this.#live.turn.abort();
    return true;
  }

  /** Stops working after the step that is being carried out now; the next start goes on. */
  async stop(): Promise<void> {
    this.#stop.abort(STOPPING);
    await this.#live?.over;
  }

  async #openChange(
    id: string,
  ): Promise<{ readonly kind: "open"; readonly record: ChangeRecord } | Refusal> {
    const newest = await this.#ports.store.newest();
    if (newest !== null && "kind" in newest) return newest;
    return newest === null || newest.id !== id || isOver(newest.state)
      ? refuse("change_unknown", `${id} is not a change that is unfinished`, "see `mode.status`")
      : { kind: "open", record: newest };
  }

  async #again(
    id: string,
    offer: Event,
    onStep: OnStep,
    signal: AbortSignal | null,
  ): Promise<ChangeEnd> {
    const serves = await this.#ports.store.serves(id);
    if ("kind" in serves) return serves;
    return await this.#drive(id, serves, offer, onStep, signal);
  }

  async #locked<End extends ChangeEnd>(work: () => Promise<End>): Promise<End | Refusal> {
    // Whoever asks right after a start is not told that the host is busy with looking around.
    await this.#looking;
    return await this.#withLock(work);
  }

  async #withLock<End extends ChangeEnd | null>(
    work: () => Promise<End>,
  ): Promise<End | Refusal> {
    const lock = await this.#ports.tryLock(this.#ports.lockPath);
    if (lock.kind === "busy") {
      return refuse("host_busy", "another change of this host is under way", "wait for its end");
    }
    if (lock.kind === "refused") return refuse(lock.code, lock.detail);
    return await released(lock, work);
  }

  async #drive(
    id: string,
    serves: readonly Serve[],
    offer: Event,
    onStep: OnStep,
    signal: AbortSignal | null,
  ): Promise<ChangeEnd> {
    const { store, remarks, handsFor, patience = PATIENCE } = this.#ports;
    const hands = await handsFor(serves);
    if ("kind" in hands) return hands;
    const opened = await store.open(id);
    if (opened.kind !== "open") {
      return refuse("journal_unavailable", `the journal of ${id} cannot be opened`, "see the log");
    }
    const { journal } = opened;
    const over = Promise.withResolvers<void>();
    const turn = new AbortController();
    this.#live = { id, turn, over: over.promise };
    const onAbort = () => {
      if (signal?.reason === STOPPING) this.#stop.abort(STOPPING);
      else turn.abort();
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    if (signal?.aborted) onAbort();
    const ports = this.#carryPorts(id, hands);
    let state: State = recordOf(id, await journal.read()).state;
    const follow: typeof TRANSACTION = {
      ...TRANSACTION,
      step: (from, event) => state = TRANSACTION.step(from, event),
    };
    try {
      await drive(follow, journal, async (step) => {
        const stop = this.#stop.signal;
        stop.throwIfAborted();
        const forward = state.at === "forward";
        if (forward && turn.signal.aborted) return CANCELLED;
        tell(onStep, id, step, "before");
        remarks.info("{change}: {step}", { change: id, step: stepText(step) });
        const until = forward ? AbortSignal.any([stop, turn.signal]) : stop;
        const event = await carryOut(step, ports, patience, until).catch((error) => {
          if (!forward || !turn.signal.aborted || stop.aborted) throw error;
          return { ...CANCELLED, changed: true };
        });
        if (event.kind === "failed") {
          const { code, detail } = event.failure;
          remarks.warn("{change}: {step} failed: {code}, {detail}", {
            change: id,
            step: stepText(step),
            code,
            detail,
          });
        }
        tell(onStep, id, step, "after");
        return event;
      }, offer);
      const record = recordOf(id, await journal.read());
      this.#say(record);
      return { kind: "ended", record };
    } catch (error) {
      if (!this.#stop.signal.aborted) {
        remarks.error("{change} stopped in the middle: {error}", { change: id, error });
      }
      const begun = state.at !== "idle";
      const detail = "it goes on when the agent starts again, or by `promotion.resume`";
      return begun
        ? { kind: "interrupted", id, detail }
        : refuse("journal_unavailable", "the change cannot be written down, so nothing was done");
    } finally {
      signal?.removeEventListener("abort", onAbort);
      this.#live = null;
      over.resolve();
      await journal.close().catch(() => {});
      await store.prune().catch(() => {});
    }
  }

  #carryPorts(id: string, hands: ServeHands): CarryPorts {
    const { clock, router, store } = this.#ports;
    const none = refuse("router_not_configured", "this agent knows no router any more");
    return {
      clock,
      serves: hands,
      config: store.config(id),
      router: router?.admin ?? {
        status: () => Promise.resolve({ ...none, code: "router_refused", changed: false }),
        transition: () => Promise.resolve({ ...none, code: "router_refused", changed: false }),
      },
      program: router?.program ?? {
        check: () => Promise.resolve({ ...none, code: "router_program_unusable", problems: [] }),
        restart: () => Promise.resolve({ ...none, code: "router_not_restarted", cause: "" }),
      },
    };
  }

  #say({ id, state }: ChangeRecord): void {
    const { remarks } = this.#ports;
    if (state.at === "reached") remarks.info("{change}: done", { change: id });
    else if (state.at === "returned") {
      remarks.warn("{change}: taken back, everything is as it was: {code}, {detail}", {
        change: id,
        code: state.why?.code,
        detail: state.why?.detail,
      });
    } else if (state.at === "stuck") {
      remarks.error("{change}: manual_recovery: {code}, {detail}; {left} steps are left", {
        change: id,
        code: state.trouble?.code,
        detail: state.trouble?.detail,
        left: state.todo.length,
      });
    }
  }
}

/** The reason with which a runner that stops aborts what runs: not a wish to turn back. */
const STOPPING = "agent_stopping";

const CANCELLED: Extract<Event, { kind: "failed" }> = {
  kind: "failed",
  failure: { code: "change_cancelled", detail: "it was asked to turn back" },
  changed: false,
};

function unfinished({ id, state }: ChangeRecord): Refusal {
  return state.at === "stuck"
    ? refuse(
      "manual_recovery_pending",
      `${id} is stuck: ${state.trouble?.code ?? "nobody knows why"}`,
      "mend that, then `promotion.resume`; or `abandon` it",
    )
    : refuse("change_unfinished", `${id} was interrupted`, "`promotion.resume` goes on with it");
}

/** Who asked may be gone: the change goes on all the same. */
function tell(onStep: OnStep, id: string, step: Step, when: "before" | "after"): void {
  try {
    onStep(id, step, when);
  } catch {
    // The run was settled meanwhile; the journal tells the rest.
  }
}

async function released<End>(lock: HeldLock, work: () => Promise<End>): Promise<End> {
  await using _held = lock;
  return await work();
}

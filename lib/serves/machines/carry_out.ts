/**
 * Carries out one step of a transaction: looks at the world, does what is still missing, looks again.
 *
 *     step ──> is it so already? ──yes──> done
 *                    │ no
 *                    └──> act ──> observed as wanted? ──> done | failed, changed or not
 *
 * @module
 */

import type { Clock } from "../../core/clock.ts";
import { type Refusal, refuse } from "../../core/refusal.ts";
import type {
  ConfigFiles,
  RouterAdmin,
  RouterProgram,
  RouterRefusal,
  ServeHands,
} from "./ports.ts";
import type { Step, Verb } from "./step.ts";
import type { Event } from "./transaction.ts";

/** What steps are carried out through. */
export interface CarryPorts {
  readonly clock: Clock;
  readonly router: RouterAdmin;
  readonly program: RouterProgram;
  readonly serves: ServeHands;
  readonly config: ConfigFiles;
}

/** How long things may take, in milliseconds. */
export interface Patience {
  /** A router that does not answer. */
  readonly unreachableMs: number;
  /** A restarted router, until it says which configuration it runs with. */
  readonly restartMs: number;
  /** A proven serve, until the router's own probe agrees. */
  readonly readmitMs: number;
  /** Between two looks. */
  readonly lookMs: number;
}

/** For real routers: one that drains for 120 s before it comes back is waited for. */
export const PATIENCE: Patience = {
  unreachableMs: 10_000,
  restartMs: 180_000,
  readmitMs: 30_000,
  lookMs: 250,
};

type Outcome = Extract<Event, { kind: "done" | "failed" }>;

/** Carries out `step`. Rejects only when `signal` aborts, or for a bug. */
export async function carryOut(
  step: Step,
  ports: CarryPorts,
  patience: Patience,
  signal: AbortSignal,
): Promise<Outcome> {
  const act = ACTS[step.do] as (step: Step, at: At) => Promise<Outcome>;
  return await act(step, { ...ports, patience, signal });
}

interface At extends CarryPorts {
  readonly patience: Patience;
  readonly signal: AbortSignal;
}

const ACTS: {
  readonly [verb in Verb]: (step: Extract<Step, { do: verb }>, at: At) => Promise<Outcome>;
} = {
  quiesce: async ({ tier }, at) => {
    const told = await asked(
      at,
      () => at.router.transition({ tier, action: "quiesce" }, at.signal),
    );
    if (told.kind === "refused") return failed(told, told.changed);
    return told.intent === "quiesce"
      ? done(`admits nothing, ${told.inFlight} in flight`)
      : failed(refuse("router_refused", `tier ${tier} still admits after a quiesce`), true);
  },

  drain: async ({ tier, seconds }, at) => {
    const told = await asked(
      at,
      () => at.router.transition({ tier, action: "drain", seconds }, at.signal),
    );
    if (told.kind === "refused") return failed(told, false);
    return told.drained
      ? done("nothing in flight")
      : failed(refuse("drain_timeout", `${told.inFlight} requests are still in flight`), false);
  },

  stop: async ({ serve }, at) => handled(await at.serves.down(serve, at.signal)),

  grant: async ({ serves }, at) => {
    const no = await at.serves.fits(serves, [], at.signal);
    return no === null ? done("it fits") : failed(no, false);
  },

  start: async ({ serve }, at) => handled(await at.serves.up(serve, at.signal)),

  verify: async ({ serve }, at) => handled(await at.serves.prove(serve, at.signal)),

  validate: async ({ digest }, at) => {
    const text = await at.config.kept("new");
    if (text === null) return failed(refuse("config_lost", "the new configuration is gone"), false);
    if (text.kind === "refused") return failed(text, false);
    const judged = await at.program.check(text.text, at.signal);
    if (judged.kind === "refused") return failed(judged, false);
    return judged.digest === digest && text.digest === digest
      ? done("valid")
      : failed(refuse("config_lost", "the kept configuration is not the planned one"), false);
  },

  snapshot: async ({ digest }, at) => {
    const live = await at.config.live();
    if (live.kind === "refused") return failed(live, false);
    if (live.digest !== digest) return failed(edited("planned for", live.digest, digest), false);
    const no = await at.config.keep("old", live.text);
    return no === null ? done("kept") : failed(no, false);
  },

  write: (step, at) => replace(at, step.from, step.to, "new"),
  unwrite: (step, at) => replace(at, step.to, step.from, "old"),

  restart: async ({ digest }, at) => {
    const before = await at.router.status(at.signal);
    if (before.kind === "report" && before.digest === digest && !before.draining) {
      return done("it runs with that already");
    }
    const told = await at.program.restart(at.signal);
    return told.kind === "restarted" ? done("restarted") : failed(told, true);
  },

  await: async ({ digest }, { clock, router, patience, signal }) => {
    const until = clock.monotonic() + patience.restartMs;
    for (;;) {
      const told = await router.status(signal);
      const running = told.kind === "report" && !told.draining ? told.digest : null;
      if (running === digest) return done("it runs with that");
      if (clock.monotonic() >= until) {
        return running === null
          ? failed(refuse("router_not_back", "the restarted router does not answer"), true)
          : failed(edited("running", running, digest), true);
      }
      await clock.sleep(patience.lookMs, signal);
    }
  },

  readmit: async ({ tier, serves }, at) => {
    // Never on the router's word alone: the process behind the port is proven first.
    for (const serve of serves) {
      const proof = await at.serves.prove(serve, at.signal);
      if (proof.kind === "refused") return failed(proof, false);
    }
    const until = at.clock.monotonic() + at.patience.readmitMs;
    for (;;) {
      const told = await asked(
        at,
        () => at.router.transition({ tier, action: "readmit" }, at.signal),
      );
      if (told.kind === "observed") return done(`${told.intent}, ${told.readiness}`);
      if (told.code !== "readmit_refused" || at.clock.monotonic() >= until) {
        return failed(told, told.changed);
      }
      await at.clock.sleep(at.patience.lookMs, at.signal);
    }
  },
};

/** Puts the kept `to` in the place of `from`, and of nothing else. */
async function replace(
  { config }: At,
  from: string,
  to: string,
  which: "old" | "new",
): Promise<Outcome> {
  const live = await config.live();
  if (live.kind === "refused") return failed(live, false);
  if (live.digest === to) return done("it stands there already");
  if (live.digest !== from) return failed(edited("expected", live.digest, from), false);
  const text = await config.kept(which);
  if (text === null || (text.kind === "config" && text.digest !== to)) {
    return failed(
      refuse("config_lost", `the ${which} configuration of this change is gone`),
      false,
    );
  }
  if (text.kind === "refused") return failed(text, false);
  const no = await config.write(text.text);
  return no === null ? done("written") : failed(no, no.code === "file_sync_unknown");
}

/** Asks the router until it answers, as long as nothing can have happened. */
async function asked<Answer extends { readonly kind: string }>(
  { clock, patience, signal }: At,
  ask: () => Promise<Answer | RouterRefusal>,
): Promise<Answer | RouterRefusal> {
  const until = clock.monotonic() + patience.unreachableMs;
  let changed = false;
  for (;;) {
    const told = await ask();
    if (!isRefusal(told)) return told;
    changed ||= told.changed;
    const again = told.code === "router_unreachable" || told.code === "router_draining";
    if (!again || clock.monotonic() >= until) return { ...told, changed };
    await clock.sleep(patience.lookMs, signal);
  }
}

function isRefusal(told: { readonly kind: string }): told is RouterRefusal {
  return told.kind === "refused";
}

function edited(what: string, observed: string, expected: string): Refusal {
  return refuse(
    "config_changed",
    `${what}: observed config ${observed.slice(0, 12)}, expected ${expected.slice(0, 12)}`,
    "somebody else wrote router.toml: look at it, then plan again",
  );
}

function handled(told: Awaited<ReturnType<ServeHands["up"]>>): Outcome {
  return told.kind === "ok" ? done(told.observed) : failed(told, told.changed);
}

function done(observed: string): Outcome {
  return { kind: "done", observed };
}

function failed({ code, detail }: Refusal, changed: boolean): Outcome {
  return { kind: "failed", failure: { code, detail }, changed };
}

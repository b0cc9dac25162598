/**
 * The steps that mode, promotion and config install are made of, and what takes each one back.
 *
 * A plan is a list of them: data that is printed by a dry run and carried out by a live one. Each is
 * safe to carry out twice, because it looks at the world first and does what is still missing.
 *
 * @module
 */

import { z } from "zod";

const name = z.string().min(1).max(256);
const digest = z.string().regex(/^[0-9a-f]{64}$/, "expected 64 lower-case hex digits");

/** One step. `do` says what; the rest says to what. */
export const stepShape = z.discriminatedUnion("do", [
  /** No new request of the tier is admitted. */
  z.strictObject({ do: z.literal("quiesce"), tier: name }),
  /** Waits until no request of the tier is in flight. */
  z.strictObject({ do: z.literal("drain"), tier: name, seconds: z.int().min(0).max(3600) }),
  /** Ends a serve and proves that it is gone. */
  z.strictObject({ do: z.literal("stop"), serve: name }),
  /** Proves that what is to start fits into the memory there is now. */
  z.strictObject({ do: z.literal("grant"), serves: z.array(name) }),
  /** Starts a serve and waits until it is loaded. */
  z.strictObject({ do: z.literal("start"), serve: name }),
  /** Proves that the declared process owns the port and serves the declared model. */
  z.strictObject({ do: z.literal("verify"), serve: name }),
  /** The installed router's own judgement of the new configuration. */
  z.strictObject({ do: z.literal("validate"), digest }),
  /** Keeps a copy of the configuration that is there. */
  z.strictObject({ do: z.literal("snapshot"), digest }),
  /** Replaces the configuration `from` by `to`, and nothing else than `from`. */
  z.strictObject({ do: z.literal("write"), from: digest, to: digest }),
  /** Takes a write back: replaces `to` by `from`, and nothing else than `to`. */
  z.strictObject({ do: z.literal("unwrite"), from: digest, to: digest }),
  /** Has the supervisor restart the router, unless it runs with `digest` already. */
  z.strictObject({ do: z.literal("restart"), digest }),
  /** Waits until the router says that it runs with `digest`. */
  z.strictObject({ do: z.literal("await"), digest }),
  /** Admits requests again, once the tier's serves and its members have proven themselves. */
  z.strictObject({ do: z.literal("readmit"), tier: name, serves: z.array(name) }),
]);

/** One step. */
export type Step = z.infer<typeof stepShape>;
/** What a step does. */
export type Verb = Step["do"];

/** What is needed to take a step back besides the step itself. */
export interface UndoContext {
  /** The serves behind a tier before anything was changed. */
  readonly servesOf: (tier: string) => readonly string[];
  readonly drainSeconds: number;
}

type Undo = {
  readonly [verb in Verb]: (
    step: Extract<Step, { do: verb }>,
    context: UndoContext,
  ) => readonly Step[];
};

const NOTHING = () => [];

/**
 * | step     | taken back by                                                              |
 * |----------|----------------------------------------------------------------------------|
 * | quiesce  | readmit, with identity; a tier that had no serve stays quiesced            |
 * | stop     | start, verify                                                              |
 * | start    | stop                                                                       |
 * | write    | unwrite, restart, await: also takes back restart and await                 |
 * | readmit  | quiesce, drain: what was admitted meanwhile ends by itself                 |
 * | the rest | nothing: they change nothing that outlives them                            |
 */
const UNDO: Undo = {
  quiesce: ({ tier }, { servesOf }) => {
    const serves = [...servesOf(tier)];
    return serves.length === 0 ? [] : [{ do: "readmit", tier, serves }];
  },
  drain: NOTHING,
  stop: ({ serve }) => [{ do: "start", serve }, { do: "verify", serve }],
  grant: NOTHING,
  start: ({ serve }) => [{ do: "stop", serve }],
  verify: NOTHING,
  validate: NOTHING,
  snapshot: NOTHING,
  write: ({ from, to }) => [
    { do: "unwrite", from, to },
    { do: "restart", digest: from },
    { do: "await", digest: from },
  ],
  unwrite: NOTHING,
  restart: NOTHING,
  await: NOTHING,
  readmit: ({ tier }, { drainSeconds }) => [
    { do: "quiesce", tier },
    { do: "drain", tier, seconds: drainSeconds },
  ],
};

/** The steps that take `done` back, the last one first. */
export function undoOf(done: readonly Step[], context: UndoContext): readonly Step[] {
  return done.toReversed().flatMap((step) => {
    const undo = UNDO[step.do] as (step: Step, context: UndoContext) => readonly Step[];
    return undo(step, context);
  });
}

/** Steps about the router's configuration and process: they have to work while it does not run. */
export function isRouterStep({ do: verb }: Step): boolean {
  return ROUTER_STEPS.has(verb);
}

const ROUTER_STEPS: ReadonlySet<Verb> = new Set(
  ["validate", "snapshot", "write", "unwrite", "restart", "await"] as const,
);

/** Tiers that `done` has quiesced and not admitted again: they must stay so until they are proven. */
export function heldBy(done: readonly Step[]): readonly string[] {
  const held = new Set<string>();
  for (const step of done) {
    if (step.do === "quiesce") held.add(step.tier);
    else if (step.do === "readmit") held.delete(step.tier);
  }
  return [...held];
}

/** A step in words, as `stop voice-large`. */
export function stepText(step: Step): string {
  switch (step.do) {
    case "quiesce":
    case "readmit":
      return `${step.do} tier ${step.tier}`;
    case "drain":
      return `drain tier ${step.tier}, at most ${step.seconds} s`;
    case "stop":
    case "start":
    case "verify":
      return `${step.do} serve ${step.serve}`;
    case "grant":
      return `grant memory to ${step.serves.join(", ")}`;
    case "validate":
    case "snapshot":
    case "restart":
    case "await":
      return `${step.do} config ${short(step.digest)}`;
    case "write":
      return `write config ${short(step.to)} over ${short(step.from)}`;
    case "unwrite":
      return `write config ${short(step.from)} back over ${short(step.to)}`;
  }
}

function short(digest: string): string {
  return digest.slice(0, 12);
}

/** `anvil-adopter offer|stage|plan|adopt|rollback`. @module */

import { buildCommand } from "@stricli/core";
import { refuse } from "../../../lib/core/refusal.ts";
import { type ProgramContext, reportRefusal } from "../../../lib/terminal/program.ts";
import { adopt } from "../verbs/adopt.ts";
import { offer } from "../verbs/offer.ts";
import { plan } from "../verbs/plan.ts";
import { rollback } from "../verbs/rollback.ts";
import { stage } from "../verbs/stage.ts";
import {
  DESPITE_FLAGS,
  type DespiteFlags,
  despiteOf,
  runVerb,
  TIMER_FLAG,
  VERB_FLAGS,
  type VerbFlags,
  type Wiring,
} from "./verb.ts";

type TimerFlags = VerbFlags & { readonly timer: boolean };

const EXITS =
  "Exit codes: 0 done, nothing to do, or later; 1 refused or rolled back; 2 the command line or the\n" +
  "configuration is wrong; 3 a person must look.\n\n";

/** Progress is told at most so often, in milliseconds. */
const PROGRESS_EVERY_MS = 1000;

/** Fetch and verify. */
export function offerCommand(wiring: Wiring) {
  return buildCommand<TimerFlags, [], ProgramContext>({
    parameters: { flags: { ...VERB_FLAGS, timer: TIMER_FLAG } },
    docs: {
      brief: "Ask the publisher for this host's candidate and verify it",
      fullDescription: `${EXITS}A publisher without a candidate (no-candidate) and one that does ` +
        "not answer (fetch-failed,\nfetch-timeout) are no failures.\n\nExample:\n  anvil-adopter offer",
    },
    func(flags) {
      return runVerb(this, wiring, flags, "offer", offer);
    },
  });
}

/** Bring the bytes here. */
export function stageCommand(wiring: Wiring) {
  return buildCommand<TimerFlags, [], ProgramContext>({
    parameters: { flags: { ...VERB_FLAGS, timer: TIMER_FLAG } },
    docs: {
      brief: "Bring what is offered here and check every byte; restarts nothing",
      fullDescription: `${EXITS}Example:\n  anvil-adopter stage`,
    },
    func(flags) {
      const { terminal } = this;
      let told = -PROGRESS_EVERY_MS;
      return runVerb(
        this,
        wiring,
        flags,
        "stage",
        (adopter) =>
          stage(adopter, ({ done, total }) => {
            const now = wiring.ports.clock.monotonic();
            if (!terminal.isTerminal || flags.json || now - told < PROGRESS_EVERY_MS) return;
            told = now;
            terminal.err(`${Math.floor(done / 1e6)} of ${Math.ceil(total / 1e6)} MB\n`);
          }),
      );
    },
  });
}

/** Look, and change nothing. */
export function planCommand(wiring: Wiring) {
  return buildCommand<VerbFlags, [], ProgramContext>({
    parameters: { flags: VERB_FLAGS },
    docs: {
      brief: "Say what adopt would change and what stands in its way; change nothing",
      fullDescription: `${EXITS}Example:\n  anvil-adopter plan --json`,
    },
    func(flags) {
      return runVerb(this, wiring, flags, "plan", plan);
    },
  });
}

/** Gates, switch, probes, verdict. */
export function adoptCommand(wiring: Wiring) {
  return buildCommand<TimerFlags & DespiteFlags, [], ProgramContext>({
    parameters: { flags: { ...VERB_FLAGS, timer: TIMER_FLAG, ...DESPITE_FLAGS } },
    docs: {
      brief: "Adopt what is staged when the host may be disturbed; prove it or go back",
      fullDescription:
        `${EXITS}A person is not asked for the policy; every other rule has a flag ` +
        "of its own, and needs --why.\nWhat an earlier run left unfinished is finished first. What is " +
        "offered and runs already, never\nproven, is proven: it is probed, and nothing is touched.\n\n" +
        'Examples:\n  anvil-adopter adopt\n  anvil-adopter adopt --despite-gates --why "bench is over"',
    },
    func(flags) {
      const by = { who: wiring.who, kind: flags.timer ? "timer" : "person" } as const;
      const despite = despiteOf(flags, by);
      if (despite === null) return reportRefusal(this, unexplained(), flags.json, 2);
      return runVerb(this, wiring, flags, "adopt", (adopter) => adopt(adopter, despite));
    },
  });
}

/** Back. */
export function rollbackCommand(wiring: Wiring) {
  return buildCommand<VerbFlags & DespiteFlags & { readonly to?: string }, [], ProgramContext>({
    parameters: {
      flags: {
        ...VERB_FLAGS,
        to: {
          kind: "parsed",
          brief: "A generation: a store path, or sha256: and a digest",
          parse: String,
          placeholder: "PATH",
          optional: true,
        },
        ...DESPITE_FLAGS,
      },
    },
    docs: {
      brief: "Go back to the last proven generation, or to a named one; needs no network",
      fullDescription:
        `${EXITS}Gates hold here too. What is left is not taken again by a timer until ` +
        "`unreject`.\n\nExample:\n  anvil-adopter rollback",
    },
    func(flags) {
      const despite = despiteOf(flags, { who: wiring.who, kind: "person" });
      if (despite === null) return reportRefusal(this, unexplained(), flags.json, 2);
      return runVerb(
        this,
        wiring,
        flags,
        "rollback",
        (adopter) => rollback(adopter, flags.to ?? null, despite),
      );
    },
  });
}

function unexplained() {
  return refuse(
    "why_missing",
    "a rule is set aside, and nobody said why, or a timer asks",
    "add --why TEXT, without --timer",
  );
}

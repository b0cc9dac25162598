/** `anvil-adopter pause|resume|unreject|recovered`. @module */

import { buildCommand } from "@stricli/core";
import { timestamp } from "../../../lib/core/clock.ts";
import type { ProgramContext } from "../../../lib/terminal/program.ts";
import { pause, recovered, resume, unreject } from "../verbs/say.ts";
import { runVerb, VERB_FLAGS, type VerbFlags, WHY_FLAG, type Wiring } from "./verb.ts";

/** Timers adopt nothing for a while. */
export function pauseCommand(wiring: Wiring) {
  return buildCommand<
    VerbFlags & { readonly reason: string; readonly hours?: number },
    [],
    ProgramContext
  >({
    parameters: {
      flags: {
        ...VERB_FLAGS,
        reason: { kind: "parsed", brief: "Why", parse: String, placeholder: "TEXT" },
        hours: {
          kind: "parsed",
          brief: "Ends by itself after so many hours",
          parse: hoursOf,
          placeholder: "N",
          optional: true,
        },
      },
    },
    docs: {
      brief: "Adopt nothing until resumed or until the time is over; staging goes on",
      fullDescription:
        'Survives restarts.\n\nExample:\n  anvil-adopter pause --reason "benchmark" --hours 8',
    },
    func(flags) {
      const until = flags.hours === undefined
        ? null
        : timestamp(wiring.ports.clock.now() + flags.hours * 3_600_000);
      return runVerb(
        this,
        wiring,
        flags,
        "pause",
        (adopter) => pause(adopter, flags.reason, until),
      );
    },
  });
}

/** A whole number of hours, a year at most. */
function hoursOf(text: string): number {
  const hours = Number(text);
  if (!Number.isInteger(hours) || hours < 1 || hours > 8760) {
    throw new SyntaxError("expected a whole number from 1 to 8760");
  }
  return hours;
}

/** Ends a pause. */
export function resumeCommand(wiring: Wiring) {
  return buildCommand<VerbFlags, [], ProgramContext>({
    parameters: { flags: VERB_FLAGS },
    docs: { brief: "End a pause" },
    func(flags) {
      return runVerb(this, wiring, flags, "resume", resume);
    },
  });
}

/** Lets a target be tried again. */
export function unrejectCommand(wiring: Wiring) {
  return buildCommand<VerbFlags & { readonly why: string }, [string], ProgramContext>({
    parameters: {
      flags: { ...VERB_FLAGS, why: WHY_FLAG },
      positional: {
        kind: "tuple",
        parameters: [{
          brief: "The rejected target, as status names it",
          parse: String,
          placeholder: "ID",
        }],
      },
    },
    docs: {
      brief: "Let a rejected target be tried again",
      fullDescription:
        'Example:\n  anvil-adopter unreject sha256:... --why "the disk was replaced"',
    },
    func(flags, id) {
      return runVerb(
        this,
        wiring,
        flags,
        "unreject",
        (adopter) => unreject(adopter, id, flags.why),
      );
    },
  });
}

/** Leaves manual recovery. */
export function recoveredCommand(wiring: Wiring) {
  return buildCommand<VerbFlags & { readonly why: string }, [], ProgramContext>({
    parameters: { flags: { ...VERB_FLAGS, why: WHY_FLAG } },
    docs: {
      brief: "Say that a person looked and the host may go on",
      fullDescription: "What runs then counts as it is; nothing is proven by this.\n\n" +
        'Example:\n  anvil-adopter recovered --why "booted the old generation by hand"',
    },
    func(flags) {
      return runVerb(this, wiring, flags, "recovered", (adopter) => recovered(adopter, flags.why));
    },
  });
}

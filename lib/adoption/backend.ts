/**
 * The backend port: what has to be different between a system closure and a directory of programs.
 *
 * Every implementation passes `lib/testing/backend_conformance.ts`. What they promise:
 * - `stage` touches nothing that runs, and gives a path only when every byte there was verified;
 * - `launch` of the same attempt and step twice has the effect of once;
 * - `inspect` finds out what became of a launch whose answer was lost, and launches nothing;
 * - `collect` removes nothing that it was told to keep.
 *
 * @module
 */

import type { Refusal } from "../core/refusal.ts";
import type { BackendKind, Candidate } from "./candidate.ts";

/** What is so on the host; paths are generations. Null: there is none, or nobody can tell. */
export type Facts = {
  readonly kind: "facts";
  /** Running now. */
  readonly current: string | null;
  /** Running since the last boot; for a backend that does not boot, the same as current. */
  readonly booted: string | null;
  /** What the next activation or boot would take. */
  readonly selected: string | null;
  /** Changes with each boot of the machine. */
  readonly boot_id: string;
};

/** What an activation would do. */
export type Impact = {
  /** `boot`: parts differ that only a boot brings in, and nothing waits that brings the same in. */
  readonly mode: "switch" | "boot";
  /** Why `boot`: `kernel`, `initrd`, `kernel-modules`, `kernel-params`. */
  readonly boot_parts: readonly string[];
  readonly stop: readonly string[];
  readonly restart: readonly string[];
  readonly reload: readonly string[];
  readonly start: readonly string[];
  /** Changed units that the activation leaves alone. */
  readonly skipped: readonly string[];
  /** Files, for a backend that has them. */
  readonly added: number;
  readonly removed: number;
  readonly changed: number;
};

/** Which launch: an attempt makes at most one of each step. */
export type LaunchAsk = {
  readonly attempt: string;
  readonly step: "activate" | "revert";
  readonly path: string;
  readonly previous: string | null;
  readonly mode: "switch" | "boot";
  readonly deadlineMs: number;
};

/** How an activation ended. */
export type Launch =
  /** It runs now. `degraded`: some units did not come up, which condemns nothing by itself. */
  | { readonly kind: "switched"; readonly degraded: boolean; readonly detail: string }
  /** The next boot takes it. */
  | { readonly kind: "installed"; readonly detail: string }
  /** Another activation is running: nothing was done. */
  | { readonly kind: "elsewhere"; readonly detail: string }
  /** It failed before it changed what runs, and what was selected is selected again. */
  | {
    readonly kind: "nothing";
    readonly class: "candidate" | "environment";
    readonly code: string;
    readonly detail: string;
  }
  /** Nobody knows. It may still be at work. */
  | { readonly kind: "unknown"; readonly code: string; readonly detail: string };

/** What became of a launch. */
export type Inspection =
  | { readonly kind: "never_started" }
  /** It began and is at work by itself: wait. */
  | { readonly kind: "running"; readonly detail: string }
  /** It began, died with whoever did it, and `launch` finishes it. */
  | { readonly kind: "half" }
  | { readonly kind: "ended"; readonly launch: Launch }
  | { readonly kind: "unknown"; readonly detail: string };

/** What staging gave. */
export type StageOutcome = { readonly kind: "staged"; readonly path: string } | StageFault;

/** Why staging gave nothing. `class` decides what becomes of the candidate. */
export interface StageFault extends Refusal {
  readonly class: "integrity" | "candidate" | "environment";
}

/** Makes a {@link StageFault}. */
export function stageFault(
  cls: StageFault["class"],
  code: string,
  detail: string,
  nextStep?: string,
): StageFault {
  const fault = { kind: "refused", class: cls, code, detail } as const;
  return nextStep === undefined ? fault : { ...fault, nextStep };
}

/** How much of a download is here. */
export interface StageProgress {
  readonly done: number;
  readonly total: number;
}

/** What a backend needs to hear while it stages. */
export interface StageAsk {
  readonly candidate: Candidate;
  readonly deadlineMs: number;
  readonly progress?: (progress: StageProgress) => void;
}

/** The port. */
export interface Backend {
  readonly kind: BackendKind;
  facts(): Promise<Facts | Refusal>;
  /** Bytes that staging would have to fetch and keep: sizes less what is present. Null: unknown. */
  missing(candidate: Candidate): Promise<number | null>;
  stage(ask: StageAsk): Promise<StageOutcome>;
  /** Checks every byte of a generation that is here. */
  verify(path: string, candidate: Candidate | null): Promise<{ readonly kind: "ok" } | StageFault>;
  /** `pending`: what waits for a boot already. The same boot parts again do not ask for another. */
  impact(path: string, pending: string | null): Promise<Impact | Refusal>;
  launch(ask: LaunchAsk): Promise<Launch>;
  inspect(ask: LaunchAsk): Promise<Inspection>;
  /** Makes what was judged good what the next boot takes. Safe to repeat. */
  commit(path: string): Promise<{ readonly kind: "ok" } | Refusal>;
  /** Removes generations besides `keep`; what runs, was booted or is selected stays in any case. */
  collect(
    keep: readonly string[],
  ): Promise<{ readonly kind: "ok"; readonly removed: number } | Refusal>;
  /** The end of an attempt is on record: what was kept to ask about it may go. Best effort. */
  forget(attempt: string): Promise<void>;
  /** Boots the machine; answers when the request was taken. */
  reboot(): Promise<{ readonly kind: "ok" } | Refusal>;
}

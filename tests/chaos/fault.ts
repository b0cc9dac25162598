/**
 * What may go wrong in a walk, as values, and how often and for how long it does.
 *
 * @module
 */

/** Programs of ours on a host that can be killed. */
export const HOST_PROGRAMS = ["router", "agent", "adopter", "chat", "embed"] as const;
/** One of {@link HOST_PROGRAMS}. */
export type HostProgram = (typeof HOST_PROGRAMS)[number];

/** How the end of a record file is spoiled, as a power cut does it. */
export const TAILS = ["half_line", "zeros", "all_but_end"] as const;
/** One of {@link TAILS}. */
export type Tail = (typeof TAILS)[number];

/** What goes wrong. Milliseconds; `at` counts from the walk's begin, `lasts` from `at`. */
export type Fault =
  & { readonly at: number; readonly lasts: number }
  & (
    /** kill -9; started again after `lasts`, as a supervisor does. */
    | { readonly kind: "kill"; readonly host: string; readonly program: HostProgram }
    /** kill -9 of the publisher's server. */
    | { readonly kind: "publisher_gone" }
    /** The gateway's host is cut off and its programs are killed: nobody operates. */
    | { readonly kind: "gateway_gone" }
    /** Every process of the host stands still. */
    | { readonly kind: "pause"; readonly host: string }
    | { readonly kind: "cut"; readonly host: string }
    /** A slow and queueing way to the host. */
    | { readonly kind: "delay"; readonly host: string }
    | { readonly kind: "disk_full"; readonly host: string }
    | { readonly kind: "skew"; readonly host: string; readonly seconds: number }
    /** kill -9, a torn last line in every record of the program, and a start. */
    | {
      readonly kind: "torn_tail";
      readonly host: string;
      readonly program: "router" | "agent" | "adopter";
      readonly tail: Tail;
    }
    /** Another model answers on the engine's port. */
    | { readonly kind: "swap"; readonly host: string; readonly program: "chat" | "embed" }
  );

/** A kind of fault. */
export type FaultKind = Fault["kind"];

/** How likely a kind is, and how long one lasts, in milliseconds. */
export const FAULTS: Readonly<
  Record<FaultKind, { readonly weight: number; readonly lasts: readonly [number, number] }>
> = {
  kill: { weight: 8, lasts: [100, 3000] },
  publisher_gone: { weight: 2, lasts: [3000, 15_000] },
  gateway_gone: { weight: 0, lasts: [8000, 8000] }, // in a lull of its own: see plan.ts
  pause: { weight: 3, lasts: [500, 6000] },
  cut: { weight: 3, lasts: [1000, 8000] },
  delay: { weight: 2, lasts: [3000, 12_000] },
  disk_full: { weight: 3, lasts: [3000, 12_000] },
  skew: { weight: 2, lasts: [4000, 12_000] },
  torn_tail: { weight: 4, lasts: [100, 1500] },
  swap: { weight: 4, lasts: [5000, 12_000] },
};

/** What a fault works on; two faults on one thing never overlap. */
export function targetOf(fault: Fault): string {
  switch (fault.kind) {
    case "kill":
    case "torn_tail":
    case "swap":
      return `${fault.host} ${fault.program}`;
    case "cut":
    case "delay":
      return `${fault.host} network`;
    case "pause":
    case "disk_full":
    case "skew":
      return `${fault.host} ${fault.kind}`;
    case "publisher_gone":
    case "gateway_gone":
      return fault.kind;
  }
}

/** One line. */
export function faultText(fault: Fault): string {
  const { at, lasts, kind, ...more } = fault;
  const rest = Object.entries(more).map(([key, value]) => `${key}=${value}`).join(" ");
  return `${(at / 1000).toFixed(1)} s, ${lasts} ms: ${kind} ${rest}`.trimEnd();
}

/**
 * When a host with a pending boot boots: its owner's policy, nobody else's.
 *
 * | policy   | what happens                                        |
 * | -------- | --------------------------------------------------- |
 * | `notify` | a failure marker says so, again and again           |
 * | `window` | it boots inside the window, when every gate is clear |
 * | `idle`   | it boots when every gate is clear                   |
 * | `never`  | the status says so                                  |
 *
 * @module
 */

import type { Reason } from "./gate.ts";
import type { PendingBoot } from "./slots.ts";

/** The policies. */
export const REBOOT_POLICIES = ["notify", "window", "idle", "never"] as const;
/** One of {@link REBOOT_POLICIES}. */
export type RebootPolicy = (typeof REBOOT_POLICIES)[number];

/** Minutes since midnight, UTC; `to` may be the next day's. */
export type Window = { readonly from: number; readonly to: number };

/** What to do now about `pending`. */
export type RebootDecision =
  | { readonly kind: "reboot" }
  | { readonly kind: "wait"; readonly code: string; readonly detail: string }
  | { readonly kind: "tell"; readonly code: string; readonly detail: string };

/** Decides; `reasons` are those of the gates, all of which must be clear. */
export function decideReboot(
  pending: PendingBoot,
  policy: RebootPolicy,
  span: Window | null,
  reasons: readonly Reason[],
  now: number,
): RebootDecision {
  const what = pending.direction === "back" ? "the way back" : "the installed generation";
  if (policy === "never") {
    return { kind: "wait", code: "reboot_required", detail: `${what} waits for a boot by hand` };
  }
  if (policy === "notify") {
    return { kind: "tell", code: "reboot_required", detail: `${what} waits for a boot` };
  }
  if (policy === "window" && (span === null || !inWindow(span, now))) {
    return { kind: "wait", code: "outside_window", detail: `${what} waits for the window` };
  }
  if (reasons.length === 0) return { kind: "reboot" };
  const names = reasons.map(({ gate, code }) => `${gate} ${code}`).join(", ");
  return { kind: "wait", code: "gates_not_clear", detail: `${what} waits for: ${names}` };
}

/** True when `now` is in the window; one that ends before it begins goes over midnight. */
export function inWindow({ from, to }: Window, now: number): boolean {
  const minute = Math.floor(now / 60_000) % 1440;
  return from <= to ? minute >= from && minute < to : minute >= from || minute < to;
}

/** Reads `02:00-05:30`; null when it is anything else. */
export function parseWindow(text: string): Window | null {
  const match = /^([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)$/.exec(text);
  if (match === null) return null;
  const [, a, b, c, d] = match.map(Number);
  const span = { from: (a ?? 0) * 60 + (b ?? 0), to: (c ?? 0) * 60 + (d ?? 0) };
  return span.from === span.to ? null : span;
}

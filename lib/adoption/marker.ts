/**
 * Failure markers: one small file per unit that failed, readable by everybody and by simple tools.
 *
 *     anvil-failure 1
 *     unit: anvil-adopter-activate
 *     code: probe_failed
 *     since: 2026-01-01T00:00:00.000Z
 *     last: 2026-01-01T06:00:00.000Z
 *     count: 3
 *     notified: 2026-01-01T06:00:00.000Z
 *     detail: health status_503
 *     next: look at the evidence: anvil-adopter receipts; then unreject it, or publish another
 *
 * One `key: value` per line, values without line breaks. Gone when the unit did its work again.
 *
 * @module
 */

/** What a marker says. */
export interface Marker {
  readonly unit: string;
  readonly code: string;
  /** ISO 8601. */
  readonly since: string;
  readonly last: string;
  readonly count: number;
  /** When somebody was last told. */
  readonly notified: string;
  readonly detail: string;
  readonly next: string;
}

const HEAD = "anvil-failure 1";
const KEYS = ["unit", "code", "since", "last", "count", "notified", "detail", "next"] as const;

/** The text of a marker. */
export function markerText(marker: Marker): string {
  const lines = KEYS.map((key) =>
    `${key}: ${String(marker[key]).replaceAll(/\p{Cc}+/gu, " ").trim()}`
  );
  return `${[HEAD, ...lines].join("\n")}\n`;
}

/** Reads one; null for anything else. */
export function readMarker(text: string): Marker | null {
  const [head, ...lines] = text.trimEnd().split("\n");
  if (head !== HEAD) return null;
  const values = new Map(lines.map((line) => {
    const at = line.indexOf(": ");
    return [line.slice(0, at), line.slice(at + 2)] as const;
  }));
  const of = (key: (typeof KEYS)[number]) => values.get(key) ?? "";
  const count = Number(of("count"));
  if (of("unit") === "" || of("code") === "" || !Number.isSafeInteger(count)) return null;
  return {
    unit: of("unit"),
    code: of("code"),
    since: of("since"),
    last: of("last"),
    count,
    notified: of("notified"),
    detail: of("detail"),
    next: of("next"),
  };
}

/** A failure as it is now. */
export type Failure = Pick<Marker, "unit" | "code" | "detail" | "next">;

/**
 * The marker after `failure` at `now`, and whether somebody is to be told: at first, when the code is
 * another, and again after `againMs`.
 */
export function mark(
  before: Marker | null,
  failure: Failure,
  now: number,
  againMs: number,
): { readonly marker: Marker; readonly notify: boolean } {
  const at = new Date(now).toISOString();
  const same = before !== null && before.code === failure.code;
  const notify = !same || !(now - Date.parse(before.notified) < againMs);
  return {
    marker: {
      ...failure,
      since: same ? before.since : at,
      last: at,
      count: same ? before.count + 1 : 1,
      notified: notify ? at : before.notified,
    },
    notify,
  };
}

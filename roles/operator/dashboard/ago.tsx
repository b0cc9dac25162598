/**
 * Times in a page: the moment for machines, the age for people. The page's script keeps ages going;
 * what the stream sends leaves them out, so that a row that only grew older is not sent again.
 *
 * @module
 */

import { timestamp } from "../../../lib/core/clock.ts";
import { ageText } from "../age.ts";

/** When something is rendered, and for what. */
export interface Moment {
  /** Wall clock, milliseconds. */
  readonly now: number;
  /** False in the stream. */
  readonly ages: boolean;
}

/** `4 min ago`; `never` for null. */
export function Ago({ at, moment, never = "never" }: {
  readonly at: number | string | null | undefined;
  readonly moment: Moment;
  readonly never?: string;
}) {
  const ms = typeof at === "string" ? Date.parse(at) : at ?? NaN;
  if (Number.isNaN(ms)) return <span>{never}</span>;
  const iso = timestamp(ms);
  const text = moment.ages ? `${ageText(moment.now - ms)} ago` : "";
  return <time class="ago" datetime={iso} title={iso}>{text}</time>;
}

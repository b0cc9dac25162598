/**
 * The adoption of one host as a line of moments: the last fortnight as a picture, each kind with a
 * shape of its own, and the same as a list of words.
 *
 * @module
 */

import { Ago, type Moment } from "./ago.tsx";
import { cut } from "./host_row.tsx";
import type { Mark, MarkKind } from "./marks.ts";

const DAYS = 14;
/** Moments in one picture: the newest. The list has all that are held. */
const SHOWN = 6;
const WIDTH = 170;
const HEIGHT = 18;
const DAY_MS = 86_400_000;

/** What each kind is called. */
export const MARK_WORDS: Readonly<Record<MarkKind, string>> = {
  offered: "offered",
  proven: "proven",
  pending: "boot pending",
  refused: "refused",
  attempt: "attempt begun",
};

/** Shapes around 0 0, told apart without their colours. */
const SHAPES: Readonly<Record<MarkKind, string>> = {
  offered: "M-4 4L0 -4L4 4Z",
  proven: "M-4 0A4 4 0 1 0 4 0A4 4 0 1 0 -4 0",
  pending: "M-3.5 -3.5H3.5V3.5H-3.5Z",
  refused: "M-4 -4L4 4M-4 4L4 -4",
  attempt: "M0 -5L4 0L0 5L-4 0Z",
};

/** The picture. */
export function Timeline({ marks, moment }: {
  readonly marks: readonly Mark[];
  readonly moment: Moment;
}) {
  const from = moment.now - DAYS * DAY_MS;
  const recent = marks.filter(({ at }) => at >= from && at <= moment.now + DAY_MS).slice(-SHOWN);
  const older = marks.length - recent.length;
  const place = (at: number) =>
    Math.min(WIDTH - 6, Math.round(6 + (at - from) / (DAYS * DAY_MS) * (WIDTH - 12)));
  const words = recent.map(({ kind, what }) => `${MARK_WORDS[kind]} ${cut(what, 12)}`).join(", ");
  const label = `Last ${DAYS} days: ${words === "" ? "nothing" : words}` +
    (older === 0 ? "" : `; ${older} older`);
  return (
    <svg
      class="timeline"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      width={WIDTH}
      height={HEIGHT}
      role="img"
      aria-label={label}
    >
      <path class="axis" d={`M2 ${HEIGHT / 2}H${WIDTH - 2}`} />
      {recent.map(({ kind, at }) => (
        <path
          class={`mark ${kind}`}
          transform={`translate(${place(at)} ${HEIGHT / 2})`}
          d={SHAPES[kind]}
        />
      ))}
    </svg>
  );
}

/** The words, newest first. */
export function MarkList({ marks, moment }: {
  readonly marks: readonly Mark[];
  readonly moment: Moment;
}) {
  if (marks.length === 0) return <p>Nothing is known of its adoption.</p>;
  return (
    <ol class="marks">
      {marks.toReversed().map(({ kind, at, what }) => (
        <li>
          <Shape kind={kind} /> {MARK_WORDS[kind]} <Ago at={at} moment={moment} /> {what}
        </li>
      ))}
    </ol>
  );
}

/** One shape, beside its word. */
export function Shape({ kind }: { readonly kind: MarkKind }) {
  return (
    <svg class="shape" viewBox="-6 -6 12 12" width="12" height="12" aria-hidden="true">
      <path class={`mark ${kind}`} d={SHAPES[kind]} />
    </svg>
  );
}

/**
 * A small line of the last numbers, with its gaps, and the same in words.
 *
 * @module
 */

import type { Ring } from "./ring.ts";

const WIDTH = 80;
const HEIGHT = 18;

/** The line. `name`: what is counted; `unit` follows a number. */
export function Sparkline({ ring, name, unit }: {
  readonly ring: Ring | null;
  readonly name: string;
  readonly unit: string;
}) {
  const values = ring?.values() ?? [];
  const known = values.filter((one) => one !== null);
  const last = values.at(-1) ?? null;
  if (known.length === 0) return <span class="none">not told</span>;
  const most = Math.max(...known);
  const now = last === null ? "unknown" : `${numberText(last)}${unit}`;
  return (
    <span class="trend">
      <span class="number">{now}</span>
      <svg
        class="spark"
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        width={WIDTH}
        height={HEIGHT}
        role="img"
        aria-label={`${name}: now ${now}, most ${
          numberText(most)
        }${unit} in ${values.length} looks`}
      >
        <path d={pathOf(values, most)} />
      </svg>
    </span>
  );
}

/** A line through the known values; a gap begins a new one, and a lone value is a dot. */
export function pathOf(values: readonly (number | null)[], most: number): string {
  const step = values.length < 2 ? 0 : (WIDTH - 4) / (values.length - 1);
  const scale = most <= 0 ? 0 : (HEIGHT - 4) / most;
  let path = "";
  let open = false;
  for (const [at, value] of values.entries()) {
    if (value === null) {
      open = false;
      continue;
    }
    const x = Math.round(2 + at * step);
    const y = Math.round(HEIGHT - 2 - value * scale);
    const alone = !open && (values[at + 1] ?? null) === null;
    path += `${open ? "L" : "M"}${x} ${y}${alone ? "h.01" : ""}`;
    open = true;
  }
  return path;
}

function numberText(value: number): string {
  return value >= 100 ? String(Math.round(value)) : String(Math.round(value * 10) / 10);
}

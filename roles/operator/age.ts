/**
 * How long ago something was, as people say it.
 *
 * @module
 */

const UNITS = [["d", 86_400_000], ["h", 3_600_000], ["min", 60_000], ["s", 1000]] as const;

/** Milliseconds as their largest whole unit: `4 d`, `3 h`, `0 s`. What lies ahead says so. */
export function ageText(ms: number): string {
  if (!Number.isFinite(ms)) return "?";
  const [unit, size] = UNITS.find(([, least]) => Math.abs(ms) >= least) ?? UNITS[3];
  const text = `${Math.floor(Math.abs(ms) / size)} ${unit}`;
  return ms <= -1000 ? `${text} ahead` : text;
}

/**
 * Whether a text was made by chance: how often letters and digits change kind tells a key from a name.
 *
 * `example-org/Example-70B-Instruct-AWQ` is long, and of short words; 256 random bits in any usual
 * alphabet hold a run of letters and digits in which hardly two neighbours are of one kind.
 *
 * @module
 */

/** Shorter runs of letters and digits are words, dates and versions. */
const LEAST_RUN = 20;

/** True when a run in `text` looks like a key: a password, a token, a hash. */
export function looksRandom(text: string): boolean {
  // A UUID names a device or a document; its longest run is 12.
  const runs = text.replace(/^sha(256|512):[0-9a-f]+$/i, "").replaceAll(
    /@sha256:[0-9a-f]{64}/gi,
    "",
  )
    .split(/[^A-Za-z0-9]+/);
  return runs.some((run) => run.length >= LEAST_RUN && isMixed(run)) || isSplit(runs);
}

function isMixed(run: string): boolean {
  const hasUpper = /[A-Z]/.test(run);
  const hasLower = /[a-z]/.test(run);
  const hasDigit = /[0-9]/.test(run);
  if (new Set(run).size < 8) return false;
  // Hexadecimal in one case: a digest or a key, and nothing tells which but the key's name.
  if (/^([0-9a-f]+|[0-9A-F]+)$/.test(run)) {
    return run.length >= 32 && hasDigit && !/^\d+$/.test(run);
  }
  const changes = changesIn(run);
  if (hasUpper && hasLower) {
    return changes >= (run.length >= 32 ? 0.3 : 0.42) && (hasDigit || run.length >= 32);
  }
  // Few digits among many letters, as base32 has them; who names a model in capitals is brief.
  return hasDigit && run.length >= 24 && changes >= (hasUpper ? 0.1 : 0.22);
}

/** Base64 with a few separators in it: pieces that are each too short to tell. */
function isSplit(runs: readonly string[]): boolean {
  const all = runs.filter((run) => run.length >= 6).join("");
  return all.length >= 24 && /[a-z]/.test(all) && /[A-Z]/.test(all) && /[0-9]/.test(all) &&
    changesIn(all) >= 0.4;
}

/** Neighbours of different kinds, as a part of all neighbours. */
function changesIn(run: string): number {
  const kinds = [...run].map((letter) => /[0-9]/.test(letter) ? 0 : /[a-z]/.test(letter) ? 1 : 2);
  const changes = kinds.filter((kind, at) => at > 0 && kind !== kinds[at - 1]).length;
  return changes / Math.max(1, run.length - 1);
}

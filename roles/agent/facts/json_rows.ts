/**
 * What programs say in JSON.
 *
 * @module
 */

/** One object of a program's answer. */
export type JsonRow = { readonly [key: string]: unknown };

/**
 * The objects of a text: those of a list, those below `key`, or the one that is there instead of a
 * list. Null when the text is none of these.
 */
export function rowsOf(text: string, key: string): readonly JsonRow[] | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  // PowerShell 5 wraps some lists; system_profiler names each.
  if (isRow(value) && Array.isArray(value[key])) value = value[key];
  const list = Array.isArray(value) ? value : [value];
  return list.every(isRow) ? list : null;
}

/** A text with something in it. */
export function textIn(row: JsonRow, key: string): string | null {
  const value = row[key];
  return typeof value === "string" && value !== "" ? value : null;
}

/** A whole number, also one that was written as text. */
export function countIn(row: JsonRow, key: string): number | null {
  const value = row[key];
  const number = typeof value === "string" && /^\d{1,16}$/.test(value) ? Number(value) : value;
  return typeof number === "number" && Number.isSafeInteger(number) && number >= 0 ? number : null;
}

function isRow(value: unknown): value is JsonRow {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

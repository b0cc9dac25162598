/**
 * Equality of JSON answers for relays that write them anew.
 *
 * @module
 */

/** True when every field of `expected` is in `text`; a relay may have added some of its own. */
export function sameFields(text: string, expected: string): boolean {
  try {
    const got = JSON.parse(text);
    return Object.entries(JSON.parse(expected)).every(([name, value]) =>
      JSON.stringify(got[name]) === JSON.stringify(value)
    );
  } catch {
    return false;
  }
}

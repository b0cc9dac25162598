/**
 * Remarks without places: what goes into the host's own log names no path of its, and no token. The
 * log of a program that is reached from outside is read, copied and sent around like any other.
 *
 * @module
 */

import { maskText } from "../../lib/core/mask.ts";

/** What paths are called instead. */
export type Places = ReadonlyMap<string, string>;

/** `text` without the paths of `places`, the longest first, and without what looks like one. */
export function unplaced(text: string, places: Places): string {
  const known = [...places].sort(([left], [right]) => right.length - left.length);
  const named = known.reduce(
    (rest, [path, name]) => path === "" ? rest : rest.replaceAll(path, `<${name}>`),
    text,
  );
  // What stands in quotes after an error of the operating system, and is none of them.
  return maskText(named.replace(/(["'])(?:\/|[A-Za-z]:\\)[^"']*\1/g, "<path>"));
}

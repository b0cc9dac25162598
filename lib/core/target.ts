/**
 * The path and query of a request as they were sent. The rest of the URL is the client's say-so
 * (absolute-form targets, strange Host headers) and decides nothing here.
 *
 * @module
 */

/** Splits `url` without parsing it: no decoding, no dot segments resolved, no slashes folded. */
export function targetOf(url: string): { readonly path: string; readonly query: string } {
  const origin = /^[a-z][a-z0-9+.-]*:\/\//i.exec(url);
  const start = origin === null ? 0 : url.indexOf("/", origin[0].length);
  if (start === -1) return { path: "/", query: "" };
  const hash = url.indexOf("#", start);
  const end = hash === -1 ? url.length : hash;
  const mark = url.indexOf("?", start);
  if (mark === -1 || mark > end) return { path: url.slice(start, end), query: "" };
  return { path: url.slice(start, mark), query: url.slice(mark, end) };
}

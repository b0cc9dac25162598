/**
 * The request headers that decide how a message is read or where it goes.
 *
 * @module
 */

/** Set by whoever writes a request; from a caller they could change where it is thought to end. */
export const MESSAGE_HEADERS: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

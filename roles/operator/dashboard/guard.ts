/**
 * Who may ask the page for anything: a browser on this machine that was sent here by name or by
 * literal loopback address, and that means this page.
 *
 *     any other method than GET and HEAD             405
 *     a Host that is not this listener's             421    a name that points here (DNS rebinding)
 *     a stream or file for a page of somebody else   403    by Sec-Fetch-Site, where a browser sends it
 *
 * @module
 */

/** Everything is ours and from here; nothing is inline, framed, or sent anywhere. */
export const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
  "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/** What every answer says. There is no CORS header: another origin reads nothing. */
export const HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": POLICY,
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()",
  "cache-control": "no-store",
};

/** The Hosts under which a listener on loopback may be asked. */
export function allowedHosts(hostname: string, port: number): ReadonlySet<string> {
  const literal = hostname.includes(":") ? `[${hostname}]` : hostname;
  return new Set([`${literal}:${port}`, `localhost:${port}`]);
}

/** Why a request is refused: a status and a sentence; null when it is not. */
export function refusedBy(
  request: Pick<Request, "method" | "headers">,
  hosts: ReadonlySet<string>,
): readonly [status: 403 | 405 | 421, why: string] | null {
  if (request.method !== "GET" && request.method !== "HEAD") {
    return [405, "this page only reads: GET and HEAD\n"];
  }
  if (!hosts.has((request.headers.get("host") ?? "").toLowerCase())) {
    return [421, "this page is asked for by its own address only\n"];
  }
  // A link from elsewhere may open the page; nothing else from elsewhere may ask for anything.
  const site = request.headers.get("sec-fetch-site") ?? "none";
  const opens = request.headers.get("sec-fetch-mode") === "navigate" &&
    request.headers.get("sec-fetch-dest") === "document";
  return site === "same-origin" || site === "none" || opens
    ? null
    : [403, "another page may not ask for this\n"];
}

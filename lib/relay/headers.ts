/**
 * Which headers cross the router, and in which direction.
 *
 * @module
 */

import type { HeaderList } from "./upstream.ts";

/** RFC 9110 §7.6.1 and what proxies add to it: about one connection, never passed on. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Request headers that stop here: the client's credential, and what the upstream side sets itself. */
const ENDS_AT_ROUTER: ReadonlySet<string> = new Set([
  "authorization",
  "x-api-key",
  "cookie",
  "host",
  "content-length",
  "accept-encoding",
  "expect",
  "forwarded",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-real-ip",
]);

/** Response headers that the router states itself. */
const STATED_BY_ROUTER: ReadonlySet<string> = new Set([
  "x-request-id",
  "request-id",
  "x-anvil-tier",
  "x-anvil-code",
]);

/** Request headers a member gets: end-to-end ones, without the client's credential, never decoded. */
export function toMember(headers: HeaderList): [string, string][] {
  const named = allNominated(headers);
  const crossing: [string, string][] = [["accept-encoding", "identity"]];
  for (const header of headers) {
    const name = header[0];
    if (HOP_BY_HOP.has(name) || ENDS_AT_ROUTER.has(name) || named?.has(name)) continue;
    if (!name.startsWith("access-control-request-")) crossing.push(header as [string, string]);
  }
  return crossing;
}

/**
 * Response headers a client gets. A `content-length` crosses: the bytes pass untouched, so it is
 * as true here as it was there.
 */
export function toClient(headers: HeaderList): [string, string][] {
  const named = allNominated(headers);
  return headers.filter(([name]) =>
    !HOP_BY_HOP.has(name) && !STATED_BY_ROUTER.has(name) && !named?.has(name) &&
    !name.startsWith("access-control-")
  ) as [string, string][];
}

function allNominated(headers: HeaderList): ReadonlySet<string> | null {
  let named: ReadonlySet<string> | null = null;
  for (const [name, value] of headers) {
    if (name === "connection") named = new Set([...(named ?? []), ...(nominated(value) ?? [])]);
  }
  return named;
}

function nominated(connection: string): ReadonlySet<string> | null {
  if (connection === "keep-alive" || connection === "close") return null;
  return new Set(connection.split(",").map((name) => name.trim().toLowerCase()));
}

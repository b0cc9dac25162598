/**
 * Addresses as the router's files write them: literal IPs only, so that no name service stands in
 * a request's path.
 *
 * @module
 */

import { isLoopback, isUnspecified, parseIpAndPort } from "../../lib/core/address.ts";
import { type Refusal, refuse } from "../../lib/core/refusal.ts";
import type { Endpoint } from "../../lib/relay/upstream.ts";

export { isLoopback, literalIp } from "../../lib/core/address.ts";

/** Reads `127.0.0.1:8080` or `[::1]:8080`; null when it is anything else. Port 0 lets the OS choose. */
export function parseListener(text: string): Endpoint | null {
  return parseIpAndPort(text);
}

/** Reads a member's `http://IP:PORT`. */
export function parseMemberEndpoint(
  text: string,
): { readonly kind: "ok"; readonly endpoint: Endpoint } | Refusal {
  const match = /^http:\/\/([^/?#]*)\/?$/.exec(text);
  if (match === null) {
    return text.startsWith("https://")
      ? refuse("endpoint_tls", "members are on this host or its network and speak plain http")
      : refuse(
        "endpoint_malformed",
        "expected http:// and a literal IP with a port, without a path",
      );
  }
  const authority = match[1] as string;
  if (authority.includes("@")) {
    return refuse("endpoint_userinfo", "an endpoint holds no user name or password");
  }
  const endpoint = parseListener(authority);
  if (endpoint === null || endpoint.port === 0) {
    return refuse(
      "endpoint_not_literal",
      "expected a literal IP and a port, as 127.0.0.1:8001; a name would need a name service",
    );
  }
  if (isUnspecified(endpoint.hostname)) {
    return refuse(
      "endpoint_unspecified",
      "the unspecified address is no place a member listens at",
    );
  }
  return { kind: "ok", endpoint };
}

/** The two spellings of this host's loopback count as one host. */
export function hostOf(hostname: string): string {
  return isLoopback(hostname) ? "loopback" : hostname;
}

/** An endpoint as a URL authority writes it. */
export function authorityOf({ hostname, port }: Endpoint): string {
  return hostname.includes(":") ? `[${hostname}]:${port}` : `${hostname}:${port}`;
}

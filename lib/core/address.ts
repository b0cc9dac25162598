/**
 * Addresses as files write them: literal IPs only, so that no name service stands in the way of a
 * request, an operation or a command.
 *
 * @module
 */

import { type Refusal, refuse } from "./refusal.ts";

/** A port at a literal IP, and whether TLS is spoken there. */
export interface Origin {
  readonly scheme: "http" | "https";
  readonly hostname: string;
  readonly port: number;
}

/** The one spelling of a literal IP; null when `text` is none. */
export function literalIp(text: string): string | null {
  const v4 = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text);
  if (v4 !== null) {
    const parts = v4.slice(1).map(Number);
    return parts.every((part, i) => part <= 255 && String(part) === v4[i + 1]) ? text : null;
  }
  if (!/^[0-9a-fA-F:.]*:[0-9a-fA-F:.]*$/.test(text)) return null;
  const url = URL.parse(`http://[${text}]/`);
  return url === null ? null : url.hostname.slice(1, -1);
}

/** Reads `192.0.2.10:8765` or `[2001:db8::1]:8765`; null when it is anything else. Port 0 is one. */
export function parseIpAndPort(
  text: string,
): { readonly hostname: string; readonly port: number } | null {
  const match = /^(?:\[([0-9a-fA-F.]*:[0-9a-fA-F:.]*)\]|([0-9.]+)):(\d{1,5})$/.exec(text);
  if (match === null) return null;
  const hostname = literalIp(match[1] ?? match[2] ?? "");
  const port = Number(match[3]);
  return hostname === null || port > 65_535 ? null : { hostname, port };
}

/** True for 127.0.0.0/8 and ::1. */
export function isLoopback(hostname: string): boolean {
  return hostname.startsWith("127.") || hostname === "::1";
}

/** True for the address that means every address of a machine, and so names none. */
export function isUnspecified(hostname: string): boolean {
  return hostname === "0.0.0.0" || hostname === "::";
}

/** True for `localhost` in any spelling: which machine it is depends on where it is read. */
export function isLocalhost(hostname: string): boolean {
  return /^(.+\.)?localhost\.?$|^(localhost|ip6-localhost|ip6-loopback)\.localdomain\d*$/i
    .test(hostname);
}

/** Reads `http://IP:PORT` or `https://IP:PORT`, an IPv6 address in brackets. */
export function parseOrigin(
  text: string,
): { readonly kind: "ok"; readonly origin: Origin } | Refusal {
  const match = /^(https?):\/\/([^/?#]*)\/?$/.exec(text);
  if (match === null) {
    return refuse(
      "endpoint_malformed",
      "expected http:// or https:// and a literal IP with a port, without a path",
    );
  }
  const [, scheme, authority = ""] = match;
  if (authority.includes("@")) {
    return refuse("endpoint_userinfo", "an endpoint holds no user name or password");
  }
  if (isLocalhost(authority.replace(/:\d*$/, ""))) return localhostRefused();
  const place = parseIpAndPort(authority);
  if (place === null || place.port === 0) {
    return refuse(
      "endpoint_not_literal",
      "expected a literal IP and a port, as 192.0.2.10:8765; a name would need a name service",
    );
  }
  if (isUnspecified(place.hostname)) return unspecifiedRefused();
  return { kind: "ok", origin: { scheme: scheme as Origin["scheme"], ...place } };
}

/** Reads the literal IP of a machine. */
export function parseMachineAddress(
  text: string,
): { readonly kind: "ok"; readonly hostname: string } | Refusal {
  if (isLocalhost(text)) return localhostRefused();
  const literal = literalIp(text);
  if (literal === null) {
    return refuse("address_malformed", "expected a literal IP, as 192.0.2.10");
  }
  return isUnspecified(literal) ? unspecifiedRefused() : { kind: "ok", hostname: literal };
}

function localhostRefused(): Refusal {
  return refuse("localhost", "which machine `localhost` is depends on the reader: write its IP");
}

function unspecifiedRefused(): Refusal {
  return refuse("address_unspecified", "the unspecified address names no machine");
}

/**
 * What a topology says, in one spelling: the order of keys, hosts, roles, devices and transports, the
 * comments and the formatting do not matter, and neither does whose view it is.
 *
 * The digest is made at the rim, where hashes are: `sha256(fingerprintText(fleet))`.
 *
 * @module
 */

import { canonicalJson, type Json } from "../core/canonical_json.ts";
import type { Fleet, Host } from "./shape.ts";

/** The text whose SHA-256 is the fleet's fingerprint. */
export function fingerprintText(fleet: Fleet): string {
  const { command_host: _host, command_runtime: _runtime, ...shared } = fleet;
  const transports = shared.transports?.toSorted((left, right) =>
    ascending(`${left.host} ${left.kind}`, `${right.host} ${right.kind}`)
  );
  const hosts = Object.entries(shared.hosts).map(([id, host]) => [id, inOneOrder(host)]);
  return canonicalJson(declared({ ...shared, hosts: Object.fromEntries(hosts), transports }));
}

function inOneOrder(host: Host): Host {
  const roles = host.roles.toSorted(ascending);
  const { memory } = host;
  if (memory?.model !== "discrete") return { ...host, roles };
  const devices = memory.devices.toSorted((left, right) => ascending(left.id, right.id));
  return { ...host, roles, memory: { ...memory, devices } };
}

/** Absent is absent, however it came to be so. */
function declared(value: unknown): Json {
  if (Array.isArray(value)) return value.map(declared);
  if (typeof value !== "object" || value === null) return value as Json;
  return Object.fromEntries(
    Object.entries(value).filter(([, item]) => item !== undefined)
      .map(([key, item]): [string, Json] => [key, declared(item)]),
  );
}

function ascending(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

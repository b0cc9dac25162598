/**
 * The files of a serving host for tests on real runtimes: one memory, so that no GPU is asked for.
 *
 * @module
 */

import { stringify } from "smol-toml";
import type { Serve } from "../../lib/serves/manifest_shape.ts";

/** The node of these files. */
export const NODE = "box";

/** Texts by file name. */
export function servesFiles(
  runtime: "docker" | "native",
  serves: readonly Serve[],
  socket: string,
): { readonly [name: string]: string } {
  return {
    "topology.toml": stringify({
      schema: 1,
      fleet: "lab",
      operator: NODE,
      hosts: {
        [NODE]: {
          os: "linux",
          arch: "x64",
          roles: ["serving", "router"],
          address: "192.0.2.1",
          runtime,
          memory: { model: "unified", budget_mib: 4096, os_reserve_mib: 256 },
          availability: "continuous",
        },
      },
      transports: [{
        host: NODE,
        kind: "agent",
        endpoint: "http://192.0.2.1:8765",
        expected_node: NODE,
        token: NODE,
      }],
    }),
    "serves.toml": stringify({
      schema: 1,
      serve: JSON.parse(JSON.stringify(serves)),
    }),
    "agent.toml": stringify({
      schema: 1,
      node: NODE,
      roles: ["serving"],
      listen: "127.0.0.1:0",
      state: "state",
      serves: { manifest: "serves.toml", topology: "topology.toml", docker_socket: socket },
    }),
  };
}

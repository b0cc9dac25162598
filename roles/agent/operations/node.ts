/**
 * `node.identity`, `node.health`, `node.facts`, `node.port-owner`: who this is, how it is, what it
 * sees.
 *
 * @module
 */

import { z } from "zod";
import { timestamp } from "../../../lib/core/clock.ts";
import type { Json } from "../../../lib/core/canonical_json.ts";
import type { Build } from "../../../lib/core/version.ts";
import { defineRead, jsonShape, type Operation } from "../../../lib/operation/operation.ts";
import type { FactPorts } from "../facts/fact.ts";
import { diskAt, gatherFacts } from "../facts/gather.ts";
import { ownerOf } from "../facts/port_owner.ts";

/** Version of what the agent speaks over HTTP. */
export const PROTOCOL = 1;

/** What these operations tell of. */
export interface NodeParts {
  readonly node: string;
  readonly roles: readonly string[];
  readonly topology: string | null;
  readonly build: Build;
  readonly state: string;
  readonly epoch: string;
  readonly startedAt: number;
  readonly facts: FactPorts;
  /** Known once the catalogue is made, which holds these operations. */
  readonly catalogueDigest: () => string;
  readonly ledgerState: () => Json;
}

const nothing = z.strictObject({});
const text = z.string();

const fact = z.strictObject({ value: jsonShape, source: text, at: text, why: text.nullable() });

/** The four. */
export function nodeOperations(parts: NodeParts): Operation[] {
  const identity = () => ({
    node: parts.node,
    version: parts.build.version,
    build_digest: parts.build.build_digest,
    protocol: PROTOCOL,
    catalogue_digest: parts.catalogueDigest(),
  });
  return [
    defineRead({
      name: "node.identity",
      brief: "Which node this is, and which software",
      effect: "read",
      roles: null,
      vital: true,
      deadlineMs: 1000,
      input: nothing,
      output: z.strictObject({
        node: text,
        version: text,
        build_digest: text.nullable(),
        protocol: z.int(),
        catalogue_digest: text,
        roles: z.array(text),
        topology: text.nullable(),
        platform: text,
        runtime: text,
      }),
      run: () =>
        Promise.resolve({
          kind: "ok" as const,
          value: {
            ...identity(),
            roles: [...parts.roles],
            topology: parts.topology,
            platform: parts.build.platform,
            runtime: parts.build.deno,
          },
        }),
    }),
    defineRead({
      name: "node.health",
      brief: "How the agent is: epoch, start, ledger, disk",
      effect: "read",
      roles: null,
      vital: true,
      deadlineMs: 10_000,
      input: nothing,
      output: z.strictObject({
        node: text,
        version: text,
        build_digest: text.nullable(),
        protocol: z.int(),
        catalogue_digest: text,
        epoch: text,
        started_at: text,
        ledger: jsonShape,
        disk: jsonShape,
      }),
      run: async (_input, { signal }) => ({
        kind: "ok",
        value: {
          ...identity(),
          epoch: parts.epoch,
          started_at: timestamp(parts.startedAt),
          ledger: parts.ledgerState(),
          disk: await diskAt(parts.facts, parts.state, signal),
        },
      }),
    }),
    defineRead({
      name: "node.facts",
      brief: "Memory, devices, pressure, disk, power and listening ports, each with its source",
      effect: "read",
      roles: null,
      vital: true,
      deadlineMs: 15_000,
      input: nothing,
      output: z.record(text, fact),
      run: async (_input, { signal }) => ({
        kind: "ok",
        value: await gatherFacts(parts.facts, signal),
      }),
    }),
    defineRead({
      name: "node.port-owner",
      brief: "Which process listens on a port: pid, start and command, without its secrets",
      effect: "read",
      roles: null,
      vital: true,
      deadlineMs: 15_000,
      input: z.strictObject({ port: z.int().min(1).max(65535) }),
      output: z.strictObject({ port: z.int(), listening: fact, owner: fact }),
      run: async ({ port }, { signal }) => ({
        kind: "ok",
        value: { port, ...await ownerOf(parts.facts, port, signal) },
      }),
    }),
  ];
}

/**
 * The catalogue of one host: which operations it has, by name, and the digest of what they promise.
 *
 * @module
 */

import { z } from "zod";
import { canonicalJson, type Json } from "../core/canonical_json.ts";
import { hex } from "../core/ids.ts";
import { sha256 } from "../host/digest.ts";
import { scopesOf } from "./authorize.ts";
import type { Operation } from "./operation.ts";

/** What the world is told of an operation. */
export interface OperationEntry {
  readonly [key: string]: Json;
  readonly name: string;
  readonly brief: string;
  readonly effect: "read" | "mutate";
  readonly destructive: boolean;
  /** Scopes that open it, the narrowest spelling of each. */
  readonly scopes: readonly string[];
  /** Roles of a host that have it; null for every host. */
  readonly roles: readonly string[] | null;
  readonly deadline_ms: number;
  /** JSON Schema. */
  readonly input: Json;
  /** JSON Schema. */
  readonly output: Json;
}

/** The operations of one host. */
export class Catalogue {
  readonly #operations: ReadonlyMap<string, Operation>;
  /** In ascending order of their names. */
  readonly entries: readonly OperationEntry[];
  /** SHA-256 of the canonical JSON of {@link Catalogue.entries}, lower-case hex. */
  readonly digest: string;

  private constructor(operations: readonly Operation[]) {
    this.#operations = new Map(operations.map((one) => [one.name, one]));
    if (this.#operations.size < operations.length) {
      throw new TypeError("two operations have one name");
    }
    this.entries = operations.toSorted((a, b) => a.name < b.name ? -1 : 1).map(entryOf);
    this.digest = hex(sha256(canonicalJson(this.entries)));
  }

  /** The catalogue of a host with `roles`, out of every operation this program has. */
  static for(roles: readonly string[], operations: readonly Operation[]): Catalogue {
    return new Catalogue(
      operations.filter((one) =>
        one.roles === null || one.roles.some((role) => roles.includes(role))
      ),
    );
  }

  /** The operation called `name`; null when this host has none. */
  get(name: string): Operation | null {
    return this.#operations.get(name) ?? null;
  }
}

function entryOf(operation: Operation): OperationEntry {
  const { name, brief, effect, destructive, roles, deadlineMs } = operation;
  return {
    name,
    brief,
    effect,
    destructive,
    scopes: scopesOf(operation),
    roles: roles === null ? null : roles.toSorted(),
    deadline_ms: deadlineMs,
    input: schemaOf(operation.input, "input"),
    output: schemaOf(operation.output, "output"),
  };
}

function schemaOf(shape: z.ZodType, io: "input" | "output"): Json {
  // Through text: the library's object carries a hidden property that is no data.
  return JSON.parse(JSON.stringify(z.toJSONSchema(shape, { io, target: "draft-2020-12" })));
}

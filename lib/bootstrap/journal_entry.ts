/**
 * A line of the receiver's journal, read strictly: nothing is ever done by a line nobody wrote.
 *
 * @module
 */

import * as z from "zod";
import type { Json } from "../core/canonical_json.ts";
import type { Entry } from "../core/machine.ts";
import { CODES } from "./codes.ts";
import { sha256Shape } from "./plan.ts";
import type { ReceiverEffect, ReceiverEvent } from "./receiver_machine.ts";
import { operationIdShape } from "./requests.ts";

const code = z.enum(CODES);
const generation = z.union([sha256Shape, z.literal("none")]);

const event = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("begin"),
    operation: z.strictObject({
      operation_id: operationIdShape,
      plan_sha256: sha256Shape,
      manifest_digest: sha256Shape,
    }),
  }),
  z.strictObject({ type: z.literal("installed") }),
  z.strictObject({ type: z.literal("refused"), code }),
  z.strictObject({ type: z.literal("activate"), prior: generation }),
  z.strictObject({ type: z.literal("rollback"), trigger: code }),
  z.strictObject({ type: z.literal("switched") }),
  z.strictObject({ type: z.literal("restarted") }),
  z.strictObject({ type: z.literal("failed"), code }),
]);

const effect = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("switch"), from: generation, to: sha256Shape }),
  z.strictObject({ type: z.literal("restart"), to: sha256Shape }),
]);

const entryShape = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("offer"), event }),
  z.strictObject({ kind: z.literal("intent"), effect }),
  z.strictObject({ kind: z.literal("done"), event }),
]);

/** One line. */
export type ReceiverEntry = Entry<ReceiverEvent, ReceiverEffect>;

/** The entry that a line holds; null when it is none. */
export function decodeEntry(value: Json): ReceiverEntry | null {
  return entryShape.safeParse(value).data ?? null;
}

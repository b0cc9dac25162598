/**
 * What may be asked of a receiver, and what it answers. Unknown keys, other types and a sixth verb
 * are `invalid_contract`.
 *
 * @module
 */

import * as z from "zod";
import type { Json } from "../core/canonical_json.ts";
import { refuse } from "../core/refusal.ts";
import { CODES, PHASES, PROTOCOL } from "./codes.ts";
import type { FrameRefusal } from "./frames.ts";
import { nodeShape, platformShape, sha256Shape, supervisorShape } from "./plan.ts";

/** An operation's id, made by the operator: the same for a request that is sent again. */
export const operationIdShape = z.string().regex(/^boot-[0-9a-f]{24}$/);

const protocol = z.literal(PROTOCOL);
const codeShape = z.enum(CODES);

/** The five requests. */
export const requestShape = z.discriminatedUnion("verb", [
  z.strictObject({ protocol, verb: z.literal("identity"), expected_node: nodeShape }),
  z.strictObject({
    protocol,
    verb: z.literal("stage"),
    expected_node: nodeShape,
    operation_id: operationIdShape,
    plan_sha256: sha256Shape,
    /** Of the receiver's own target configuration, as it was when the plan was made. */
    config_digest: sha256Shape,
    manifest_digest: sha256Shape,
    /** So many bytes of archive follow this frame. */
    bundle_length: z.int().min(1).max(Number.MAX_SAFE_INTEGER),
  }),
  z.strictObject({
    protocol,
    verb: z.literal("activate"),
    operation_id: operationIdShape,
    manifest_digest: sha256Shape,
    config_digest: sha256Shape,
  }),
  z.strictObject({ protocol, verb: z.literal("status"), operation_id: operationIdShape }),
  z.strictObject({
    protocol,
    verb: z.literal("rollback"),
    operation_id: operationIdShape,
    config_digest: sha256Shape,
    trigger_error_code: codeShape,
  }),
]);

/** One request. */
export type Request = z.infer<typeof requestShape>;
/** The request of one verb. */
export type RequestOf<V extends Request["verb"]> = Extract<Request, { verb: V }>;

/** Reads a request out of a frame's value. */
export function readRequest(
  value: Json,
): { readonly kind: "ok"; readonly request: Request } | FrameRefusal {
  const parsed = requestShape.safeParse(value);
  return parsed.success
    ? { kind: "ok", request: parsed.data }
    : refuse("invalid_contract", "the frame is none of the five requests");
}

/** Where an operation stands, as both ends tell it. `none` stands for nothing there. */
const standing = {
  operation_id: z.union([operationIdShape, z.literal("none")]),
  phase: z.union([z.enum(PHASES), z.literal("none")]),
  /** What went wrong on the way, if anything did. */
  error: z.union([codeShape, z.literal("none")]),
  /** True when something was begun whose end is not written down. */
  unfinished: z.boolean(),
  current: z.union([sha256Shape, z.literal("none")]),
  prior: z.union([sha256Shape, z.literal("none")]),
};

/** Which programs a generation holds, as its manifest says. */
const generationShape = z.strictObject({
  build_digest: sha256Shape,
  version: z.string().min(1).max(64),
});

/** The answers. */
export const answerShape = z.discriminatedUnion("ok", [
  z.strictObject({
    ok: z.literal(true),
    protocol,
    ...standing,
    identity: z.strictObject({
      node: nodeShape,
      version: z.string(),
      /** SHA-256, or `source` for a receiver that does not run from a bundle. */
      build_digest: z.union([sha256Shape, z.literal("source")]),
      config_digest: sha256Shape,
      roots_digest: sha256Shape,
      platform: platformShape,
      supervisor: supervisorShape,
      bootstrap_authorized: z.boolean(),
      /** What `current` and `prior` name; left out where nothing is there that is known. */
      generations: z.strictObject({
        current: generationShape.optional(),
        prior: generationShape.optional(),
      }),
    }).optional(),
  }),
  z.strictObject({ ok: z.literal(false), protocol, code: codeShape, ...standing }),
]);

/** One answer. */
export type Answer = z.infer<typeof answerShape>;
/** Who a receiver says it is. */
export type Identity = NonNullable<Extract<Answer, { ok: true }>["identity"]>;
/** The part of an answer that says where the operation stands. */
export type Standing = Pick<
  Answer,
  "operation_id" | "phase" | "error" | "unfinished" | "current" | "prior"
>;

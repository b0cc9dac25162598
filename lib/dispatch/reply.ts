/**
 * What an answer is: our agent's, another node's, or somebody else's altogether. A process that
 * happens to listen there may say 401 as well; only an answer that names its node is an agent's.
 *
 * @module
 */

import type { Json } from "../core/canonical_json.ts";
import { ID_PATTERN } from "../core/ids.ts";
import { readJson } from "../core/strict_json.ts";

/** A whole answer. */
export interface RawReply {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly bytes: Uint8Array;
}

/** A JSON object. */
export type JsonObject = { readonly [key: string]: Json };

/** What it is. */
export type Reply =
  | { readonly kind: "ok"; readonly body: JsonObject }
  | {
    readonly kind: "problem";
    readonly status: number;
    readonly code: string;
    readonly detail: string;
    readonly nextStep: string | null;
    /** False only when the agent is certain. */
    readonly mayHaveExecuted: boolean;
    readonly run: Json;
    readonly problems: Json;
  }
  | Stranger;

/** Not this node's agent. */
export type Stranger =
  /** `refused`: it says itself that it did nothing, as an agent does for another node. */
  | { readonly kind: "other_node"; readonly node: string; readonly refused: boolean }
  /** No agent's answer, or none that can be read. */
  | {
    readonly kind: "strange";
    readonly code: "another_process" | "answer_unreadable";
    readonly detail: string;
  };

/** The header by which an agent names its node. */
export const NODE_HEADER = "x-anvil-node";

/** Reads an answer that `node` should have given. No part of it is quoted but ids and codes. */
export function readReply(raw: RawReply, node: string): Reply {
  const stranger = strangerOf(raw, node);
  if (stranger !== null) return stranger;
  const { status, headers, bytes } = raw;
  const bounds = { bytes: bytes.length, depth: 128, values: 4_000_000 };
  const read = readJson(bytes, bounds);
  if (read.kind === "refused") return unreadable(`the agent's answer is no JSON: ${read.code}`);
  const body = objectOf(read.value);
  if (body === null) return unreadable("the agent's answer is no JSON object");
  if (status === 200) return { kind: "ok", body };
  const code = body["code"];
  if (typeof code !== "string" || !CODE.test(code) || headers.get("x-anvil-code") !== code) {
    return unreadable(`status ${status} came without a code that an agent gives`);
  }
  return {
    kind: "problem",
    status,
    code,
    detail: textOf(body["detail"]) ?? "the agent gave no reason",
    nextStep: textOf(body["next_step"]),
    mayHaveExecuted: body["may_have_executed"] !== false,
    run: objectOf(body["run"]),
    problems: Array.isArray(body["problems"]) ? body["problems"] : [],
  };
}

/** Who gave the answer, when it was not the agent of `node`; null when it names that node. */
export function strangerOf(
  { status, headers }: Pick<RawReply, "status" | "headers">,
  node: string,
): Stranger | null {
  const named = headers.get(NODE_HEADER) ?? "";
  if (!ID_PATTERN.test(named)) {
    const detail = `an answer with status ${status} came that names no node: no agent gave it`;
    return { kind: "strange", code: "another_process", detail };
  }
  if (named === node) return null;
  const refused = status === 421 && headers.get("x-anvil-code") === "wrong_node";
  return { kind: "other_node", node: named, refused };
}

/** A JSON object; null for anything else. */
export function objectOf(value: Json | undefined): JsonObject | null {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? value as JsonObject
    : null;
}

const CODE = /^[a-z0-9_]{1,64}$/;
/** No message of an agent is longer. */
const MOST_TEXT = 1000;

function textOf(value: Json | undefined): string | null {
  return typeof value === "string" ? value.slice(0, MOST_TEXT) : null;
}

function unreadable(detail: string): Stranger {
  return { kind: "strange", code: "answer_unreadable", detail };
}

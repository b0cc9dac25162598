/**
 * `router.status`: what the router on this host says of itself, through its admin listener.
 *
 * @module
 */

import { z } from "zod";
import type { Json } from "../../../lib/core/canonical_json.ts";
import type { Files } from "../../../lib/core/files.ts";
import { type Refusal, refuse } from "../../../lib/core/refusal.ts";
import { Secret } from "../../../lib/core/secret.ts";
import { readJson } from "../../../lib/core/strict_json.ts";
import type { Endpoint, Upstream, UpstreamAnswer } from "../../../lib/relay/upstream.ts";
import { defineRead, jsonShape, type Operation } from "../../../lib/operation/operation.ts";
import { WITH_ROUTER } from "../host_roles.ts";

/** Where the router is and how it is asked; null when this host's agent knows none. */
export interface RouterParts {
  readonly upstream: Upstream;
  readonly files: Files;
  readonly at: { readonly admin: Endpoint; readonly tokenFile: string | null } | null;
}

const MOST_ANSWER_BYTES = 4 * 1024 * 1024;
const CONNECT_MS = 2000;

/** The one. */
export function routerOperations(parts: RouterParts): Operation[] {
  return [defineRead({
    name: "router.status",
    brief: "Tiers, members and aliases of the router on this host",
    effect: "read",
    roles: WITH_ROUTER,
    deadlineMs: 10_000,
    input: z.strictObject({}),
    output: z.strictObject({ status: jsonShape }),
    run: async (_input, { signal }) => {
      if (parts.at === null) {
        return refuse(
          "router_not_configured",
          "agent.toml names no router",
          "add `[router]` with `admin` to agent.toml and restart the agent",
        );
      }
      const token = await tokenOf(parts.files, parts.at.tokenFile);
      if (token !== null && token.kind === "refused") return token;
      const answer = await parts.upstream.send({
        endpoint: parts.at.admin,
        method: "GET",
        target: "/v1/router/status",
        headers: [
          ["accept", "application/json"],
          ...(token === null
            ? []
            : [["authorization", `Bearer ${token.secret.reveal()}`] as const]),
        ],
        body: { kind: "none" },
        connectMs: CONNECT_MS,
        signal,
      });
      const status = await statusOf(answer);
      return "kind" in status ? status : { kind: "ok", value: status };
    },
  })];
}

async function tokenOf(
  files: Files,
  path: string | null,
): Promise<{ readonly kind: "ok"; readonly secret: Secret } | Refusal | null> {
  if (path === null) return null;
  const privacy = await files.checkPrivate(path);
  if (privacy.kind === "refused") return refuse("router_token_unusable", privacy.detail);
  const read = await files.readBounded(path, 4096);
  if (read.kind !== "ok") {
    return refuse("router_token_unusable", "the router's token file cannot be read");
  }
  const text = new TextDecoder().decode(read.bytes).trim();
  return /^[\x21-\x7e]+$/.test(text)
    ? { kind: "ok", secret: new Secret(text) }
    : refuse("router_token_unusable", "the router's token file does not hold one token");
}

async function statusOf(answer: UpstreamAnswer): Promise<{ readonly status: Json } | Refusal> {
  if (answer.kind === "failed") {
    return refuse("router_unreachable", `the router did not answer: ${answer.code}`);
  }
  if (answer.status !== 200) {
    answer.body.cancel();
    return refuse(
      "router_refused",
      `the router answered with status ${answer.status}`,
      answer.status === 401 || answer.status === 403
        ? "give the agent a router token of scope `observe`"
        : "look at the router's log",
    );
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const read = await answer.body.read(new Uint8Array(16 * 1024));
    if (read.kind === "end") break;
    if (read.kind === "broken") return refuse("router_unreachable", "the router's answer was cut");
    chunks.push(read.bytes.slice());
    size += read.bytes.length;
    if (size > MOST_ANSWER_BYTES) {
      answer.body.cancel();
      return refuse("router_refused", "the router's answer is too large");
    }
  }
  const bytes = new Uint8Array(await new Blob(chunks as BlobPart[]).arrayBuffer());
  const json = readJson(bytes, { bytes: MOST_ANSWER_BYTES, depth: 64, values: 1_000_000 });
  return json.kind === "ok"
    ? { status: json.value }
    : refuse("router_refused", "the answer is not the router's: it is no JSON");
}

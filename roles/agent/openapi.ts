/**
 * The OpenAPI 3.1 document of one agent, made from its catalogue.
 *
 * @module
 */

import type { Json } from "../../lib/core/canonical_json.ts";
import type { Catalogue, OperationEntry } from "../../lib/operation/catalogue.ts";

const PROBLEM = {
  description: "A problem document (RFC 9457)",
  content: {
    "application/problem+json": {
      schema: {
        type: "object",
        required: ["type", "title", "status", "detail", "code", "may_have_executed"],
        properties: {
          type: { type: "string" },
          title: { type: "string" },
          status: { type: "integer" },
          detail: { type: "string" },
          code: { type: "string" },
          may_have_executed: { type: "boolean" },
          next_step: { type: "string" },
        },
      },
    },
  },
} as const;

/** The document. */
export function openApi(node: string, version: string, catalogue: Catalogue): Json {
  const paths: { [path: string]: Json } = {
    "/livez": {
      get: { summary: "Alive", security: [], responses: { 200: { description: "Yes" } } },
    },
    "/docs": {
      get: {
        summary: "The catalogue as a page for people",
        security: [],
        responses: { 200: { description: "A page", content: { "text/html": {} } } },
      },
    },
    "/health": get("node.health, without an envelope"),
    "/v1/operations": get("The catalogue of this node"),
    "/v1/operations/runs/{id}": {
      get: {
        ...get("One run").get,
        parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
      },
    },
    "/openapi.json": get("This document"),
  };
  for (const entry of catalogue.entries) {
    paths[`/v1/operations/${entry.name}`] = { post: post(entry) };
  }
  return {
    openapi: "3.1.0",
    info: { title: `anvil-agent of ${node}`, version },
    components: { securitySchemes: { bearer: { type: "http", scheme: "bearer" } } },
    security: [{ bearer: [] }],
    paths,
  };
}

function get(summary: string) {
  const content = { "application/json": { schema: { type: "object" } } };
  return {
    get: { summary, responses: { 200: { description: "Done", content }, default: PROBLEM } },
  } as const;
}

function post(entry: OperationEntry): Json {
  const header = (name: string, required: boolean) => ({
    name,
    in: "header",
    required,
    schema: { type: "string" },
  });
  const mutates = entry.effect === "mutate";
  return {
    operationId: entry.name,
    summary: entry.brief,
    description: `Scopes: ${entry.scopes.join(", ")}`,
    parameters: [
      header("x-anvil-node", true),
      ...(mutates ? [header("idempotency-key", false)] : []),
    ],
    requestBody: {
      required: true,
      content: {
        "application/json": {
          schema: {
            type: "object",
            additionalProperties: false,
            properties: {
              input: entry.input,
              ...(mutates ? { dry_run: { type: "boolean" } } : {}),
              ...(entry.destructive ? { confirm: { type: "boolean" } } : {}),
            },
          },
        },
      },
    },
    responses: {
      200: {
        description: "Done, or planned",
        content: {
          "application/json": {
            schema: {
              type: "object",
              // A dry run's result is the plan, and a result too large to keep is null.
              properties: { result: mutates ? {} : entry.output },
            },
          },
        },
      },
      default: PROBLEM,
    },
  };
}

/**
 * The catalogue for agents that speak MCP, over streamable HTTP by the official SDK. Stateless: each
 * request carries its token and is answered whole; nothing is remembered between two of them.
 *
 * A tool is an operation; its arguments are what a POST of the operation takes, the idempotency key
 * among them, since a tool call has no headers of its own.
 *
 * @module
 */

import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import {
  type CallToolRequest,
  CallToolRequestSchema,
  type CallToolResult,
  ListToolsRequestSchema,
  type Tool,
} from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import type { Json } from "../../lib/core/canonical_json.ts";
import { refuse } from "../../lib/core/refusal.ts";
import { checkShape } from "../../lib/document/shape.ts";
import type { Answer } from "../../lib/operation/answer.ts";
import { ACTIONS, authorize } from "../../lib/operation/authorize.ts";
import type { OperationEntry } from "../../lib/operation/catalogue.ts";
import { jsonShape } from "../../lib/operation/operation.ts";
import type { AppParts } from "./app.ts";
import type { Principal } from "./clients.ts";
import { NOT_BEGUN, problemDocument } from "./problem_document.ts";

const argumentsShape = z.strictObject({
  input: jsonShape.default({}),
  dry_run: z.boolean().default(false),
  confirm: z.boolean().default(false),
  idempotency_key: z.string().optional(),
});

/** Answers one MCP request whose body was read already, strictly. */
export async function handleMcp(
  parts: AppParts,
  principal: Principal,
  request: Request,
  body: Json,
): Promise<Response> {
  const server = new Server(
    { name: `anvil-agent ${parts.node}`, version: parts.version },
    { capabilities: { tools: {} } },
  );
  const open = parts.catalogue.entries.filter((entry) =>
    ACTIONS.some((action) =>
      entry.scopes.includes(`${entry.name}:${action}`) &&
      authorize(principal.scopes, entry.name, action) === null
    )
  );
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: open.map(toolOf) }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }: CallToolRequest) => {
    const entry = parts.catalogue.entries.find(({ name }) => toolName(name) === params.name);
    const call = checkShape(argumentsShape, params.arguments ?? {});
    if (call.kind === "invalid") {
      const no = refuse("input_invalid", "expected `input`, and what the tool's schema names");
      return toolResult(problemDocument(no, { ...NOT_BEGUN, problems: call.problems }), true);
    }
    const { input, dry_run, confirm, idempotency_key } = call.model;
    const answer = await parts.runner.call({
      principal: principal.name,
      scopes: principal.scopes,
      operation: entry?.name ?? params.name,
      input,
      dryRun: dry_run,
      confirm,
      key: idempotency_key ?? null,
      signal: request.signal,
    });
    return answerResult(answer);
  });
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  try {
    return await transport.handleRequest(request, { parsedBody: body });
  } finally {
    await server.close();
  }
}

/** `node.health` is `node_health`: many clients know no dots in a tool's name. */
function toolName(operation: string): string {
  return operation.replace(".", "_");
}

function toolOf(entry: OperationEntry): Tool {
  const mutates = entry.effect === "mutate";
  return {
    name: toolName(entry.name),
    title: entry.name,
    description: entry.brief,
    inputSchema: {
      type: "object",
      additionalProperties: false,
      properties: {
        input: entry.input as object,
        ...(mutates
          ? {
            dry_run: { type: "boolean", description: "Show what would be done, do nothing" },
            idempotency_key: {
              type: "string",
              description: "Fresh for a new wish, the same to ask again; needed unless dry_run",
            },
          }
          : {}),
        ...(entry.destructive ? { confirm: { type: "boolean" } } : {}),
      },
    },
    annotations: {
      readOnlyHint: !mutates,
      destructiveHint: entry.destructive,
      idempotentHint: true,
      openWorldHint: false,
    },
  };
}

function answerResult(answer: Answer): CallToolResult {
  if (answer.kind === "refused") return toolResult(problemDocument(answer, answer), true);
  const { result, dryRun, run, known } = answer;
  const told = { dry_run: dryRun, known, result };
  return toolResult(run === null ? told : { ...told, run: { ...run, result: null } }, false);
}

function toolResult(told: { readonly [key: string]: Json }, isError: boolean): CallToolResult {
  return {
    content: [{ type: "text", text: JSON.stringify(told) }],
    structuredContent: told,
    isError,
  };
}

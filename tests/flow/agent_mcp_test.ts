import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { lampOperation, startAgentRig, TOKENS } from "../support/agent.ts";

async function withMcp(
  token: string,
  run: (client: Client, lamps: () => Promise<string>) => Promise<void>,
): Promise<void> {
  await using dir = await tempDir();
  const path = dir.at("lamps");
  await Deno.writeTextFile(path, "");
  await using rig = await startAgentRig(dir.path, [lampOperation(path, () => Promise.resolve())]);
  const client = new Client({ name: "test", version: "0" });
  const transport = new StreamableHTTPClientTransport(new URL(`${rig.url}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${token}`, "x-anvil-node": "gpu-a" } },
  });
  try {
    // The SDK's own types disagree with each other under exactOptionalPropertyTypes.
    await client.connect(transport as Parameters<Client["connect"]>[0]);
    await run(client, () => Deno.readTextFile(path));
  } finally {
    await client.close();
  }
}

async function call(client: Client, name: string, args: Record<string, unknown>) {
  const { isError, structuredContent } = await client.callTool({ name, arguments: args });
  return { isError, told: structuredContent as Record<string, unknown> };
}

interface Listed {
  readonly name: string;
  readonly annotations?: { readonly readOnlyHint?: boolean };
}

async function list(client: Client): Promise<readonly Listed[]> {
  return (await client.listTools()).tools;
}

Deno.test("MCP: a real client lists, looks, plans, acts once, and asks again", async () => {
  await withMcp(TOKENS.all, async (client, lamps) => {
    const tools = await list(client);
    const lamp = tools.find(({ name }) => name === "lamp_light");
    assert.equal(lamp?.annotations?.readOnlyHint, false);
    assert.ok(tools.some(({ name }) => name === "node_facts"));
    const identity = await call(client, "node_identity", {});
    assert.equal((identity.told["result"] as { node: string }).node, "gpu-a");
    const input = { lamp: "a" };
    const dry = await call(client, "lamp_light", { input, dry_run: true });
    assert.deepEqual([dry.isError, dry.told["result"], await lamps()], [false, { lamp: "a" }, ""]);
    const keyless = await call(client, "lamp_light", { input });
    assert.deepEqual([keyless.isError, keyless.told["code"]], [true, "key_required"]);
    const keyed = { input, idempotency_key: "key-00000001" };
    const first = await call(client, "lamp_light", keyed);
    const again = await call(client, "lamp_light", keyed);
    assert.deepEqual([first.told["known"], again.told["known"]], [false, true]);
    assert.equal(await lamps(), "a\n");
    const wrong = await call(client, "lamp_light", { input: {}, extra: 1 });
    assert.equal(wrong.told["code"], "input_invalid");
  });
});

Deno.test("MCP: a token sees and may call what its scopes open, and nothing else", async () => {
  await withMcp(TOKENS.reader, async (client, lamps) => {
    const tools = await list(client);
    assert.deepEqual(tools.map(({ name }) => name).sort(), [
      "node_facts",
      "node_health",
      "node_identity",
      "node_port-owner",
    ]);
    const args = { input: { lamp: "a" }, idempotency_key: "key-00000001" };
    const lit = await call(client, "lamp_light", args);
    assert.deepEqual([lit.isError, lit.told["code"]], [true, "scope_missing"]);
    assert.equal((await call(client, "no_such", {})).told["code"], "scope_missing");
    assert.equal(await lamps(), "");
  });
  await assert.rejects(withMcp(`anvil_${"x".repeat(43)}`, () => Promise.resolve()));
});

Deno.test("MCP: bodies are read as strictly as any", async () => {
  await using dir = await tempDir();
  await using rig = await startAgentRig(dir.path);
  const post = async (body: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${rig.url}/mcp`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${TOKENS.all}`,
        "x-anvil-node": "gpu-a",
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...headers,
      },
      body,
    });
    await response.body?.cancel();
    return [response.status, response.headers.get("x-anvil-code")];
  };
  const list = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
  assert.deepEqual(await post(list), [200, null]);
  assert.deepEqual(await post(list.replace('"id":1', '"id":1,"id":2')), [
    400,
    "json_duplicate_key",
  ]);
  assert.deepEqual(await post(list, { "x-anvil-node": "gpu-b" }), [421, "wrong_node"]);
  assert.deepEqual(await post(list, { authorization: "x" }), [401, "token_missing"]);
  const got = await rig.get("/mcp");
  assert.deepEqual([got.status, got.code], [405, "method_not_allowed"]);
});

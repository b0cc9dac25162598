import assert from "node:assert/strict";
import { llamaSwapGate, routerGate } from "../../lib/adoption/gates/http_gates.ts";
import { systemClock } from "../../lib/host/clock.ts";
import { tcpDial } from "../../lib/host/dial.ts";
import { systemFiles } from "../../lib/host/files.ts";
import { serve } from "../../lib/host/serve.ts";
import { http1Upstream } from "../../lib/relay/http1.ts";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { startEngine } from "../fixtures/engine.ts";
import { adopterRig } from "../support/adopter_rig.ts";
import { startRouter } from "../support/router.ts";
import { OBSERVER } from "../support/router_toml.ts";
import { ask, askBody, CHAT, StreamReader } from "../support/stream_reader.ts";
import { until } from "../support/wait.ts";

const gatePorts = () => ({ upstream: http1Upstream(tcpDial, systemClock), files: systemFiles });
const signal = new AbortController().signal;

Deno.test("gate router: a stream at work is busy, none is clear, no router is unknown", async () => {
  await using dir = await tempDir();
  const ports = gatePorts();
  const tokenFile = dir.at("token");
  await Deno.writeTextFile(tokenFile, OBSERVER, { mode: 0o600 });
  const engine = await startEngine();
  try {
    await using router = await startRouter({ members: [engine.port] });
    const endpoint = { hostname: "127.0.0.1", port: router.adminPort };
    const look = async (at = endpoint, file: string | null = tokenFile) => {
      const { state, code } = await routerGate(ports, { endpoint: at, tokenFile: file })(signal);
      return `${state} ${code}`;
    };
    assert.equal(await look(), "clear idle");
    const fault = { "x-fixture-fault": "slow-body;ms=60000" };
    const stream = await StreamReader.open(router.port, ask(CHAT, askBody(), fault));
    await until("it is at work", async () => (await router.status()).open === 1);
    assert.equal(await look(), "busy requests_in_flight");
    assert.equal(await look(endpoint, null), "unknown status_401");
    stream[Symbol.dispose]();
    await router.quiet();
    assert.equal(await look(), "clear idle");
    assert.equal(await look({ ...endpoint, port: engine.port }), "unknown status_404");
    await router.stop();
    assert.match(await look(), /^unknown (connect_refused|closed_before_head)$/);
  } finally {
    ports.upstream.close();
    await engine.close();
  }
});

Deno.test("gate router: a long stream defers an adoption durably, and its end lets it through", async () => {
  const engine = await startEngine();
  await using rig = await adopterRig();
  try {
    await using router = await startRouter({ members: [engine.port] });
    const token = rig.dir.at("token");
    await Deno.writeTextFile(token, OBSERVER, { mode: 0o600 });
    const gate = `[[gates]]\nname = "streams"\nkind = "router"\ndeadline_seconds = 100\n` +
      `admin = "127.0.0.1:${router.adminPort}"\ntoken_file = "${token}"\n`;
    const host = await rig.host("gpu-a", gate);
    await rig.publish("one");
    assert.equal((await host.all()).code, "proven");
    await rig.publish("two");
    const fault = { "x-fixture-fault": "slow-body;ms=60000" };
    const stream = await StreamReader.open(router.port, ask(CHAT, askBody(), fault));
    await until("it is at work", async () => (await router.status()).open === 1);
    assert.equal((await host.all()).code, "gates_not_clear");
    assert.equal((await host.adopt()).code, "gates_not_clear");
    const { blocked_by, state } = await host.summary();
    assert.equal(state, "waiting-for-safe-window");
    assert.deepEqual(blocked_by.map(({ gate, code }) => [gate, code]), [
      ["streams", "requests_in_flight"],
    ]);
    assert.equal((await router.status()).open, 1, "the stream was disturbed");
    stream[Symbol.dispose]();
    await router.quiet();
    assert.equal((await host.adopt()).code, "proven");
  } finally {
    await engine.close();
  }
});

Deno.test("gate llama-swap: the snapshot of a stream that never ends", async () => {
  const events: string[] = [];
  const event = (type: string, data: unknown) =>
    events.push(`event:message\ndata:${JSON.stringify({ type, data: JSON.stringify(data) })}\n\n`);
  const handler = (request: Request): Response => {
    if (new URL(request.url).pathname !== "/api/events") return new Response(null, { status: 404 });
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode(events.join(""))),
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };
  const server = serve({ hostname: "127.0.0.1", port: 0, handler, onError: () => {} });
  if (server.kind === "refused") throw new Error(server.detail);
  const ports = gatePorts();
  const endpoint = { hostname: "127.0.0.1", port: server.port };
  const look = async () => {
    const { state, code } = await llamaSwapGate(ports, { endpoint, tokenFile: null })(signal);
    return `${state} ${code}`;
  };
  // A model that is loaded and idle does not hold an update up.
  event("modelStatus", [{ id: "m", state: "ready" }]);
  event("inflight", { total: 0 });
  assert.equal(await look(), "clear idle");
  events.length = 0;
  event("modelStatus", [{ id: "m", state: "ready" }]);
  event("inflight", { total: 1 });
  assert.equal(await look(), "busy requests_in_flight");
  events.length = 0;
  event("modelStatus", [{ id: "m", state: "starting" }]);
  event("inflight", { total: 0 });
  assert.equal(await look(), "busy model_moving");
  ports.upstream.close();
  await server.shutdown();
});

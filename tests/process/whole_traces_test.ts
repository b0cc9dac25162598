import assert from "node:assert/strict";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { startEngine } from "../fixtures/engine.ts";
import { exchange, parseResponse } from "../fixtures/raw_client.ts";
import { freePort } from "../support/free_port.ts";
import { roleWords } from "../support/role_process.ts";
import { furnish } from "../support/router_process.ts";
import { TOKEN } from "../support/router_toml.ts";
import { ask, askBody, CHAT } from "../support/stream_reader.ts";
import { until } from "../support/wait.ts";

const PROMPT = "canary-prompt-7f3a";
const QUERY = "canary-query-91bc";
const TRACE = "0af7651916cd43dd8448eb211c80319c";

/** The keys of the attributes in which `wanted` stands; `?` where it stands outside of one. */
function attributesWith(body: string, wanted: string): string[] {
  return body.split(wanted).slice(0, -1).map((before) => {
    const value = /"key":\s*"([^"]*)",\s*"value":\s*\{\s*"stringValue":\s*"[^"]*$/.exec(before);
    return value?.[1] ?? "?";
  });
}

async function readyAt(port: number): Promise<boolean> {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`);
    await answer.body?.cancel();
    return answer.status === 200;
  } catch {
    return false;
  }
}

Deno.test("traces reach a collector when the user asks for them, and hold no token and no prompt", async () => {
  const bodies: string[] = [];
  const collector = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      bodies.push(new TextDecoder("latin1").decode(await request.bytes()));
      return new Response("{}", { headers: { "content-type": "application/json" } });
    },
  );
  const engine = await startEngine();
  await using dir = await tempDir();
  try {
    const [data, admin] = [freePort(), freePort()];
    await furnish(dir.path, {
      members: [engine.port],
      top: { listen: { data: `127.0.0.1:${data}`, admin: `127.0.0.1:${admin}` } },
    });
    const router = new Deno.Command(Deno.execPath(), {
      args: [...await roleWords("router", dir.path), "run", "router.toml"],
      cwd: dir.path,
      env: {
        NO_COLOR: "1",
        OTEL_DENO: "true",
        OTEL_SERVICE_NAME: "anvil-router",
        OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.addr.port}`,
        OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
        OTEL_BSP_SCHEDULE_DELAY: "100",
        OTEL_METRIC_EXPORT_INTERVAL: "60000",
      },
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    const stderr = new Response(router.stderr).text();
    try {
      await until("the router is ready", () => readyAt(admin), 30_000);
      const body = askBody({
        messages: [{ role: "user", content: PROMPT }],
        stream: true,
      });
      const traceparent = `00-${TRACE}-b7ad6b7169203331-01`;
      const asked = ask(`${CHAT}?key=${QUERY}`, body, { traceparent });
      const { bytes } = await exchange(data, asked);
      assert.match(parseResponse(bytes)?.text ?? "", /\[DONE\]/);
      await until("a span arrives", () => bodies.some((one) => one.includes(CHAT)), 15_000);
    } finally {
      router.kill("SIGTERM");
      await router.status;
    }
    bodies.push(await stderr);
    for (const secret of [TOKEN, PROMPT]) {
      assert.equal(bodies.some((one) => one.includes(secret)), false, secret);
    }
    assert.deepEqual(bodies.flatMap((one) => attributesWith(one, QUERY)), []);
    // What the client's own trace is called is kept: its collector joins the two.
    assert.deepEqual([...new Set(bodies.flatMap((one) => attributesWith(one, TRACE)))], ["?"]);
  } finally {
    await engine.close();
    await collector.shutdown();
  }
});

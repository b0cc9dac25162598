import assert from "node:assert/strict";
import { startEngine } from "../fixtures/engine.ts";
import { parseResponse } from "../fixtures/raw_client.ts";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { freePort } from "../support/free_port.ts";
import { RequestLoad } from "../support/request_load.ts";
import { furnish, RouterProcess } from "../support/router_process.ts";
import { ask, askBody, CHAT, StreamReader } from "../support/stream_reader.ts";
import { pause, until, within } from "../support/wait.ts";

const STREAMS = 200;
const REQUESTS_PER_SECOND = 100;
/** Tokens of one stream, and how many of them a second: they last for all of the restart. */
const TOKENS = 48;
const RATE = 4;

/** A second router takes over, the first one gets SIGTERM. What the clients saw. */
async function restart() {
  const engine = await startEngine({ rate: RATE });
  await using first = await tempDir();
  await using second = await tempDir();
  const data = freePort();
  const settings = (admin: number) => ({
    members: [engine.port],
    admission: { in_flight: 1024, queue: 64, queue_seconds: 5 },
    timeouts: { first_byte_seconds: 30, idle_seconds: 30 },
    limits: { drain_seconds: 60 },
    top: {
      listen: { data: `127.0.0.1:${data}`, admin: `127.0.0.1:${admin}`, reuse_port: true },
    },
  });
  await furnish(first.path, settings(freePort()));
  await furnish(second.path, settings(freePort()));
  try {
    await using old = await RouterProcess.start(first.path);
    const streams = await Promise.all(
      Array.from({ length: STREAMS }, async () => {
        const body = askBody({ stream: true, max_tokens: TOKENS });
        const reader = await StreamReader.open(data, ask(CHAT, body));
        await reader.readUntil("Anvil token 1");
        return reader;
      }),
    );
    const load = new RequestLoad(data, REQUESTS_PER_SECOND);
    await until("requests flow", () => load.answered > 50, 20_000);
    await using next = await RouterProcess.start(second.path);
    await pause(500);
    old.kill("SIGTERM");
    await until("the old one says that it drains", async () => await old.readyz() !== 200);
    assert.equal(await next.readyz(), 200);
    const wholes = await Promise.all(streams.map(async (reader) => {
      const { bytes } = await reader.rest();
      reader.close();
      const response = parseResponse(bytes);
      return response?.whole === true && response.text.includes(` ${TOKENS}"`) &&
        response.text.endsWith("data: [DONE]\n\n");
    }));
    const ended = await old.finished;
    await pause(500);
    const result = await load.stop();
    return {
      ended,
      cut: wholes.filter((whole) => !whole).length,
      decisions: (await old.decisionText()).trimEnd().split("\n").length,
      decisionsOfNext: await decided(next),
      ...result,
    };
  } finally {
    await engine.close();
  }
}

async function decided(router: RouterProcess): Promise<number> {
  router.kill("SIGTERM");
  await router.finished;
  return (await router.decisionText()).trimEnd().split("\n").length;
}

Deno.test({
  name: `restart under ${STREAMS} open streams and ${REQUESTS_PER_SECOND} requests/s: none is lost`,
  ignore: Deno.build.os !== "linux", // elsewhere SO_REUSEPORT does not spread connections
  async fn() {
    const seen = await within("the restart", restart(), 90_000);
    console.log(
      `  ${STREAMS} streams, ${seen.answered} requests: ${seen.failures.length} failed, ` +
        `${seen.cut} streams cut; old ${seen.decisions}, new ${seen.decisionsOfNext} decisions`,
    );
    assert.deepEqual(seen.failures, []);
    assert.equal(seen.cut, 0);
    assert.equal(seen.ended.code, 0);
    assert.ok(seen.decisionsOfNext > 100, "the new router took requests");
    // Each request is in exactly one record.
    assert.equal(seen.decisions + seen.decisionsOfNext, STREAMS + seen.answered);
  },
});

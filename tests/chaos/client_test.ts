import assert from "node:assert/strict";
import { type EngineOptions, startEngine } from "../fixtures/engine.ts";
import { freePort } from "../support/free_port.ts";
import { ask, type Wish } from "./client.ts";

const WORDS = { token: "t", prompt: "p", header: "h" };
const WISH: Wish = {
  ...{ marker: "m-1", host: "gpu-a", alias: "llm.primary", dialect: "openai", stream: true },
  ...{ tokens: 6, leavesAfter: null },
};

/** What the client says of an engine with a fault. */
async function seen(fault: string | null, more: Partial<Wish> = {}, options: EngineOptions = {}) {
  const markers: string[] = [];
  const engine = await startEngine({
    models: ["llm.primary"],
    witness: (head, when) =>
      void markers.push(`${when} ${head.headers.find(([key]) => key === "x-chaos-marker")?.[1]}`),
    ...options,
  });
  engine.setFault(fault);
  try {
    const at = { hostname: "127.0.0.1", port: engine.port };
    return { ...await ask(at, { ...WISH, ...more }, WORDS), markers };
  } finally {
    await engine.close();
  }
}

Deno.test("client: a whole answer, in both dialects, streamed and not", async () => {
  for (const dialect of ["openai", "anthropic"] as const) {
    for (const stream of [true, false]) {
      const { end, terminator, complete, status, markers } = await seen(null, { dialect, stream });
      assert.deepEqual([end, terminator, complete, status], ["whole", true, true, 200], dialect);
      assert.deepEqual(markers, ["came m-1", "sent_whole m-1"]);
    }
  }
});

Deno.test("client: an end that lies is told from one that does not", async () => {
  const untrue = await seen("no-terminator");
  assert.deepEqual([untrue.end, untrue.terminator], ["untrue", false]);
  assert.equal((await seen("half-event;event=3;end=clean")).end, "untrue");
  assert.equal((await seen("half-event;event=3")).end, "cut");
  assert.equal((await seen("reset-at;byte=400")).end, "cut");
  const refused = await seen("500");
  assert.deepEqual([refused.end, refused.status], ["refused", 500]);
});

Deno.test("client: who leaves is not cut, and who finds nobody says so", async () => {
  const left = await seen(null, { leavesAfter: 60, tokens: 50 }, { rate: 20 });
  assert.deepEqual([left.end, left.terminator], ["left", false]);
  const at = { hostname: "127.0.0.1", port: freePort() };
  assert.equal((await ask(at, WISH, WORDS)).end, "unreachable");
});

import assert from "node:assert/strict";
import { type EngineOptions, startEngine } from "../fixtures/engine.ts";
import { freePort } from "../support/free_port.ts";
import { ask, type Wish } from "./client.ts";
import { askByLibrary } from "./sdk_client.ts";

const WORDS = { token: "t", prompt: "p", header: "h" };
const WISH: Wish = {
  ...{ marker: "m-1", host: "gpu-a", alias: "llm.primary", dialect: "openai", stream: true },
  ...{ tokens: 6, leavesAfter: null, fault: null },
};

/** What a client says of an engine with a fault. */
async function seen(
  fault: string | null,
  more: Partial<Wish> = {},
  options: EngineOptions = {},
  by = ask,
) {
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
    return { ...await by(at, { ...WISH, ...more }, WORDS), markers };
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

Deno.test("library client: a whole answer, in both dialects, streamed and not", async () => {
  for (const dialect of ["openai", "anthropic"] as const) {
    for (const stream of [true, false]) {
      const told = await seen(null, { dialect, stream }, {}, askByLibrary);
      const { end, terminator, complete, status, markers } = told;
      assert.deepEqual([end, terminator, complete, status], ["whole", true, true, 200], dialect);
      assert.deepEqual(markers, ["came m-1", "sent_whole m-1"]);
    }
  }
});

Deno.test("library client: what broke is told apart, and nothing is sent twice", async () => {
  for (const dialect of ["openai", "anthropic"] as const) {
    const says = async (fault: string) => {
      const { end, status, markers } = await seen(fault, { dialect }, {}, askByLibrary);
      assert.equal(markers.filter((line) => line.startsWith("came")).length, 1, fault);
      return [end, status];
    };
    assert.deepEqual(await says("half-event;event=3"), ["cut", null]);
    assert.deepEqual(await says("reset-at;byte=400"), ["cut", null]);
    assert.deepEqual(await says("reset-at;byte=0"), ["cut", null]);
    assert.deepEqual(await says("500"), ["refused", 500]);
    const left = await seen(
      null,
      { dialect, leavesAfter: 60, tokens: 50 },
      { rate: 20 },
      askByLibrary,
    );
    assert.deepEqual([left.end, left.terminator], ["left", false]);
    const at = { hostname: "127.0.0.1", port: freePort() };
    assert.equal((await askByLibrary(at, { ...WISH, dialect }, WORDS)).end, "unreachable");
  }
  const untrue = await seen("half-event;event=3;end=clean", {}, {}, askByLibrary);
  assert.deepEqual([untrue.end, untrue.terminator], ["untrue", false]);
});

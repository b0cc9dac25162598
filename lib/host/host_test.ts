import assert from "node:assert/strict";
import { clockConformance } from "../testing/clock_conformance.ts";
import { readBodyBounded } from "./body.ts";
import { systemClock } from "./clock.ts";
import { constantTimeEqual, sha256 } from "./digest.ts";
import { systemRandom } from "./random.ts";
import { onStopSignal } from "./signals.ts";

clockConformance("real", () => ({ clock: systemClock, pass: (ms) => systemClock.sleep(ms) }));

Deno.test("digest: the known answer, and equality of any two lengths", () => {
  const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  assert.equal(sha256("abc").toHex(), abc);
  assert.equal(sha256(new TextEncoder().encode("abc")).toHex(), abc);
  assert.ok(constantTimeEqual("ü", new TextEncoder().encode("ü")));
  for (const [left, right] of [["a", "b"], ["a", "aa"], ["", "a"]] as const) {
    assert.equal(constantTimeEqual(left, right), false);
  }
});

Deno.test("random: as many bytes as asked, not the same twice", () => {
  const first = systemRandom(32);
  assert.equal(first.length, 32);
  assert.notDeepEqual(first, systemRandom(32));
});

Deno.test({
  name: "signals: SIGTERM and SIGINT reach the handler until it is taken back",
  ignore: Deno.build.os === "windows", // kill terminates there, it never asks
  fn: async () => {
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "--no-config",
        "-A",
        new URL("../testing/signal_child.ts", import.meta.url).href,
      ],
      stdout: "piped",
    }).spawn();
    const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    assert.equal((await lines.read()).value, "ready\n");
    child.kill("SIGINT");
    assert.equal((await lines.read()).value, "SIGINT\n");
    child.kill("SIGTERM");
    assert.equal((await lines.read()).value, "SIGTERM\n");
    child.kill("SIGTERM"); // taken back: the operating system's default
    assert.equal((await child.status).signal, "SIGTERM");
    await lines.cancel();
  },
});

function request(chunks: readonly string[], headers: Record<string, string> = {}): Request {
  const body = ReadableStream.from(chunks.map((chunk) => new TextEncoder().encode(chunk)));
  return new Request("http://127.0.0.1/", { method: "POST", body, headers });
}

Deno.test("body: whole, too large by header, too large by content, none", async () => {
  const whole = await readBodyBounded(request(["ab", "c"]), 3);
  assert.ok(whole.kind === "ok" && new TextDecoder().decode(whole.bytes) === "abc");
  assert.equal((await readBodyBounded(request(["ab", "cd"]), 3)).kind, "refused");
  const said = await readBodyBounded(request(["a"], { "content-length": "4" }), 3);
  assert.equal(said.kind, "refused");
  const none = await readBodyBounded(new Request("http://127.0.0.1/"), 3);
  assert.ok(none.kind === "ok" && none.bytes.length === 0);
});

Deno.test("body: an abort or a broken stream is broken", async () => {
  const stalled = new Request("http://127.0.0.1/", { method: "POST", body: new ReadableStream() });
  const controller = new AbortController();
  const read = readBodyBounded(stalled, 3, controller.signal);
  controller.abort();
  assert.equal((await read).kind, "broken");
  const body = new ReadableStream({ pull: () => Promise.reject(new Error("gone")) });
  const gone = new Request("http://127.0.0.1/", { method: "POST", body });
  assert.equal((await readBodyBounded(gone, 3)).kind, "broken");
});

Deno.test("signals: taking back twice is fine", () => {
  const dispose = onStopSignal(() => {});
  dispose();
  dispose();
});

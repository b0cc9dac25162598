import assert from "node:assert/strict";
import { FakeClock } from "../../lib/testing/fake_clock.ts";
import { dockerServe, nativeServe } from "../../tests/fixtures/serves.ts";
import { Stillness, type Through, touchedBy } from "./stillness.ts";

const CHAT: Through = { kind: "member", serve: "chat", tier: "primary" };

function measuring(stillness: Stillness, through = CHAT) {
  const claim = stillness.measure(through);
  assert.ok(claim.kind === "measured", JSON.stringify(claim));
  claim.id = "bench-000001";
  return claim;
}

Deno.test("stillness: of a change and a benchmark that begin in one turn, the change is alone", async () => {
  const stillness = new Stillness(new FakeClock());
  const disturbing = stillness.disturb("enter studio");
  const late = stillness.measure(CHAT);
  assert.ok(late.kind === "refused" && late.code === "host_busy");
  assert.match(late.detail, /enter studio/);
  const alone = await disturbing;
  assert.ok(alone.kind === "alone" && alone.ended === null);
  assert.equal(stillness.measure(CHAT).kind, "refused", "and for as long as it takes");
  alone[Symbol.dispose]();
  measuring(stillness)[Symbol.dispose]();
});

Deno.test("stillness: a change waits until the benchmark it ends is over, and lets none begin", async () => {
  const stillness = new Stillness(new FakeClock());
  const claim = measuring(stillness);
  assert.equal(stillness.inTheWay(null), "bench-000001");
  let alone = false;
  const disturbing = stillness.disturb("enter studio").then((one) => {
    alone = true;
    return one;
  });
  await Promise.resolve();
  assert.deepEqual([claim.signal.aborted, claim.signal.reason, alone], [
    true,
    "enter studio",
    false,
  ]);
  claim[Symbol.dispose]();
  assert.equal(stillness.measure(CHAT).kind, "refused", "the gap between the two is closed");
  const one = await disturbing;
  assert.ok(one.kind === "alone" && one.ended === "bench-000001");
  one[Symbol.dispose]();
  assert.equal(stillness.refusal(CHAT), null);
});

Deno.test("stillness: a benchmark that does not end keeps the change out, and nothing else after it", async () => {
  const clock = new FakeClock();
  const stillness = new Stillness(clock);
  const claim = measuring(stillness);
  const disturbing = stillness.disturb("enter studio");
  await clock.advance(15_000);
  const no = await disturbing;
  assert.ok(no.kind === "refused" && no.code === "benchmark_not_over");
  assert.match(no.detail, /bench-000001/);
  claim[Symbol.dispose]();
  measuring(stillness)[Symbol.dispose]();
});

Deno.test("stillness: one at a time, and what is not touched goes on", async () => {
  const stillness = new Stillness(new FakeClock());
  using claim = measuring(stillness);
  const second = stillness.measure({ ...CHAT, serve: "other" });
  assert.ok(second.kind === "refused" && second.code === "benchmark_busy");
  const other = await stillness.disturb("start embed", ({ tier }) => tier === "embed");
  assert.ok(other.kind === "alone" && other.ended === null);
  assert.equal(claim.signal.aborted, false);
  assert.equal(stillness.refusal(CHAT), null);
  assert.notEqual(stillness.refusal({ kind: "member", serve: "embed", tier: "embed" }), null);
  other[Symbol.dispose]();
});

Deno.test("stillness: a serve touches itself, its tier and what shares a device with it", () => {
  const on = (name: string, device: string) =>
    dockerServe({ name, tier: name, memory: { device, mib: 1000 } });
  const split = dockerServe({ name: "split", memory: { devices: ["gpu-1", "gpu-2"], mib: 1000 } });
  const [one, two, three] = [on("one", "gpu-0"), on("two", "gpu-0"), on("three", "gpu-1")];
  const serves = [one, two, three, split];
  const member = (serve: string): Through => ({ kind: "member", serve, tier: serve });
  const touched = (serve: string, by: typeof one) => touchedBy(by, serves)?.(member(serve));
  assert.deepEqual(
    [touched("one", one), touched("one", two), touched("one", three), touched("three", split)],
    [true, true, false, true],
  );
  const alias = (tier: string): Through => ({
    ...{ kind: "router", alias: "llm", tier, router_config: "a".repeat(64) },
  });
  assert.deepEqual(
    [touchedBy(two, serves)?.(alias("one")), touchedBy(three, serves)?.(alias("one"))],
    [true, false],
  );
  assert.equal(touched("of-agent-toml", three), true, "it may be on any device");
  const [a, b] = [nativeServe({ name: "a" }), nativeServe({ name: "b" })];
  assert.equal(touchedBy(a, [a, b])?.(member("b")), true, "unified memory is one");
});

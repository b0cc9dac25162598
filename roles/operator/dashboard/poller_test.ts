import assert from "node:assert/strict";
import { FakeClock } from "../../../lib/testing/fake_clock.ts";
import { paceOf, Poller } from "./poller.ts";

const PACE = { atOnce: 2, periodMs: 5000 };

/** A poller whose looks take no time, and what it did. */
function rig(hosts: readonly string[], answers: (host: string) => boolean = () => true) {
  const clock = new FakeClock();
  const looks: { host: string; slow: boolean; at: number }[] = [];
  const poller = new Poller(
    {
      clock,
      chance: () => 0.5,
      look: (host, slow) => {
        looks.push({ host, slow, at: clock.monotonic() });
        return Promise.resolve(answers(host));
      },
    },
    hosts,
    PACE,
  );
  const over = new AbortController();
  const running = poller.run(over.signal);
  const stop = async () => {
    over.abort();
    await running;
    assert.equal(clock.sleeping, 0, "a sleeper is left");
  };
  return { clock, looks, poller, stop };
}

Deno.test("poller: every host at once, then each in its period; every fourth look is slow", async () => {
  const { clock, looks, poller, stop } = rig(["a", "b", "c"]);
  const left = poller.read();
  await clock.advance(0);
  assert.deepEqual(looks.map(({ host, slow }) => [host, slow]), [
    ["a", true],
    ["b", true],
    ["c", true],
  ]);
  await clock.advance(20_000);
  const ofA = looks.filter(({ host }) => host === "a");
  assert.deepEqual(ofA.map(({ at, slow }) => [at, slow]), [
    [0, true],
    [5000, false],
    [10_000, false],
    [15_000, false],
    [20_000, true],
  ]);
  left();
  await stop();
});

Deno.test("poller: no more than so many at once, and one look at a host at a time", async () => {
  const clock = new FakeClock();
  let now = 0;
  let most = 0;
  const poller = new Poller(
    {
      clock,
      chance: () => 0.5,
      look: async () => {
        most = Math.max(most, ++now);
        await clock.sleep(1000);
        now--;
        return true;
      },
    },
    ["a", "b", "c", "d", "e"],
    PACE,
  );
  const over = new AbortController();
  const running = poller.run(over.signal);
  const left = poller.read();
  await clock.advance(60_000);
  assert.equal(most, PACE.atOnce);
  assert.ok(poller.looking <= PACE.atOnce);
  left();
  over.abort();
  await clock.advance(1000);
  await running;
  assert.equal(poller.looking, 0, "what was begun is waited for");
});

Deno.test("poller: a host that fails is looked at less often, and slowly once it is back", async () => {
  let up = false;
  const { clock, looks, poller, stop } = rig(["a"], () => up);
  const left = poller.read();
  await clock.advance(200_000);
  assert.deepEqual(looks.map(({ at }) => at).slice(0, 6), [
    0,
    10_000,
    30_000,
    70_000,
    110_000,
    150_000,
  ]);
  up = true;
  await clock.advance(40_000);
  // Everything is asked again, and it has its period back.
  assert.deepEqual(looks.slice(-3).map(({ at }) => at), [230_000, 235_000, 240_000]);
  assert.equal(looks.at(-3)?.slow, true);
  left();
  await stop();
});

Deno.test("poller: nobody is asked while nobody reads, beyond one slow beat; a reader wakes all", async () => {
  const { clock, looks, poller, stop } = rig(["a", "b"]);
  await clock.advance(poller.lingerMs + 5000);
  assert.ok(poller.paused);
  const asked = looks.length;
  await clock.advance(24 * 3_600_000);
  assert.equal(looks.length, asked, "somebody was asked for nobody");
  const left = poller.read();
  await clock.advance(0);
  assert.equal(looks.length, asked + 2, "not everybody was asked at once");
  assert.ok(looks.slice(-2).every(({ slow }) => slow));
  left();
  left(); // once is enough
  const again = poller.read();
  assert.ok(!poller.paused);
  again();
  await stop();
});

Deno.test("poller: other hosts, and their pace", async () => {
  const { clock, looks, poller, stop } = rig(["a", "b"]);
  const left = poller.read();
  await clock.advance(0);
  poller.retarget(["b", "c"], PACE);
  await clock.advance(5000);
  assert.deepEqual(looks.map(({ host }) => host), ["a", "b", "c", "b", "c"]);
  assert.equal(poller.hosts, 2);
  left();
  await stop();
});

Deno.test("pace: a small fleet is looked at every five seconds, a thousand hosts every thirty", () => {
  assert.deepEqual([paceOf(1).periodMs, paceOf(1000).periodMs], [5000, 30_000]);
});

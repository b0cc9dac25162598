import assert from "node:assert/strict";
import { InstantClock } from "../../../lib/testing/instant_clock.ts";
import {
  exampleWatch,
  type Story,
  take,
  unaskedWatch,
} from "../../../tests/fixtures/dashboard_fleet.ts";
import { FleetWatch, MOST_EVENTS, TREND_LENGTH } from "./fleet_watch.ts";
import { MOST_MARKS } from "./marks.ts";
import { paceOf, Poller } from "./poller.ts";

const DAY_MS = 86_400_000;
/** Less often than a thousand hosts are looked at: a day has looks enough to fill whatever is bounded. */
const PERIOD_MS = 7_200_000;

/** A look that finds something else than the one before: what would grow, grows. */
function story(host: string, look: number, now: number): Story {
  const offered = { rev: `r${look}`, at: new Date(now).toISOString() };
  const router = { inFlight: look % 50, p95: look % 500, ready: look % 3 > 0 };
  return { host, router, adoption: { offered } };
}

/** What is bounded of each host, and of all. */
function assertBounded(watch: FleetWatch): void {
  assert.ok(watch.events.length <= MOST_EVENTS);
  for (const { host, marks, router } of watch.views) {
    assert.ok(marks.length <= MOST_MARKS);
    assert.ok(router.kind === "told" && router.tiers.length === 1);
    const trend = watch.trendOf(host);
    assert.ok(trend !== null);
    assert.ok(trend.inFlight.held <= TREND_LENGTH && trend.latency.held <= TREND_LENGTH);
  }
}

Deno.test("watch: a day of a thousand hosts holds what an hour of them does", async () => {
  const clock = new InstantClock();
  const watch = unaskedWatch(1000, clock.now());
  const hosts = watch.watched.hosts.map(({ host }) => host);
  const over = new AbortController();
  const end = clock.now() + DAY_MS;
  let looks = 0;
  let most = 0;
  const poller: Poller = new Poller(
    {
      clock,
      chance: () => looks % 7 / 7,
      look: (host) => {
        const now = clock.now();
        if (now >= end) over.abort();
        most = Math.max(most, poller.looking);
        take(watch, [story(host, looks++, now)], now, looks % 4 === 0);
        return Promise.resolve(true);
      },
    },
    hosts,
    { atOnce: 32, periodMs: PERIOD_MS },
  );
  const left = poller.read();
  await poller.run(over.signal);
  left();
  assert.ok(looks > 1000 * DAY_MS / PERIOD_MS * 0.9, `${looks} looks are no day`);
  assert.ok(most <= poller.pace.atOnce);
  assert.deepEqual([poller.hosts, watch.views.length], [1000, 1000]);
  assert.equal(watch.events.length, MOST_EVENTS);
  assertBounded(watch);
});

Deno.test("watch: every look of a day at one host of a thousand stays within its bounds", () => {
  const watch = unaskedWatch(1, 0);
  const [host = ""] = watch.watched.hosts.map(({ host }) => host);
  const { periodMs } = paceOf(1000);
  for (let look = 0; look < DAY_MS / periodMs; look++) {
    take(watch, [story(host, look, look * periodMs)], look * periodMs);
  }
  assertBounded(watch);
  assert.equal(watch.viewOf(host)?.marks.length, MOST_MARKS);
  assert.equal(watch.trendOf(host)?.inFlight.held, TREND_LENGTH);
});

Deno.test("watch: another topology keeps what is known, and drops who is gone", () => {
  const watch = exampleWatch(Date.now());
  const { watched } = watch;
  const hosts = [...watched.hosts.slice(1), { ...watched.hosts[0], host: "fresh-one" }];
  let told = 0;
  const ignore = watch.listen(() => told++);
  watch.rewatch({ ...watched, hosts: hosts as typeof watched.hosts }, new Map(), 1);
  assert.equal(told, 0, "the same fingerprint is the same topology");
  const fingerprint = "7".repeat(64);
  watch.rewatch({ ...watched, fingerprint, hosts: hosts as typeof watched.hosts }, new Map(), 1);
  assert.equal(told, 1);
  assert.equal(watch.viewOf("gateway"), null);
  assert.equal(watch.trendOf("gateway"), null);
  assert.equal(watch.viewOf("gpu-a")?.look?.kind, "done");
  assert.equal(watch.viewOf("fresh-one")?.look, null);
  assert.match(watch.events.at(-1)?.text ?? "", /^the topology is /);
  ignore();
  watch.lost("home_empty", 2);
  watch.lost("home_empty", 3);
  assert.equal(watch.problem, "home_empty");
  assert.equal(watch.events.filter(({ text }) => text.includes("home_empty")).length, 1);
  watch.rewatch({ ...watched, fingerprint, hosts: hosts as typeof watched.hosts }, new Map(), 4);
  assert.equal(watch.problem, null);
  assert.equal(told, 1, "nobody listens any more");
});

Deno.test("watch: a fresh process knows nothing but what was seen, and says it as such", () => {
  const { watched } = exampleWatch(Date.now());
  const at = "2026-01-01T00:00:00.000Z";
  const sighting = { at, version: "0.1.0", build_digest: null, started_at: at };
  const watch = new FleetWatch("00", watched, new Map([["gpu-a", sighting]]), 0);
  const view = watch.viewOf("gpu-a");
  assert.deepEqual([view?.look, view?.sighting?.version, view?.told], [null, "0.1.0", null]);
  assert.equal(watch.events.length, 0);
});

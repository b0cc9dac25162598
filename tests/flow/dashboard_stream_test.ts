import assert from "node:assert/strict";
import { FakeClock } from "../../lib/testing/fake_clock.ts";
import { exampleWatch, largeStories, take, unaskedWatch } from "../fixtures/dashboard_fleet.ts";
import { servePage } from "../support/dashboard_page.ts";

/** More than both sides of a connection keep of what nobody reads, in updates of some kilobytes each. */
const UPDATES = 5000;

Deno.test("dashboard: a browser that does not read on is cut off, and another one is not", async () => {
  const clock = new FakeClock();
  const watch = unaskedWatch(25, clock.now());
  const ids = watch.watched.hosts.map(({ host }) => host);
  take(watch, largeStories(ids, 0), clock.now());
  await using served = servePage(watch, 0, clock);
  const reads = await fetch(`${served.url}updates?since=x`);
  const reader = reads.body?.getReader();
  await reader?.read();
  const conn = await Deno.connect({ hostname: "127.0.0.1", port: served.port });
  await conn.write(new TextEncoder().encode(
    `GET /updates?since=x HTTP/1.1\r\nhost: 127.0.0.1:${served.port}\r\n\r\n`,
  ));
  const begun = new Uint8Array(1);
  await conn.read(begun);
  assert.equal(served.updates.readers, 2);
  let sent = 0;
  for (; sent < UPDATES && served.updates.readers === 2; sent++) {
    // Every row in every update, a second each: a stall is over its time soon.
    take(watch, largeStories(ids, sent + 1), clock.now());
    const reading = reader?.read();
    await clock.advance(1000);
    assert.equal((await reading)?.done, false);
  }
  assert.equal(served.updates.readers, 1, `${sent} updates, and nobody was cut off`);
  // The connection is closed from there: what was on its way comes, then the end.
  const chunk = new Uint8Array(256 * 1024);
  let got = 0;
  try {
    for (let count = await conn.read(chunk); count !== null; count = await conn.read(chunk)) {
      got += count;
    }
  } catch (error) {
    assert.ok(error instanceof Deno.errors.ConnectionReset, String(error));
  }
  assert.ok(got > 0);
  conn.close();
  await reader?.cancel();
  assert.deepEqual(served.troubles, []);
});

Deno.test("dashboard: so many readers over HTTP, and a page of another origin is none", async () => {
  const clock = new FakeClock();
  await using served = servePage(exampleWatch(clock.now()), 0, clock);
  const url = `${served.url}updates?since=x`;
  const foreign = await fetch(url, { headers: { "sec-fetch-site": "cross-site" } });
  await foreign.body?.cancel();
  assert.equal(foreign.status, 403);
  const streams = [];
  for (let at = 0; at < 16; at++) streams.push(await fetch(url));
  const more = await fetch(url);
  assert.deepEqual([more.status, more.headers.get("retry-after")], [503, "5"]);
  await more.body?.cancel();
  for (const { body } of streams) await body?.cancel();
});

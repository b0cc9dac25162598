// needs: docker dockerd debootstrap git ssh-keygen tar nsenter mount ip curl
/**
 * A fleet of five hosts comes up by its own bootstrap, some of the tour is walked on it, and nothing
 * of it is left. `make fleet-tour` walks the whole.
 *
 * @module
 */

import assert from "node:assert/strict";
import { missingFor } from "../../scripts/needs.ts";
import { downFleet } from "../fleet/down.ts";
import { openFleet } from "../fleet/open.ts";
import { tour } from "../fleet/tour/guide.ts";
import { STATIONS } from "../fleet/tour/stations.ts";
import { upFleet } from "../fleet/up.ts";

const ignore = Deno.build.os !== "linux" || Deno.build.arch !== "x86_64" || Deno.uid() !== 0 ||
  missingFor(import.meta.url).length > 0;

/** Parts of titles. The rest takes minutes, and is held by tests of its own. */
const WALKED = [
  ...["described", "at one look", "streamed", "another model", "power", "edits a file"],
  "on record",
];

Deno.test({
  name: "fleet: five hosts in containers, by our own bootstrap; a short tour; nothing is left",
  ignore,
  // Its engine is meant to outlive who started it.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async (t) => {
    const folder = await Deno.makeTempDir({ dir: "/var/tmp", prefix: "anvil-fleet-" });
    const lines: string[] = [];
    const print = (line: string) => void lines.push(line);
    try {
      const fleet = await upFleet(folder, print).catch((error: Error) => {
        throw new Error(`${error.message}\n${lines.join("\n")}`);
      });
      await t.step("it is found again, with every token readable by its owner alone", async () => {
        const found = await openFleet(folder);
        assert.equal(found?.hosts["gpu-a"].address, fleet.hosts["gpu-a"].address);
        for (const { tokens } of Object.values(fleet.hosts)) {
          for (const file of [tokens.operator, tokens.client]) {
            if (file !== null) assert.equal(((await Deno.stat(file)).mode ?? 0) & 0o777, 0o600);
          }
        }
      });
      const stations = STATIONS.filter(({ title }) => WALKED.some((part) => title.includes(part)));
      assert.equal(stations.length, WALKED.length + 1); // two are of "another model"
      await t.step("a short tour", async () => {
        assert.equal(await tour(fleet, stations, print), 0, lines.join("\n"));
      });
    } finally {
      await downFleet(folder);
    }
    assert.equal(await openFleet(folder), null);
    const mounts = await Deno.readTextFile("/proc/self/mounts");
    assert.ok(!mounts.includes(folder), "something is still mounted there");
  },
});

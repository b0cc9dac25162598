/**
 * `make fleet`, `make fleet-tour`, `make fleet-down`: a whole fleet in containers on this machine.
 * What it does is in tests/fleet.
 *
 * @module
 */

import { downFleet } from "../tests/fleet/down.ts";
import { FLEET_FOLDER, openFleet } from "../tests/fleet/open.ts";
import { HOST_IDS } from "../tests/fleet/rig.ts";
import { tour } from "../tests/fleet/tour/guide.ts";
import { STATIONS } from "../tests/fleet/tour/stations.ts";
import { upFleet } from "../tests/fleet/up.ts";

const began = performance.now();
const tell = (line: string) =>
  console.log(`${`${((performance.now() - began) / 1000).toFixed(0)} s`.padStart(6)}  ${line}`);

async function up(): Promise<number> {
  const there = await openFleet();
  if (there !== null) {
    console.log(`a fleet is up since ${there.upSince}: make fleet-tour, or make fleet-down`);
    return 0;
  }
  const fleet = await upFleet(FLEET_FOLDER, tell);
  tell("up");
  for (const id of HOST_IDS) {
    const { address, router } = fleet.hosts[id];
    console.log(`        ${id.padEnd(8)} ${address}  ${router?.data ?? ""}`);
  }
  console.log("next: make fleet-tour; and when you have seen it, make fleet-down");
  return 0;
}

/** `tour [PART…]`: the stations whose title has one of the parts; without any, all of them. */
async function walk(parts: readonly string[]): Promise<number> {
  const fleet = await openFleet();
  if (fleet === null) {
    console.error("no fleet is up: make fleet");
    return 1;
  }
  const chosen = STATIONS.filter(({ title }) =>
    parts.length === 0 || parts.some((part) => title.includes(part))
  );
  return await tour(fleet, chosen) === 0 ? 0 : 1;
}

const [verb = "", ...rest] = Deno.args;
if (verb === "tour") Deno.exit(await walk(rest));
if (verb === "up") Deno.exit(await up());
if (verb === "down") {
  console.log(await downFleet(FLEET_FOLDER) ? "the fleet is gone" : "there is no fleet");
  Deno.exit(0);
}
console.error("usage: fleet.ts up | tour [PART…] | down");
Deno.exit(2);

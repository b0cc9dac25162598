// needs: dockerd docker busybox debootstrap ss ps tar
import assert from "node:assert/strict";
import { missingFor } from "../../scripts/needs.ts";
import {
  type CheckEnd,
  CHECKS,
  conformanceTable,
  driverConformance,
} from "../../lib/testing/driver_conformance.ts";
import { DockerRig } from "../support/docker_rig.ts";
import { dockerWorld, simulatedWorld, systemdWorld } from "../support/driver_worlds.ts";
import { SystemdRig } from "../support/systemd_rig.ts";

const missing = missingFor(import.meta.url);

Deno.test({
  name: "real, drivers: one contract for docker and systemd, on the real ones",
  ignore: missing.length > 0 || Deno.build.os !== "linux" || Deno.uid() !== 0,
  async fn(t) {
    const rig = await DockerRig.start();
    if (typeof rig === "string") return console.warn(`skipped: ${rig}`);
    await using _rig = rig;
    const ends: CheckEnd[] = [...await driverConformance(t, simulatedWorld())];
    ends.push(...await driverConformance(t, dockerWorld(rig)));
    const system = await SystemdRig.start(rig);
    if (typeof system === "string") console.warn(`skipped: ${system}`);
    else {
      await using _system = system;
      ends.push(...await driverConformance(t, systemdWorld(system, "system")));
      ends.push(...await driverConformance(t, systemdWorld(system, "user")));
    }
    console.log(conformanceTable(ends));
    const real = ends.filter((end) => end.source === "real" && end.notMade === null);
    assert.ok(real.length >= CHECKS.length - 1, "hardly anything was run for real");
  },
});

/**
 * Finds the fleet that is up.
 *
 * @module
 */

import { containers, type FleetState } from "./containers.ts";
import { daemonPid } from "./daemon.ts";
import type { FleetRig } from "./rig.ts";

/** In the fleet's folder. */
export const STATE_FILE = "fleet.json";

/** Where `make fleet` makes one, below the clone. */
export const FLEET_FOLDER = new URL("../../.fleet", import.meta.url).pathname;

/** What is remembered in `folder`; null when nothing is. */
export async function readState(folder: string): Promise<FleetState | null> {
  const text = await Deno.readTextFile(`${folder}/${STATE_FILE}`).catch(() => null);
  return text === null ? null : JSON.parse(text) as FleetState;
}

/** The fleet that is up in `folder`, with the time it came up; null when none is, whole. */
export async function openFleet(
  folder: string = FLEET_FOLDER,
): Promise<(FleetRig & { readonly upSince: string }) | null> {
  const state = await readState(folder);
  if (state === null || state.upSince === null) return null;
  if (await daemonPid(state.daemon) === null) return null;
  return { ...containers(state), upSince: state.upSince };
}

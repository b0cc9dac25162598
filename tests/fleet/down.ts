/**
 * Takes a fleet away: hosts, network, engine, mounts and folder. Nothing else of this machine is
 * touched: the engine is ended by its process id, and only when that process is ours.
 *
 * @module
 */

import { stopDaemon, unmountBelow } from "./daemon.ts";
import { readState } from "./open.ts";
import { must } from "./program.ts";

/** Removes what is in `folder`, whole or half made. True when there was something. */
export async function downFleet(folder: string): Promise<boolean> {
  const state = await readState(folder);
  if (state !== null) await stopDaemon(state.daemon);
  const there = await Deno.stat(folder).then(() => true, () => false);
  if (!there) return false;
  await unmountBelow(folder);
  await must(["rm", "-rf", "--one-file-system", "--", folder]);
  return true;
}

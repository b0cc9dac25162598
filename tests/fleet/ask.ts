/**
 * What the operator says on the gateway, where it has to end well.
 *
 * @module
 */

import type { FleetRig } from "./rig.ts";

/** The output of `anvil-operator ARGV`; throws when it does not end with 0. */
export async function ask(
  fleet: FleetRig,
  argv: readonly string[],
  cwd = "/root",
): Promise<string> {
  const where = argv[0] === "topology" || argv[0] === "home" ? "/root/fleet" : cwd;
  const { code, out, err } = await fleet.operator(argv, { cwd: where, deadlineMs: 300_000 });
  if (code === 0) return out;
  throw new Error(`anvil-operator ${argv.slice(0, 3).join(" ")}: exit ${code}: ${out}${err}`);
}

/**
 * Giving up permissions that this process will not need again, whatever it was started with.
 *
 * @module
 */

/**
 * From now on this process writes no file, and starts no program, or only those it was allowed to
 * start besides `without`. Not to be undone. Where every program was allowed, one cannot be taken out.
 */
export async function narrowToReading(without: readonly string[] | "all"): Promise<void> {
  await Deno.permissions.revoke({ name: "write" });
  if (without === "all") await Deno.permissions.revoke({ name: "run" });
  else for (const command of without) await Deno.permissions.revoke({ name: "run", command });
}

/**
 * Groups of processes, by which the agent tells whose a process is.
 *
 * @module
 */

/** Where groups of processes may be made that `ps` shows. */
export async function cgroupRoot(): Promise<string> {
  const v1 = "/sys/fs/cgroup/systemd";
  return await Deno.stat(v1).then(() => v1, () => "/sys/fs/cgroup");
}

/** Removes a group and those below it, once no process is in them. */
export async function removeGroups(path: string): Promise<void> {
  for (const { name, isDirectory } of await Array.fromAsync(Deno.readDir(path)).catch(() => [])) {
    if (isDirectory) await removeGroups(`${path}/${name}`);
  }
  await Deno.remove(path).catch(() => {});
}

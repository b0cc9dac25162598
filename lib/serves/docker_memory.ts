/**
 * Memory and processes of containers, ours and others', as the engine tells them.
 *
 * @module
 */

import { type ContainerFact, readContainer } from "./container_facts.ts";
import type { DockerEngine } from "./docker_engine.ts";
import type { Occupancy, Occupant } from "./driver.ts";
import type { Serve } from "./manifest_shape.ts";
import { notUnderstood, type Seen } from "./os_facts.ts";
import { listAt, tableAt, tableOf, textAt, wholeAt } from "./written.ts";

/** Pids on the host of the processes in a container. */
export async function pidsOf(
  engine: DockerEngine,
  id: string,
  signal: AbortSignal,
): Promise<Seen<readonly number[]>> {
  const answer = await engine.json(`/containers/${id}/top?ps_args=-eo%20pid`, signal);
  if (answer.kind === "unknown") return answer;
  const titles = listAt(tableOf(answer.value), "Titles");
  const column = titles.indexOf("PID");
  if (answer.status !== 200 || column === -1) {
    return notUnderstood("the engine does not tell the processes of the container");
  }
  const rows = listAt(tableOf(answer.value), "Processes");
  return {
    kind: "seen",
    value: rows.map((row) => Number(Array.isArray(row) ? row[column] : NaN)),
  };
}

/** MiB a container holds, page cache that can be dropped left out; null when it is not told. */
export async function residentOf(
  engine: DockerEngine,
  id: string,
  signal: AbortSignal,
): Promise<number | null> {
  const answer = await engine.json(`/containers/${id}/stats?stream=false&one-shot=true`, signal);
  if (answer.kind === "unknown" || answer.status !== 200) return null;
  const memory = tableAt(tableOf(answer.value), "memory_stats") ?? {};
  const usage = wholeAt(memory, "usage");
  if (usage === null) return null;
  const details = tableAt(memory, "stats") ?? {};
  const cache = wholeAt(details, "total_inactive_file") ?? wholeAt(details, "inactive_file") ?? 0;
  return Math.ceil(Math.max(0, usage - cache) / 1024 / 1024);
}

interface MemoryParts {
  readonly engine: DockerEngine;
  readonly uuidOf: ReadonlyMap<string, string>;
}

/** Running containers that hold memory of models: those of `serves`, and those that reach devices. */
export async function dockerOccupants(
  { engine, uuidOf }: MemoryParts,
  serves: readonly Serve[],
  signal: AbortSignal,
): Promise<Occupancy> {
  const list = await engine.json("/containers/json", signal);
  if (list.kind === "unknown") return list;
  if (list.status !== 200 || !Array.isArray(list.value)) {
    return notUnderstood("the engine does not list its containers");
  }
  const occupants: Occupant[] = [];
  for (const one of list.value) {
    const id = textAt(tableOf(one), "Id");
    if (id === null) return notUnderstood("the engine lists a container without an id");
    const answer = await engine.json(`/containers/${id}/json`, signal);
    if (answer.kind === "unknown") return answer;
    if (answer.status === 404) continue; // it ended meanwhile
    const container = readContainer(answer.value);
    if (container === null) return notUnderstood("a container's answer is not understood");
    const serve = serves.find((mine) =>
      mine.runtime === "docker" && mine.container === container.name
    );
    if (!container.running || (serve === undefined && !container.usesDevices)) continue;
    const pids = await pidsOf(engine, id, signal);
    occupants.push({
      serve: serve?.name ?? null,
      label: container.name,
      devices: devicesOf(container, uuidOf),
      pids: pids.kind === "seen" ? pids.value : [],
      mib: await residentOf(engine, id, signal),
    });
  }
  return { kind: "seen", occupants };
}

function devicesOf(
  { deviceIds }: ContainerFact,
  uuidOf: ReadonlyMap<string, string>,
): readonly string[] {
  return [...uuidOf].filter(([, uuid]) => deviceIds.includes(uuid)).map(([id]) => id);
}

/**
 * Facts on Linux.
 *
 * @module
 */

import type { Json } from "../../../lib/core/canonical_json.ts";
import { timestamp } from "../../../lib/core/clock.ts";
import {
  type Adapter,
  type Fact,
  type FactPorts,
  percentOf,
  portOf,
  readDf,
  wholeNumber,
} from "./fact.ts";
import { NVIDIA } from "./nvidia.ts";

const IN_MEMORY: ReadonlySet<string> = new Set(["tmpfs", "devtmpfs"]);

/** How Linux is asked. */
export const LINUX: Adapter = {
  env: {
    PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin",
    LC_ALL: "C",
    TZ: "UTC",
  },
  memory: { programs: [["free", "-b", "-w"]], read: ([text = ""]) => readFree(text) },
  devices: NVIDIA,
  disk: {
    programs: [["df", "-B1", "-P", "-l"]],
    read: ([text = ""]) => readDf(text, 1, IN_MEMORY),
  },
  diskOf: (path) => ({
    programs: [["df", "-B1", "-P", "--", path]],
    read: ([text = ""]) => readDf(text, 1, new Set()),
  }),
  listening: { programs: [["ss", "-H", "-l", "-t", "-n"]], read: ([text = ""]) => readSs(text) },
  power: { programs: [["upower", "-d"]], read: ([text = ""]) => readUpower(text) },
  pressure: null,
};

/** `free -b -w`: bytes. */
export function readFree(text: string): Json {
  const row = (name: string) =>
    text.split("\n").find((line) => line.startsWith(`${name}:`))?.trim().split(/\s+/).slice(1)
      .map(wholeNumber);
  const memory = row("Mem");
  const swap = row("Swap");
  if (memory?.length !== 7 || memory.includes(null)) return null;
  if (swap?.length !== 3 || swap.includes(null)) return null;
  const [total = null, used = null, , , , , available = null] = memory;
  return {
    total_bytes: total,
    used_bytes: used,
    available_bytes: available,
    swap_total_bytes: swap[0] ?? null,
    swap_used_bytes: swap[1] ?? null,
  };
}

/** `ss -H -l -t -n`: where somebody listens. */
export function readSs(text: string): Json {
  const found = new Map<string, Json>();
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const local = /^LISTEN\s+\d+\s+\d+\s+(\S+):(\d+)\s/.exec(line);
    const port = portOf(local?.[2]);
    const address = local?.[1];
    if (port === null || address === undefined) return null;
    found.set(`${address} ${port}`, { address, port });
  }
  return [...found.values()];
}

/** `upower -d`: on battery or not; percent of the first battery. */
export function readUpower(text: string): Json {
  const onBattery = /^\s*on-battery:\s*(yes|no)\s*$/m.exec(text)?.[1];
  if (onBattery === undefined) return null;
  const percent = /^\s*percentage:\s*(\d{1,3})%/m.exec(text)?.[1];
  return { on_battery: onBattery === "yes", percent: percentOf(wholeNumber(percent)) };
}

const PRESSURE = "/proc/pressure";

/** Of /proc, /proc/pressure alone is open to a narrow process. */
export async function pressure({ files, clock }: FactPorts): Promise<Fact> {
  const at = timestamp(clock.now());
  const not = (why: string): Fact => ({ value: null, source: PRESSURE, at, why });
  const value: { [resource: string]: Json } = {};
  for (const resource of ["cpu", "memory", "io"]) {
    const read = await files.readBounded(`${PRESSURE}/${resource}`, 4096);
    if (read.kind !== "ok") return not(read.kind === "absent" ? "absent" : read.code);
    const one = readPressure(new TextDecoder().decode(read.bytes));
    if (one === null) return not("output_not_understood");
    value[resource] = one;
  }
  return { value, source: PRESSURE, at, why: null };
}

/** One file of /proc/pressure: percent of time over ten seconds. `cpu` of old kernels has no `full`. */
export function readPressure(text: string): Json {
  const of = (kind: string) => {
    const found = new RegExp(`^${kind} avg10=(\\d+\\.\\d+) `, "m").exec(text)?.[1];
    return found === undefined ? null : Number(found);
  };
  const some = of("some");
  return some === null ? null : { some_avg10: some, full_avg10: of("full") };
}

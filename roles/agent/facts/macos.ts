/**
 * Facts on macOS. Never run on a Mac: written after the manual pages, and checked against texts that
 * were written after them too. See docs/reference/agent.md.
 *
 * @module
 */

import type { Json } from "../../../lib/core/canonical_json.ts";
import { type Adapter, percentOf, portOf, readDf, wholeNumber } from "./fact.ts";
import { rowsOf, textIn } from "./json_rows.ts";

const NO_DISKS: ReadonlySet<string> = new Set(["devfs"]);
const MIB = 1024 * 1024;

/** How macOS is asked. */
export const MACOS: Adapter = {
  env: { PATH: "/usr/bin:/bin:/usr/sbin:/sbin", LC_ALL: "C", TZ: "UTC" },
  memory: {
    programs: [["vm_stat"], ["sysctl", "hw.memsize", "vm.swapusage"]],
    read: ([pages = "", limits = ""]) => readVmStat(pages, limits),
  },
  devices: {
    programs: [
      ["system_profiler", "-json", "SPDisplaysDataType"],
      ["ioreg", "-r", "-d", "1", "-w", "0", "-c", "IOAccelerator"],
    ],
    read: ([displays = "", accelerators = ""]) => readDisplays(displays, accelerators),
  },
  disk: {
    programs: [["df", "-k", "-P", "-l"]],
    read: ([text = ""]) => readDf(text, 1024, NO_DISKS),
  },
  diskOf: (path) => ({
    programs: [["df", "-k", "-P", path]],
    read: ([text = ""]) => readDf(text, 1024, new Set()),
  }),
  listening: {
    programs: [["lsof", "-nP", "-iTCP", "-sTCP:LISTEN", "-Fpn"]],
    read: ([text = ""]) => readLsof(text)?.map(({ address, port }) => ({ address, port })) ?? null,
    emptyExit: 1,
  },
  power: { programs: [["pmset", "-g", "batt"]], read: ([text = ""]) => readPmset(text) },
  pressure: {
    programs: [["sysctl", "kern.memorystatus_vm_pressure_level"]],
    read: ([text = ""]) => readPressureLevel(text),
  },
};

/**
 * `vm_stat` counts pages, whose size stands in its first line. Available is what is free or inactive,
 * as the system could hand it out; used is what is active, wired or compressed.
 */
export function readVmStat(pages: string, limits: string): Json {
  const size = wholeNumber(/\(page size of (\d+) bytes\)/.exec(pages)?.[1]);
  const total = wholeNumber(/^hw\.memsize: (\d+)$/m.exec(limits)?.[1]);
  const swap = /^vm\.swapusage: total = (\d+\.\d\d)M +used = (\d+\.\d\d)M +free = /m.exec(limits);
  const count = (name: string) => {
    const line = pages.split("\n").find((one) => one.startsWith(`${name}:`));
    return wholeNumber(/:\s+(\d+)\.$/.exec(line ?? "")?.[1]);
  };
  const sum = (...names: string[]) =>
    names.map(count).reduce((a, b) => a === null || b === null ? null : a + b, 0);
  const available = sum("Pages free", "Pages inactive", "Pages speculative");
  const used = sum("Pages active", "Pages wired down", "Pages occupied by compressor");
  if (size === null || total === null || swap === null || available === null || used === null) {
    return null;
  }
  return {
    total_bytes: total,
    used_bytes: used * size,
    available_bytes: available * size,
    swap_total_bytes: Math.round(Number(swap[1]) * MIB),
    swap_used_bytes: Math.round(Number(swap[2]) * MIB),
  };
}

/** Graphics devices. Memory is the machine's own on Apple silicon, so there is no total of theirs. */
export function readDisplays(displays: string, accelerators: string): Json {
  const devices = rowsOf(displays, "SPDisplaysDataType");
  if (devices === null) return null;
  const used = [...accelerators.matchAll(/"In use system memory"=(\d+)/g)]
    .map(([, bytes]) => Number(bytes));
  const rows: Json[] = [];
  for (const [index, device] of devices.entries()) {
    const name = textIn(device, "sppci_model") ?? textIn(device, "_name");
    if (name === null) return null;
    const vram = /^(\d+) (MB|GB)$/.exec(textIn(device, "spdisplays_vram") ?? "");
    const bytes = used.length === devices.length ? used[index] : undefined;
    rows.push({
      index,
      name,
      uuid: null,
      memory_total_mib: vram === null ? null : Number(vram[1]) * (vram[2] === "GB" ? 1024 : 1),
      memory_used_mib: bytes === undefined ? null : Math.round(bytes / MIB),
      celsius: null,
      watts: null,
      mig: null,
      instances: [],
    });
  }
  return rows;
}

/** `lsof -Fpn`: a line `p` per process, then `f` and `n` per socket. */
export function readLsof(
  text: string,
): { readonly pid: number; readonly address: string; readonly port: number }[] | null {
  const found = new Map<string, { pid: number; address: string; port: number }>();
  let pid: number | null = null;
  for (const line of text.split("\n")) {
    if (line === "" || /^f\w+$/.test(line)) continue;
    const process = /^p(\d+)$/.exec(line)?.[1];
    if (process !== undefined) {
      pid = wholeNumber(process);
      continue;
    }
    const socket = /^n(\S+):(\d+)$/.exec(line);
    const port = portOf(socket?.[2]);
    const address = socket?.[1];
    if (port === null || address === undefined || pid === null) return null;
    found.set(`${pid} ${address} ${port}`, { pid, address, port });
  }
  return [...found.values()];
}

/** `pmset -g batt`: what feeds the machine, and the first battery's percent. */
export function readPmset(text: string): Json {
  const from = /^Now drawing from '(AC|Battery|UPS) Power'$/m.exec(text)?.[1];
  if (from === undefined) return null;
  const percent = /\t(\d{1,3})%;/.exec(text)?.[1];
  return { on_battery: from !== "AC", percent: percentOf(wholeNumber(percent)) };
}

/** The kernel's own three words for how short memory is. */
export function readPressureLevel(text: string): Json {
  const level = /^kern\.memorystatus_vm_pressure_level: ([124])$/m.exec(text)?.[1];
  return level === undefined
    ? null
    : { memory_level: level === "1" ? "normal" : level === "2" ? "warning" : "critical" };
}

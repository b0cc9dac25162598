/**
 * Facts on Windows. Never run on Windows: written after the documentation of the classes and
 * programs, and checked against texts that were written after it too. See docs/reference/agent.md.
 *
 * CIM classes and their properties have one name in every language; words in the output of programs
 * do not, so none is compared.
 *
 * @module
 */

import type { Json } from "../../../lib/core/canonical_json.ts";
import { type Adapter, type Argv, percentOf, portOf, wholeNumber } from "./fact.ts";
import { countIn, rowsOf, textIn } from "./json_rows.ts";
import { NVIDIA } from "./nvidia.ts";

const KIB = 1024;

/** How Windows is asked. */
export const WINDOWS: Adapter = {
  env: {
    PATH: "C:\\Windows\\System32;C:\\Windows\\System32\\WindowsPowerShell\\v1.0",
    SystemRoot: "C:\\Windows",
  },
  memory: {
    programs: [query(
      "Get-CimInstance Win32_OperatingSystem | Select-Object TotalVisibleMemorySize," +
        "FreePhysicalMemory,SizeStoredInPagingFiles,FreeSpaceInPagingFiles",
    )],
    read: ([text = ""]) => readOperatingSystem(text),
  },
  devices: NVIDIA,
  disk: disks("DriveType=3"),
  diskOf: (path) => disks(`DeviceID='${/^[A-Za-z]:/.exec(path)?.[0] ?? ""}'`),
  listening: {
    programs: [["netstat", "-ano"]],
    read: ([text = ""]) =>
      readNetstat(text)?.map(({ address, port }) => ({ address, port })) ?? null,
  },
  power: {
    programs: [
      query("Get-CimInstance Win32_Battery | Select-Object BatteryStatus,EstimatedChargeRemaining"),
    ],
    read: ([text = ""]) => readBattery(text),
  },
  pressure: {
    programs: [
      query(
        "Get-CimInstance Win32_PerfFormattedData_PerfOS_Memory | Select-Object PagesPersec," +
          "PercentCommittedBytesInUse",
      ),
    ],
    read: ([text = ""]) => readPaging(text),
  },
};

/** A question to CIM, answered as a list; the first error ends it with exit code 1. */
export function query(pipeline: string): Argv {
  const script = `$ErrorActionPreference='Stop'; ` +
    `ConvertTo-Json -Compress -InputObject @(${pipeline})`;
  return ["powershell", "-NoProfile", "-NonInteractive", "-Command", script];
}

function disks(filter: string): Adapter["disk"] {
  const pipeline = `Get-CimInstance Win32_LogicalDisk -Filter "${filter}" | ` +
    "Select-Object DeviceID,Size,FreeSpace";
  return { programs: [query(pipeline)], read: ([text = ""]) => readDisks(text) };
}

/** KiB. */
export function readOperatingSystem(text: string): Json {
  const [row, ...more] = rowsOf(text, "value") ?? [];
  if (row === undefined || more.length > 0) return null;
  const total = countIn(row, "TotalVisibleMemorySize");
  const free = countIn(row, "FreePhysicalMemory");
  const swap = countIn(row, "SizeStoredInPagingFiles");
  const swapFree = countIn(row, "FreeSpaceInPagingFiles");
  if (total === null || free === null || swap === null || swapFree === null) return null;
  if (free > total || swapFree > swap) return null;
  return {
    total_bytes: total * KIB,
    used_bytes: (total - free) * KIB,
    available_bytes: free * KIB,
    swap_total_bytes: swap * KIB,
    swap_used_bytes: (swap - swapFree) * KIB,
  };
}

/** Bytes. A drive without a size holds no disk that can be read now. */
export function readDisks(text: string): Json {
  const rows: Json[] = [];
  for (const row of rowsOf(text, "value") ?? [{}]) {
    const mount = textIn(row, "DeviceID");
    if (mount === null) return null;
    const total = countIn(row, "Size");
    const free = countIn(row, "FreeSpace");
    if (row["Size"] === null) continue;
    if (total === null || free === null || free > total) return null;
    rows.push({
      mount,
      total_bytes: total,
      used_bytes: total - free,
      available_bytes: free,
    });
  }
  return rows;
}

/** `netstat -ano`: who listens has no peer; the word for it is in the language of the machine. */
export function readNetstat(
  text: string,
): { readonly pid: number; readonly address: string; readonly port: number }[] | null {
  const found = new Map<string, { pid: number; address: string; port: number }>();
  let rows = 0;
  for (const line of text.split("\n")) {
    if (!/^\s+TCP\s/.test(line)) continue;
    rows++;
    const match = /^\s+TCP\s+(\S+):(\d+)\s+(\S+):(\d+)\s+\S+\s+(\d+)\s*$/.exec(line);
    if (match === null) return null;
    const [, address = "", own, peer, peerPort, process] = match;
    const pid = wholeNumber(process);
    const port = portOf(own);
    if (pid === null || port === null) return null;
    if (peerPort !== "0" || (peer !== "0.0.0.0" && peer !== "[::]")) continue;
    found.set(`${pid} ${address} ${port}`, { pid, address, port });
  }
  // Windows itself always listens somewhere: no row at all is another program's output.
  return rows === 0 ? null : [...found.values()];
}

/** BatteryStatus 1, 4 and 5: discharging, low, critical. No row: no battery. */
export function readBattery(text: string): Json {
  const rows = rowsOf(text, "value");
  if (rows === null) return null;
  const [row] = rows;
  if (row === undefined) return { on_battery: false, percent: null };
  const status = countIn(row, "BatteryStatus");
  if (status === null || status < 1 || status > 11) return null;
  return {
    on_battery: [1, 4, 5].includes(status),
    percent: percentOf(countIn(row, "EstimatedChargeRemaining")),
  };
}

/** Pages read or written a second, and percent of what may be committed. */
export function readPaging(text: string): Json {
  const [row, ...more] = rowsOf(text, "value") ?? [];
  if (row === undefined || more.length > 0) return null;
  const pages = countIn(row, "PagesPersec");
  const committed = countIn(row, "PercentCommittedBytesInUse");
  return pages === null || committed === null
    ? null
    : { pages_per_second: pages, committed_percent: committed };
}

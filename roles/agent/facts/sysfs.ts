/**
 * What Linux tells in /sys and no program of its own prints: supplies of power, temperatures, how
 * often the processor was slowed down. /sys is closed to a narrow process, so `ls` and `cat` are run,
 * on names of the kernel alone.
 *
 * @module
 */

import type { Json } from "../../../lib/core/canonical_json.ts";
import { type Argv, type FactPorts, observe, wholeNumber } from "./fact.ts";
import { LINUX } from "./linux.ts";

const SUPPLIES = "/sys/class/power_supply";
const ZONES = "/sys/class/thermal";
const CHASSIS = "/sys/class/dmi/id/chassis_type";
const SLOWED = "/sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count";
/** More of either is no machine of ours; each costs a process. */
const MOST = 16;

/** Programs of this file, for the permissions of the agent's task. */
export const SYSFS_PROGRAMS: readonly string[] = ["ls", "cat"];

/** What feeds the machine; null: not known. */
export interface Supply {
  readonly onBattery: boolean;
  readonly percent: number | null;
}

/** Power by the kernel's own list, for a machine without upower. */
export async function supplyOf(ports: FactPorts, signal: AbortSignal): Promise<Supply | null> {
  const names = await listOf(ports, SUPPLIES, signal);
  if (names === null) return null;
  if (names.length === 0) {
    // No supply is listed in a rack and in a virtual machine alike: only the case tells them apart.
    const [chassis] = await textsOf(ports, [CHASSIS], signal);
    return isDesktop(chassis ?? null) ? { onBattery: false, percent: null } : null;
  }
  const paths = names.slice(0, MOST).map((name) => `${SUPPLIES}/${name}/uevent`);
  return readSupplies(await textsOf(ports, paths, signal));
}

/** `uevent` of each supply; null for one that could not be read. */
export function readSupplies(events: readonly (string | null)[]): Supply | null {
  const value = (text: string, key: string) =>
    new RegExp(`^POWER_SUPPLY_${key}=(.*)$`, "m").exec(text)?.[1] ?? null;
  let mains: boolean | null = null;
  let percent: number | null = null;
  let discharging: boolean | null = null;
  for (const text of events) {
    if (text === null) return null;
    const type = value(text, "TYPE");
    // The battery of a mouse feeds no machine.
    if (value(text, "SCOPE") === "Device") continue;
    if (type === "Mains" || type === "USB" || type === "Wireless") {
      const online = value(text, "ONLINE");
      if (online === "1") mains = true;
      else if (online === "0") mains ??= false;
    } else if (type === "Battery") {
      const status = value(text, "STATUS");
      if (status === "Discharging") discharging = true;
      else if (status !== null && status !== "Unknown") discharging ??= false;
      const left = wholeNumber(value(text, "CAPACITY") ?? undefined);
      if (left !== null && left <= 100) percent = Math.min(percent ?? 100, left);
    }
  }
  if (mains === true) return { onBattery: false, percent };
  if (discharging !== null) return { onBattery: discharging, percent };
  return mains === null ? null : { onBattery: true, percent };
}

/** SMBIOS: desktops, towers, racks and blades; everything that is carried is not. */
function isDesktop(chassis: string | null): boolean {
  const type = wholeNumber(chassis?.trim());
  return type !== null &&
    [3, 4, 5, 6, 7, 13, 15, 16, 17, 23, 24, 25, 28, 29, 35, 36].includes(type);
}

/** What the kernel tells of heat; null: not told. */
export interface Heat {
  readonly celsius: number | null;
  /** How often the processor was slowed down since the machine started. */
  readonly slowed: number | null;
}

/** Temperatures and the count of slow-downs. */
export async function heatOf(ports: FactPorts, signal: AbortSignal): Promise<Heat> {
  const names = await listOf(ports, ZONES, signal) ?? [];
  const zones = names.filter((name) => /^thermal_zone\d+$/.test(name)).slice(0, MOST);
  const paths = [SLOWED, ...zones.map((zone) => `${ZONES}/${zone}/temp`)];
  const [slowed, ...temps] = await textsOf(ports, paths, signal);
  const degrees = temps.flatMap((text) => {
    const milli = /^-?\d{1,6}$/.exec(text?.trim() ?? "")?.[0];
    // A sensor that is not connected says zero, or less than any room.
    return milli === undefined || Number(milli) <= 0 ? [] : [Number(milli) / 1000];
  });
  return {
    celsius: degrees.length === 0 ? null : Math.max(...degrees),
    slowed: wholeNumber(slowed?.trim()),
  };
}

async function listOf(
  ports: FactPorts,
  folder: string,
  signal: AbortSignal,
): Promise<readonly string[] | null> {
  const said = await wordsOf(ports, ["ls", "-1", `${folder}/`], signal);
  if (said === null) return null;
  const names = said.split("\n").filter((name) => name !== "");
  return names.every((name) => /^[A-Za-z0-9_.:-]+$/.test(name)) ? names : null;
}

/** One process a file: one that cannot be read must not hide the others. */
function textsOf(
  ports: FactPorts,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<readonly (string | null)[]> {
  return Promise.all(paths.map((path) => wordsOf(ports, ["cat", path], signal)));
}

async function wordsOf(ports: FactPorts, argv: Argv, signal: AbortSignal): Promise<string | null> {
  const read = ([text = ""]: readonly string[]): Json => ({ text });
  const fact = await observe(ports, { programs: [argv], read }, LINUX.env, signal);
  const value = fact.value as { readonly text: string } | null;
  return value === null ? null : value.text;
}

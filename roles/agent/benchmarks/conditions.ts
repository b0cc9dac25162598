/**
 * What the machine goes through while it is measured: power, heat, pressure, each looked at in the
 * operating system at the time. What was not seen is `unknown`, and unknown is not fine.
 *
 * @module
 */

import type { Conditions } from "../../../lib/evidence/evidence_shape.ts";
import type { Json } from "../../../lib/core/canonical_json.ts";
import { type Adapter, type FactPorts, observe, type Source } from "../facts/fact.ts";
import { ADAPTERS } from "../facts/gather.ts";
import { pressure } from "../facts/linux.ts";
import { heatOf, supplyOf } from "../facts/sysfs.ts";

/** What one look saw; null: not seen. */
export interface Seen {
  readonly onBattery: boolean | null;
  readonly percent: number | null;
  readonly celsius: number | null;
  /** Slow-downs of the processor so far: only a difference says something. */
  readonly slowed: number | null;
  /** A device is slowed down by heat now. */
  readonly hot: boolean | null;
  /** There are devices of their own, so the processor does not speak for them. */
  readonly devices: boolean;
  readonly cpu: number | null;
  readonly memory: number | null;
  readonly io: number | null;
}

/** Whether a device is slowed down by heat: one line each. */
export const NVIDIA_HEAT: Source = {
  programs: [[
    "nvidia-smi",
    "--query-gpu=clocks_throttle_reasons.hw_thermal_slowdown," +
    "clocks_throttle_reasons.sw_thermal_slowdown",
    "--format=csv,noheader",
  ]],
  read: ([text = ""]) => readHeat(text),
};

/** `Not Active, Active` for each device; null when one of them does not tell. */
export function readHeat(text: string): Json {
  const cells = text.trim().split("\n").flatMap((line) => line.split(", "));
  if (!cells.every((cell) => cell === "Active" || cell === "Not Active")) return null;
  return { hot: cells.includes("Active") };
}

/** Whether macOS slows the machine down. Never run on a Mac: after the manual page of `pmset`. */
export const MACOS_HEAT: Source = {
  programs: [["pmset", "-g", "therm"]],
  read: ([text = ""]) => readTherm(text),
};

/** `pmset -g therm`: a limit in percent, or the note that nothing was recorded. */
export function readTherm(text: string): Json {
  const limit = /^\s*CPU_Speed_Limit\s*=\s*(\d{1,3})$/m.exec(text)?.[1];
  if (limit !== undefined) return { hot: Number(limit) < 100 };
  return /No thermal warning level has been recorded/.test(text) ? { hot: false } : null;
}

/** Looks once. Never rejects for what is not there. */
export async function lookAt(ports: FactPorts, signal: AbortSignal): Promise<Seen> {
  const adapter = ADAPTERS[ports.os];
  if (adapter === undefined) return NOTHING;
  const linux = ports.os === "linux";
  const [power, devices, hot, heat, pressed] = await Promise.all([
    powerOf(ports, adapter, signal),
    observe(ports, adapter.devices, adapter.env, signal),
    observe(ports, ports.os === "darwin" ? MACOS_HEAT : NVIDIA_HEAT, adapter.env, signal),
    linux ? heatOf(ports, signal) : { celsius: null, slowed: null },
    linux ? pressure(ports) : null,
  ]);
  const rows = Array.isArray(devices.value) ? devices.value as readonly Json[] : [];
  const warm = rows.flatMap((row) => numberAt(row, "celsius") ?? []);
  const some = (resource: string) =>
    numberAt(memberAt(pressed?.value ?? null, resource), "some_avg10");
  return {
    ...power,
    celsius: greatest([...warm, ...(heat.celsius === null ? [] : [heat.celsius])]),
    slowed: heat.slowed,
    hot: (hot.value as { readonly hot: boolean } | null)?.hot ?? null,
    // On a Mac the one answer is of the whole machine.
    devices: ports.os !== "darwin" && rows.length > 0,
    cpu: some("cpu"),
    memory: some("memory"),
    io: some("io"),
  };
}

const NOTHING: Seen = {
  ...{ onBattery: null, percent: null, celsius: null, slowed: null, hot: null, devices: false },
  ...{ cpu: null, memory: null, io: null },
};

async function powerOf(
  ports: FactPorts,
  adapter: Adapter,
  signal: AbortSignal,
): Promise<Pick<Seen, "onBattery" | "percent">> {
  const fact = await observe(ports, adapter.power, adapter.env, signal);
  const told = memberAt(fact.value, "on_battery");
  if (typeof told === "boolean") {
    return { onBattery: told, percent: numberAt(fact.value, "percent") };
  }
  const supply = ports.os === "linux" ? await supplyOf(ports, signal) : null;
  return { onBattery: supply?.onBattery ?? null, percent: supply?.percent ?? null };
}

/** What `now` says of a session that began with `first`, as one sample. */
export function conditionsOf(first: Seen, now: Seen): Conditions {
  return {
    samples: 1,
    power: {
      source: now.onBattery === null ? "unknown" : now.onBattery ? "battery" : "mains",
      battery_percent_min: now.percent,
    },
    thermal: { state: thermalOf(first, now), celsius_max: now.celsius },
    pressure: { cpu_max: now.cpu, memory_max: now.memory, io_max: now.io },
  };
}

function thermalOf(first: Seen, now: Seen): Conditions["thermal"]["state"] {
  const counted = first.slowed !== null && now.slowed !== null;
  if (now.hot === true || (counted && now.slowed !== first.slowed)) return "throttled";
  if (now.devices) return now.hot === false ? "nominal" : "unknown";
  return now.hot === false || counted ? "nominal" : "unknown";
}

function greatest(values: readonly number[]): number | null {
  return values.length === 0 ? null : Math.max(...values);
}

function memberAt(value: Json, key: string): Json {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as { readonly [key: string]: Json })[key] ?? null
    : null;
}

function numberAt(value: Json, key: string): number | null {
  const found = memberAt(value, key);
  return typeof found === "number" ? found : null;
}

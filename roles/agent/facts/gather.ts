/**
 * Every fact of this machine, by the adapter of its operating system.
 *
 * @module
 */

import { timestamp } from "../../../lib/core/clock.ts";
import { type Adapter, type Fact, type FactPorts, observe } from "./fact.ts";
import { LINUX, pressure } from "./linux.ts";
import { MACOS } from "./macos.ts";
import { WINDOWS } from "./windows.ts";

/** The adapters there are, by what Deno calls the system. */
export const ADAPTERS: { readonly [os: string]: Adapter } = {
  linux: LINUX,
  darwin: MACOS,
  windows: WINDOWS,
};

/** Facts there are. */
export const FACTS = ["memory", "devices", "disk", "listening", "power", "pressure"] as const;

/** Every fact, gathered side by side. */
export async function gatherFacts(
  ports: FactPorts,
  signal: AbortSignal,
): Promise<{ readonly [fact: string]: Fact }> {
  const adapter = ADAPTERS[ports.os];
  const facts = await Promise.all(FACTS.map(async (name) => {
    if (adapter === undefined) return [name, unsupported(ports)] as const;
    const source = adapter[name];
    return [
      name,
      source === null ? await pressure(ports) : await observe(ports, source, adapter.env, signal),
    ] as const;
  }));
  return Object.fromEntries(facts);
}

/** Space where `path` is, in bytes. */
export async function diskAt(ports: FactPorts, path: string, signal: AbortSignal): Promise<Fact> {
  const adapter = ADAPTERS[ports.os];
  if (adapter === undefined) return unsupported(ports);
  const fact = await observe(ports, adapter.diskOf(path), adapter.env, signal);
  if (!Array.isArray(fact.value)) return fact;
  const [row] = fact.value;
  return row === undefined
    ? { ...fact, value: null, why: "output_not_understood" }
    : { ...fact, value: row };
}

/** The fact that nothing is known here. */
export function unsupported({ clock, os }: FactPorts): Fact {
  return { value: null, source: os, at: timestamp(clock.now()), why: "unsupported_platform" };
}

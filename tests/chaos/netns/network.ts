/**
 * The walk's network: a bridge in the walk's own namespace, and one namespace per host behind it.
 *
 *     walk, clients 10.77.0.1 ── bridge ── gateway 10.77.0.2, publisher 10.77.0.3, hosts from .11
 *
 * Everything is in the network, mount and process namespaces that `enter.ts` made, and is gone with
 * them.
 *
 * @module
 */

import { run, tried } from "./run.ts";

/** Where something is. */
export interface Address {
  /** Name of its network namespace. */
  readonly name: string;
  readonly ip: string;
}

/** The bridge. */
const BRIDGE = "fleet";
const BRIDGE_IP = "10.77.0.1";
/** A slow way, where the kernel cannot delay: what queues for longer is dropped. */
const SLOW = ["tbf", "rate", "24kbit", "burst", "3000", "latency", "4000ms"];
const LATE = ["netem", "delay", "250ms", "120ms", "loss", "2%"];

/** Makes bridge and namespaces. */
export async function makeNetwork(addresses: readonly Address[]): Promise<void> {
  await Deno.mkdir("/run/netns", { recursive: true });
  await run("mount", "-t", "tmpfs", "tmpfs", "/run/netns");
  await run("ip", "link", "set", "lo", "up");
  await run("ip", "link", "add", BRIDGE, "type", "bridge");
  await run("ip", "addr", "add", `${BRIDGE_IP}/24`, "dev", BRIDGE);
  await run("ip", "link", "set", BRIDGE, "up");
  for (const { name, ip } of addresses) {
    await run("ip", "netns", "add", name);
    await run(
      ...["ip", "link", "add", `v-${name}`, "type", "veth"] as const,
      ...["peer", "name", "eth0", "netns", name],
    );
    await run("ip", "link", "set", `v-${name}`, "master", BRIDGE, "up");
    await run("ip", "-n", name, "addr", "add", `${ip}/24`, "dev", "eth0");
    await run("ip", "-n", name, "link", "set", "eth0", "up");
    await run("ip", "-n", name, "link", "set", "lo", "up");
  }
}

/** Pulls the cable, or puts it in again. */
export async function setCable(name: string, isIn: boolean): Promise<void> {
  await run("ip", "link", "set", `v-${name}`, isIn ? "up" : "down");
}

/** Makes the way slow; says how. */
export async function makeSlow(name: string): Promise<"late" | "slow"> {
  if (await tried("tc", "qdisc", "replace", "dev", `v-${name}`, "root", ...LATE)) return "late";
  await run("tc", "qdisc", "replace", "dev", `v-${name}`, "root", ...SLOW);
  return "slow";
}

/** Makes it fast again. */
export async function makeFast(name: string): Promise<void> {
  await run("tc", "qdisc", "del", "dev", `v-${name}`, "root");
}

/** Every process in a namespace. */
export async function pidsIn(name: string): Promise<readonly number[]> {
  const text = await run("ip", "netns", "pids", name);
  return text.split("\n").filter((line) => line !== "").map(Number);
}

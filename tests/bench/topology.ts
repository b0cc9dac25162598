/**
 * How long topologies of 10, 100, 1,000 and 5,000 hosts take to validate and resolve, and what each
 * host costs: `deno run -A tests/bench/topology.ts`. Prints; asserts nothing.
 *
 * @module
 */

import { sha256 } from "../../lib/host/digest.ts";
import { fingerprintText } from "../../lib/topology/fingerprint.ts";
import { indexFleet } from "../../lib/topology/fleet_index.ts";
import { readTopology } from "../../lib/topology/read.ts";
import { resolve } from "../../lib/topology/resolve.ts";
import { chooseWay } from "../../lib/topology/transport.ts";

const SIZES = [10, 100, 1000, 5000];
const ROUNDS = 7;

/** A fleet of `count` hosts. As small a host as there is: 5,000 of them fit into 2 MiB. */
function fleetText(count: number): string {
  const hosts = Array.from({ length: count }, (_, n) => {
    const address = `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`;
    return `[hosts.h${n}]
os = "linux"
arch = "x64"
roles = ["serving"]
address = "${address}"
runtime = "docker"
memory = { model = "unified", budget_mib = 65536, os_reserve_mib = 8192 }
availability = "continuous"
[[transports]]
host = "h${n}"
kind = "agent"
endpoint = "http://${address}:8765"
expected_node = "h${n}"
token = "h${n}"
`;
  });
  return `schema = 1\nfleet = "bench"\noperator = "h0"\n${hosts.join("")}`;
}

/** Milliseconds of validating, and of resolving every host with its way. */
function once(text: string): readonly [validate: number, resolve: number] {
  const start = performance.now();
  const read = readTopology(text);
  if (read.kind !== "ok") throw new Error(JSON.stringify(read.problems.slice(0, 3)));
  sha256(fingerprintText(read.model));
  const validated = performance.now();
  const index = indexFleet(read.model);
  const identity = { host: "h0", runtime: "native" } as const;
  const all = resolve(index, identity, { kind: "all" });
  if (all.kind === "refused") throw new Error(all.code);
  for (const id of all.hosts) {
    resolve(index, identity, { kind: "host", id });
    chooseWay(index, identity, id);
  }
  resolve(index, identity, { kind: "role", role: "serving" });
  return [validated - start, performance.now() - validated];
}

/** The same with one mistake in every host: every problem found, and placed. */
function broken(text: string): number {
  const spoiled = text.replaceAll('arch = "x64"', 'arch = "x86"');
  const start = performance.now();
  const read = readTopology(spoiled);
  if (read.kind === "ok") throw new Error("nothing was found");
  return performance.now() - start;
}

const middle = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
const cell = (value: string | number) => `${value}`.padStart(12);

console.log(
  ["hosts", "KiB", "first ms", "validate ms", "resolve ms", "broken ms", "us/host"].map(cell).join(
    "",
  ),
);
for (const size of SIZES) {
  const text = fleetText(size);
  const [first] = once(text);
  const rounds = Array.from({ length: ROUNDS }, () => once(text));
  const validate = middle(rounds.map(([ms]) => ms));
  const resolving = middle(rounds.map(([, ms]) => ms));
  const spoiled = middle(Array.from({ length: 3 }, () => broken(text)));
  console.log(
    [
      size,
      (text.length / 1024).toFixed(0),
      first.toFixed(1),
      validate.toFixed(1),
      resolving.toFixed(2),
      spoiled.toFixed(1),
      ((validate + resolving) * 1000 / size).toFixed(1),
    ].map(cell).join(""),
  );
}

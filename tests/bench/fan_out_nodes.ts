/**
 * A process of simulated nodes, for the fan-out measurement: says its ports, ends with its stdin.
 *
 * @module
 */

import { json, type NodeScript, SimulatedNode } from "../fixtures/node.ts";

/** Facts as large as a host may send in a fan-out of a thousand. */
const FACTS = Object.fromEntries(
  Array.from({ length: 280 }, (_, at) => [
    `fact-${at}`,
    { value: at, source: "simulated", at: "2026-01-01T00:00:00Z", why: null },
  ]),
);
const script: NodeScript = ({ path }) =>
  path === "/v1/operations/node.facts"
    ? json({ operation: "node.facts", dry_run: false, known: false, result: FACTS })
    : null;

const count = Number(Deno.args[0] ?? "1000");
const nodes = Array.from(
  { length: count },
  (_, at) => new SimulatedNode(`node-${at}`, script, false),
);
console.log(JSON.stringify(nodes.map(({ name, port }) => [name, port])));
for await (const _ of Deno.stdin.readable) {
  // until whoever started us is gone
}
Deno.exit(0);

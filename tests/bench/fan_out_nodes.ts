/**
 * A process of simulated nodes, for the fan-out measurement: says its ports, ends with its stdin.
 *
 * @module
 */

import { SimulatedNode } from "../fixtures/node.ts";

const count = Number(Deno.args[0] ?? "1000");
const nodes = Array.from(
  { length: count },
  (_, at) => new SimulatedNode(`node-${at}`, () => null, false),
);
console.log(JSON.stringify(nodes.map(({ name, port }) => [name, port])));
for await (const _ of Deno.stdin.readable) {
  // until whoever started us is gone
}
Deno.exit(0);

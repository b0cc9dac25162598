import assert from "node:assert/strict";
import { INELIGIBLE } from "../../lib/topology/eligibility.ts";
import { RULES } from "../../lib/topology/rules.ts";
import { fleetShape, hostShape } from "../../lib/topology/shape.ts";
import { SSH_AFTER } from "../../lib/topology/transport.ts";

Deno.test("the topology's reference names every rule's code, key, reason and failure", async () => {
  const text = await Deno.readTextFile(
    new URL("../../docs/reference/topology.md", import.meta.url),
  );
  const broken = await Deno.readTextFile(new URL("broken/topology.problems", import.meta.url));
  const words = [
    ...RULES.flatMap(({ codes }) => codes),
    ...broken.trimEnd().split("\n").map((line) => line.split(" ").at(-1) ?? ""),
    ...Object.keys(INELIGIBLE),
    ...Object.keys(SSH_AFTER).filter((name) => name !== "after_dispatch"),
    ...Object.keys(hostShape.shape),
    ...Object.keys(fleetShape.shape),
  ];
  const missing = new Set(words.filter((word) => !new RegExp(`\\b${word}\\b`).test(text)));
  assert.deepEqual([...missing], []);
});

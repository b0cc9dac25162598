import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fc from "fast-check";
import { fleets, LAB, topologyText } from "../../tests/fixtures/topology.ts";
import { readTopology } from "./read.ts";
import type { Fleet } from "./shape.ts";
import { viewText } from "./view.ts";
import { ViewDigests } from "./view_digests.ts";
import { RUNTIMES } from "./vocabulary.ts";

const sha256 = (data: Uint8Array | string) => createHash("sha256").update(data).digest();

/** Of every host in every runtime, twice: a digest leaves nothing behind for the next one. */
function holdAlike(text: string, fleet: Fleet): void {
  const digests = new ViewDigests(sha256, text, fleet);
  const hosts = Object.keys(fleet.hosts);
  for (const host of [...hosts, ...hosts.toReversed()]) {
    for (const runtime of RUNTIMES) {
      const view = viewText(text, fleet, host, runtime);
      assert.ok(view.kind === "view");
      assert.equal(digests.of(host, runtime), sha256(view.text).toString("hex"));
    }
  }
}

Deno.test("view digests: those of the texts", () => {
  fc.assert(
    fc.property(fleets, fc.constantFrom("", "# short\n", "# lang: é模\r\n\n"), (fleet, comment) => {
      holdAlike(comment + topologyText(fleet), fleet);
    }),
  );
});

Deno.test("view digests: leading comments of any length", () => {
  const read = readTopology(LAB);
  assert.ok(read.kind === "ok");
  for (const length of [900, 930, 960, 990, 1020, 1024, 1025, 5000]) {
    holdAlike(`#${"x".repeat(length)}\n${LAB}`, read.model);
  }
});

Deno.test("view digests: of nobody, and of a view, there is none", () => {
  const read = readTopology(LAB);
  assert.ok(read.kind === "ok");
  for (
    const [fleet, host, code] of [
      [read.model, "gpu-z", "host_unknown"],
      [{ ...read.model, command_host: "mac" }, "mac", "already_a_view"],
    ] as const
  ) {
    const refused = new ViewDigests(sha256, LAB, fleet).of(host, "native");
    assert.ok(typeof refused === "object" && refused.code === code);
  }
});

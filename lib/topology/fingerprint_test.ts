import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fc from "fast-check";
import { fleets, LAB, reordered, topologyText } from "../../tests/fixtures/topology.ts";
import { fingerprintText } from "./fingerprint.ts";
import { readTopology } from "./read.ts";
import { identityOf } from "./resolve.ts";
import type { Fleet } from "./shape.ts";
import { viewText } from "./view.ts";

function fleetOf(text: string): Fleet {
  const read = readTopology(text);
  assert.ok(read.kind === "ok", JSON.stringify(read));
  return read.model;
}

/** The same declarations with other comments and white space: each line is made wider and commented. */
function reformatted(text: string, seed: number): string {
  return text.split("\n").map((line, n) => {
    const word = ["", "  ", "\t", "# moved\n"][(seed + n) % 4];
    // Only where a line ends what it begins, which the library's own writing always does.
    return `${word}${line}${(seed + n) % 3 === 0 ? "   # why" : ""}`;
  }).join((seed % 2) === 0 ? "\n" : "\n\n");
}

Deno.test("fingerprint: order, comments and formatting do not matter", () => {
  fc.assert(
    fc.property(
      fleets,
      fc.nat(),
      fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
      (fleet, seed, chance) => {
        const random = () => chance.next().value as number;
        const text = fingerprintText(fleet);
        const other = reformatted(topologyText(reordered(fleet, random)), seed);
        assert.equal(fingerprintText(fleetOf(other)), text);
      },
    ),
  );
});

Deno.test("fingerprint: whose view it is does not matter", () => {
  fc.assert(fc.property(fleets, (fleet) => {
    const text = topologyText(fleet);
    for (const host of Object.keys(fleet.hosts)) {
      for (const runtime of ["native", "docker"] as const) {
        const view = viewText(text, fleet, host, runtime);
        assert.ok(view.kind === "view");
        const seen = fleetOf(view.text);
        assert.deepEqual(identityOf(seen), { host, runtime });
        assert.equal(fingerprintText(seen), fingerprintText(fleet));
        const { command_host: _host, command_runtime: _runtime, ...rest } = seen;
        assert.deepEqual(rest, fleet);
      }
    }
  }));
});

Deno.test("fingerprint: every declared value matters", () => {
  const seen = new Set([fingerprintText(fleetOf(LAB))]);
  const edits: readonly (readonly [string, string])[] = [
    ['fleet = "lab"', 'fleet = "lob"'],
    ['operator = "desk"', 'operator = "mac"'],
    ['os = "linux"', 'os = "windows"'],
    ['roles = ["gateway", "operator"]', 'roles = ["gateway"]'],
    ['address = "192.0.2.10"', 'address = "192.0.2.13"'],
    ["memory_mib = 97887", "memory_mib = 97886"],
    ['availability = "opportunistic"', 'availability = "continuous"'],
    ['reserved = "voice"\n', ""],
    ['token = "desk"', 'token = "other"'],
    ["recovery_capable = true", "recovery_capable = false"],
    ["recovery_capable = true\n", ""],
    ["ev-2026-01", "ev-2026-02"],
    ['[capabilities."voice.stt"]\n', ""],
  ];
  for (const [from, to] of edits) seen.add(fingerprintText(fleetOf(LAB.replace(from, to))));
  assert.equal(seen.size, edits.length + 1);
});

Deno.test("fingerprint: literally", () => {
  const digest = createHash("sha256").update(fingerprintText(fleetOf(LAB))).digest("hex");
  assert.equal(digest, "c2c451b648eedfaf44be8f87770284d9b6e60bb4f6ca1194704275abb1614424");
});

Deno.test("view: two lines behind the leading comments, every other byte as it was", () => {
  const text = `#:schema x.json\n\n# A fleet.\n${LAB}`;
  const view = viewText(text, fleetOf(text), "mac", "native");
  assert.ok(view.kind === "view");
  assert.equal(
    view.text,
    `#:schema x.json\n\n# A fleet.\ncommand_host = "mac"\ncommand_runtime = "native"\n${LAB}`,
  );
  const windows = text.replaceAll("\n", "\r\n");
  const crlf = viewText(windows, fleetOf(windows), "mac", "native");
  assert.ok(crlf.kind === "view");
  assert.equal(crlf.text, view.text.replaceAll("\n", "\r\n"));
});

Deno.test("view: of nobody, and of a view, there is none", () => {
  const fleet = fleetOf(LAB);
  const none = viewText(LAB, fleet, "gpu-z", "native");
  assert.ok(none.kind === "refused" && none.code === "host_unknown");
  assert.equal(viewText(LAB, fleet, "constructor", "native").kind, "refused");
  const view = viewText(LAB, fleet, "mac", "native");
  assert.ok(view.kind === "view");
  const again = viewText(view.text, fleetOf(view.text), "desk", "native");
  assert.ok(again.kind === "refused" && again.code === "already_a_view");
});

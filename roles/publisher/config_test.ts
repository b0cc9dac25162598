import assert from "node:assert/strict";
import { publisherToml } from "../../tests/fixtures/publisher_rig.ts";
import { readConfig } from "./config.ts";

function problems(text: string): string[] {
  const read = readConfig(text);
  return read.kind === "ok" ? [] : read.problems.map(({ path, code }) => `${path}: ${code}`);
}

const GOOD = publisherToml("r", "k");

Deno.test("a config with everything left out that may be", () => {
  const read = readConfig(
    'schema = 1\nroot = "r"\nkeys = "k"\n[[hosts]]\nid = "gpu-a"\nbackend = "bundle"\n',
  );
  assert.ok(read.kind === "ok", JSON.stringify(read));
  const { listen, validity_hours, serve, hosts } = read.model;
  assert.deepEqual(listen, { hostname: "127.0.0.1", port: 8734 });
  assert.equal(validity_hours, 168);
  assert.deepEqual(serve, {
    connections: 1024,
    responses: 256,
    idle_seconds: 30,
    drain_seconds: 10,
  });
  assert.deepEqual([hosts[0]?.channel, hosts[0]?.build_minutes], ["rolling", 120]);
});

Deno.test("every problem at once, each with its path", () => {
  const text = GOOD.replace('"gpu-b"', '"gpu-a"').replace('id = "nas"', 'id = "NAS"')
    .replace("127.0.0.1:0", "localhost:80").replace("http://192", "http://me:secret@192")
    .replace("schema = 1", "schema = 1\nvalidity_days = 3");
  assert.deepEqual(problems(text).sort(), [
    "hosts[1].id: duplicate_host",
    "hosts[2].id: malformed",
    "listen: address_malformed",
    "nix.cache: malformed",
    "validity_days: unknown_key",
  ]);
});

Deno.test("a nixos host needs a cache", () => {
  const text = GOOD.replace(/\[nix\]\n.*\n.*\n/, "");
  assert.deepEqual(problems(text), ["hosts[2].backend: cache_missing"]);
  assert.deepEqual(problems('schema = 1\nroot = "r"\nkeys = "k"\nhosts = []'), [
    "hosts: out_of_range",
  ]);
});

import assert from "node:assert/strict";
import { renderedServes, SERVES_PAGE } from "../../scripts/reference_serves.ts";
import { HOST_CODES } from "../../lib/serves/host_rules.ts";
import { readManifest } from "../../lib/serves/manifest.ts";
import { readTopology } from "../../lib/topology/read.ts";
import { LAB } from "../fixtures/topology.ts";

Deno.test("the tables of the reference of serves are what the code says", async () => {
  const page = await Deno.readTextFile(SERVES_PAGE);
  assert.equal(page, renderedServes(page), "run scripts/reference_serves.ts");
});

Deno.test("a broken serves.toml gives every problem it has, in the order of its lines", async () => {
  const read = readTopology(LAB);
  assert.ok(read.kind === "ok");
  const host = read.model.hosts["voice"];
  assert.ok(host !== undefined);
  const text = await Deno.readTextFile(new URL("broken/serves.toml", import.meta.url));
  const manifest = readManifest(text, {
    host: { id: "voice", host },
    tiers: [{ id: "stt", servedModel: "example-org/stt", ports: [8001] }],
  });
  assert.ok(manifest.kind === "invalid");
  const said = manifest.problems.map(({ line, column, path, code }) =>
    `${line}:${column} ${path} ${code}\n`
  ).join("");
  const golden = new URL("broken/serves.problems", import.meta.url);
  if (Deno.env.get("GOLDEN") === "write") await Deno.writeTextFile(golden, said);
  assert.equal(said, await Deno.readTextFile(golden));
  const shown = HOST_CODES.filter((code) => said.includes(` ${code}\n`));
  assert.ok(shown.length >= 6, `hardly any rule of the host is broken: ${shown}`);
});

Deno.test("the manifest in the guide is one that the reader takes", async () => {
  const guide = await Deno.readTextFile(new URL("../../docs/guides/serves.md", import.meta.url));
  const [, text = ""] = /```toml\n(schema = 1[^`]*)```/.exec(guide) ?? [];
  const read = readManifest(text);
  assert.equal(read.kind, "ok", JSON.stringify(read));
  const [, native = ""] = /```toml\n(runtime = "native"[^`]*)```/.exec(guide) ?? [];
  const kept = text.slice(0, text.indexOf("[serve.run]")).split("\n")
    .filter((line) => !/^(runtime|container|image) = /.test(line)).join("\n");
  const other = readManifest(`${kept}\n${native}`);
  assert.equal(other.kind, "ok", JSON.stringify(other));
});

/**
 * The five fleets of fleet/examples: valid, and shown and explained as the golden texts say. Write the
 * texts anew with `GOLDEN=write deno test -A tests/golden`, and read the difference.
 *
 * @module
 */

import assert from "node:assert/strict";
import { checkSet } from "../../lib/home/check_set.ts";
import type { ExportedFile } from "../../lib/home/export_commit.ts";
import { readConfig } from "../../roles/router/config.ts";
import { operator } from "../fixtures/operator_cli.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const FLEETS = ["workstation", "mac-laptop", "gpu-rack", "nixos-house", "reference"] as const;

/** Addresses that documents may use: 192.0.2.0/24, 198.51.100.0/24 and loopback. */
const DOCUMENTED = /^(192\.0\.2\.\d+|198\.51\.100\.\d+|127\.0\.0\.1)$/;

async function filesBelow(path: string, below = ""): Promise<ExportedFile[]> {
  const files: ExportedFile[] = [];
  for await (const { name, isDirectory } of Deno.readDir(`${path}/${below}`)) {
    const here = below === "" ? name : `${below}/${name}`;
    if (isDirectory) files.push(...await filesBelow(path, here));
    else files.push({ path: here, bytes: await Deno.readFile(`${path}/${here}`) });
  }
  return files.sort((left, right) => left.path < right.path ? -1 : 1);
}

Deno.test("fleets: there are these five", async () => {
  const names = [];
  for await (const { name, isDirectory } of Deno.readDir(`${ROOT}fleet/examples`)) {
    if (isDirectory) names.push(name);
  }
  assert.deepEqual(names.sort(), [...FLEETS].sort());
});

for (const fleet of FLEETS) {
  Deno.test(`fleets: ${fleet} is a valid set, router files included`, async () => {
    const files = await filesBelow(`${ROOT}fleet/examples/${fleet}`);
    const checked = checkSet(files);
    assert.ok(checked.kind === "ok", JSON.stringify(checked));
    const served = new Set<string>();
    for (const { path, bytes } of files) {
      const text = new TextDecoder().decode(bytes);
      for (const [address] of text.matchAll(/\b\d+\.\d+\.\d+\.\d+\b/g)) {
        assert.match(address, DOCUMENTED, path);
      }
      if (!path.endsWith("router.toml")) continue;
      const config = readConfig(text);
      assert.ok(config.kind === "ok", `${path}: ${JSON.stringify(config)}`);
      assert.ok(Object.hasOwn(checked.fleet.hosts, config.model.node), path);
      served.add(config.model.node);
    }
    // Whoever has the role of serving says what it serves, and routes to it.
    const serving = Object.entries(checked.fleet.hosts)
      .filter(([, host]) => host.roles.includes("router")).map(([id]) => id);
    assert.deepEqual([...served].filter((id) => serving.includes(id)).sort(), serving.sort());
  });

  Deno.test(`fleets: ${fleet} begins with a hint for editors`, async () => {
    for (const { path, bytes } of await filesBelow(`${ROOT}fleet/examples/${fleet}`)) {
      if (fleet === "workstation" && path === "router.toml") continue; // written for the demo
      const [, hint = ""] = /^#:schema (.*)\n/.exec(new TextDecoder().decode(bytes)) ?? [];
      const target = new URL(hint, new URL(`fleet/examples/${fleet}/${path}`, `file://${ROOT}`));
      assert.ok((await Deno.stat(target)).isFile, `${path}: ${hint}`);
    }
  });

  Deno.test(`fleets: ${fleet} is shown and explained as before`, async () => {
    const file = `${ROOT}fleet/examples/${fleet}/topology.toml`;
    const runs: readonly (readonly string[])[] = [
      ["topology", "show"],
      ["topology", "explain"],
      ["topology", "fingerprint"],
      ["topology", "resolve", "--target", "role:serving"],
      ["topology", "resolve", "--target", "all"],
    ];
    let said = "";
    for (const args of runs) {
      const { code, out, err } = await operator("/nowhere", ...args, file);
      said += `$ anvil-operator ${args.join(" ")}\n${out}${err}exit ${code}\n\n`;
    }
    said = said.replaceAll(ROOT, "");
    const golden = new URL(`fleets/${fleet}.txt`, import.meta.url);
    if (Deno.env.get("GOLDEN") === "write") await Deno.writeTextFile(golden, said);
    assert.equal(said, await Deno.readTextFile(golden));
  });
}

/**
 * Portkey's gateway, installed from npm beside our other tools. Newer hono releases break its
 * streaming, so the two packages that matter are pinned.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import { firstLine, type Found } from "./relay.ts";

const VERSION = "1.15.2";
const MANIFEST = {
  private: true,
  dependencies: { "@portkey-ai/gateway": VERSION },
  overrides: { hono: "4.9.7", "@hono/node-server": "1.13.5" },
};
const folder = fileURLToPath(new URL("../../.tools/peers/", import.meta.url));
const gateway = `${folder}node_modules/@portkey-ai/gateway`;

/** What node runs. */
export const portkeyScript = `${gateway}/build/start-server.js`;

/** Installs it once, if npm is here. */
export async function findPortkey(): Promise<Found> {
  const node = await firstLine("node", ["--version"]);
  if (node === null) {
    return { kind: "missing", why: "no node here; on Debian: apt-get install nodejs" };
  }
  const version = `${VERSION} on Node ${node.replace(/^v/, "")}`;
  if (await installed()) return { kind: "found", version };
  await Deno.mkdir(folder, { recursive: true });
  await Deno.writeTextFile(`${folder}package.json`, JSON.stringify(MANIFEST, null, 2) + "\n");
  console.error(`bench: installing @portkey-ai/gateway ${VERSION} into .tools/peers`);
  try {
    const { success, stderr } = await new Deno.Command("npm", {
      args: ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--omit=dev"],
      cwd: folder,
      signal: AbortSignal.timeout(120_000),
    }).output();
    if (success && await installed()) return { kind: "found", version };
    const last = new TextDecoder().decode(stderr).trim().split("\n").slice(-1)[0] ?? "";
    return { kind: "missing", why: `npm could not install it: ${last}` };
  } catch {
    return { kind: "missing", why: "no npm here; on Debian: apt-get install npm" };
  }
}

/** True when all three packages are there in the pinned versions. */
async function installed(): Promise<boolean> {
  const wanted = { "@portkey-ai/gateway": VERSION, ...MANIFEST.overrides };
  for (const [name, version] of Object.entries(wanted)) {
    const path = `${folder}node_modules/${name}/package.json`;
    try {
      const { version: got } = JSON.parse(await Deno.readTextFile(path)) as { version: string };
      if (got !== version) return false;
    } catch {
      return false;
    }
  }
  return true;
}

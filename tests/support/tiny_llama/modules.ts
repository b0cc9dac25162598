/**
 * The two engines from the npm registry, installed once into `.tools`, by the lock beside this file
 * and without any script of theirs.
 *
 * @module
 */

import { fileURLToPath } from "node:url";

const HERE = fileURLToPath(new URL("./", import.meta.url));
const TOOLS = fileURLToPath(new URL("../../../.tools/", import.meta.url));
/** Of systems this test never runs on; most of what is installed. */
const OTHERS = ["darwin", "win32", "linux/arm64"].map((name) =>
  `node_modules/onnxruntime-node/bin/napi-v6/${name}`
);

/** The folder that holds `node_modules`; null, said aloud, when it cannot be had. */
export async function engineModules(): Promise<string | null> {
  if (Deno.build.os !== "linux" || Deno.build.arch !== "x86_64") {
    return without("its engines are installed for linux on x86_64 alone");
  }
  const lock = await Deno.readFile(`${HERE}engines_lock.json`);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", lock)).toHex().slice(0, 16);
  const folder = `${TOOLS}engines-${digest}`;
  if (await exists(folder)) return folder;
  const half = `${folder}.${Deno.pid}`;
  await Deno.mkdir(half, { recursive: true });
  try {
    await Deno.copyFile(`${HERE}engines.json`, `${half}/package.json`);
    await Deno.writeFile(`${half}/package-lock.json`, lock);
    const { code, stderr } = await new Deno.Command("npm", {
      // Not `ci`: it wants packages of every platform in the lock, also those that are left out.
      args: ["install", "--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund"],
      cwd: half,
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).output();
    if (code !== 0) {
      const [first = ""] = new TextDecoder().decode(stderr).trim().split("\n");
      return without(`npm install ended with ${code}: ${first}`);
    }
    for (const name of OTHERS) await Deno.remove(`${half}/${name}`, { recursive: true });
    // Another test run may have been faster: then its folder is as good.
    await Deno.rename(half, folder).catch(() => {});
    return folder;
  } finally {
    if (await exists(half)) await Deno.remove(half, { recursive: true });
  }
}

function without(why: string): null {
  console.warn(`skipped: engines_test.ts: ${why}`);
  return null;
}

async function exists(path: string): Promise<boolean> {
  return await Deno.lstat(path).then(() => true, () => false);
}

import assert from "node:assert/strict";
import { lockConformance } from "../testing/lock_conformance.ts";
import { tempDir } from "../testing/temp_dir.ts";
import { tryLock } from "./lock.ts";

lockConformance("real", async () => {
  const dir = await tempDir();
  return {
    tryLock,
    at: dir.at,
    putDirectory: (name) => Deno.mkdir(dir.at(name)),
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  };
});

Deno.test("lock: a killed holder holds nothing", async () => {
  await using dir = await tempDir();
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--no-config",
      "-A",
      new URL("../testing/lock_child.ts", import.meta.url).href,
      dir.at("l"),
    ],
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.getReader();
  assert.equal(new TextDecoder().decode((await reader.read()).value), "held\n");
  assert.equal((await tryLock(dir.at("l"))).kind, "busy");
  child.kill("SIGKILL");
  await child.status;
  await reader.cancel();
  const ours = await tryLock(dir.at("l"));
  assert.ok(ours.kind === "held");
  await ours.release();
});

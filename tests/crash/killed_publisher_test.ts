import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import type { Floor } from "../../lib/adoption/envelope.ts";
import { publisherRig } from "../fixtures/publisher_rig.ts";

const CHILD = fileURLToPath(new URL("publisher_child.ts", import.meta.url));
const CONFIG = fileURLToPath(new URL("../../deno.json", import.meta.url));
const ROUNDS = 4;

Deno.test({
  name:
    "crash, publisher: after kill -9 the pointer is whole, what was said is out, numbers only grow",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    await using rig = await publisherRig();
    const trees = [await rig.tree("aaa", 1), await rig.tree("bbb", 2)];
    let floor: Floor | null = null;
    for (let round = 0; round < ROUNDS; round++) {
      const child = new Deno.Command(Deno.execPath(), {
        args: [
          ...["run", "-A", "--quiet", "--no-check", "--cached-only", "--config", CONFIG, CHILD],
          ...[rig.config.root, rig.config.keys, ...trees],
        ],
        stdout: "piped",
      }).spawn();
      let said = "";
      let timer: ReturnType<typeof setTimeout> | undefined;
      for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
        timer ??= setTimeout(() => child.kill("SIGKILL"), 20 + Math.random() * 200);
        said += text;
      }
      clearTimeout(timer);
      assert.equal((await child.status).signal, "SIGKILL");
      const numbers = said.trimEnd().split("\n").map(Number);
      assert.ok(numbers.every((number, n) => n === 0 || number > (numbers[n - 1] as number)));
      assert.ok((numbers[0] as number) > ((floor as Floor | null)?.sequence ?? 0));
      // The one after the last may be out and not said yet.
      const offer = await rig.look("gpu-a", floor);
      assert.ok(offer !== null && offer.floor.sequence >= (numbers.at(-1) as number));
      floor = offer.floor;
    }
  },
});

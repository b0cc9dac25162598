/**
 * Publishes two trees in turn until it is killed, and says each number that it was told is out. Run
 * by `killed_publisher_test.ts`.
 *
 *     publisher_child.ts ROOT KEYS TREE_A TREE_B
 *
 * @module
 */

import { systemClock } from "../../lib/host/clock.ts";
import { sha256 } from "../../lib/host/digest.ts";
import { systemDirectories } from "../../lib/host/directories.ts";
import { systemDownload } from "../../lib/host/download.ts";
import { systemFiles } from "../../lib/host/files.ts";
import { tryLock } from "../../lib/host/lock.ts";
import { runProcess } from "../../lib/host/process.ts";
import { publish } from "../../roles/publisher/publish.ts";
import { publishAsk, publisherConfig } from "../fixtures/publisher_rig.ts";

const [root = "", keys = "", ...trees] = Deno.args;
const ports = {
  files: systemFiles,
  directories: systemDirectories,
  tryLock,
  clock: systemClock,
  sha256,
  download: systemDownload(systemClock),
  run: runProcess,
  progress: () => {},
};
const deadline = setTimeout(() => {
  throw new Error("nobody killed it");
}, 30_000);
for (let n = 0; n < 100_000; n++) {
  const rev = ["aaa", "bbb"][n % 2] as string;
  const anyway = { allowDowngradeFrom: ["aaa", "bbb"], reinstate: true };
  const ask = publishAsk(trees[n % 2] as string, rev, anyway);
  const done = await publish(ports, publisherConfig(root, keys), ask);
  if (done.kind === "refused") throw new Error(done.code);
  Deno.stdout.writeSync(new TextEncoder().encode(`${done.payload.sequence}\n`));
}
clearTimeout(deadline);

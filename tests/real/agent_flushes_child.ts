/**
 * So many mutations, one after the other: `agent_flushes_child.ts FOLDER COUNT`. Run by
 * `agent_flushes_test.ts`, which counts what waits for the disk.
 *
 * @module
 */

import { OperationRig, put } from "../../lib/testing/operation_rig.ts";

const [folder = "", count = "0"] = Deno.args;
using rig = await OperationRig.open({ folder });
for (let n = 0; n < Number(count); n++) {
  const answer = await rig.runner.call(put("a", { key: `key-0000-${n}` }));
  if (answer.kind !== "done") throw new Error(answer.code);
}

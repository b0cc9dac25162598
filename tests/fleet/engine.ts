/**
 * The engine of a host of the fleet: the fixture, with its words in a file and a log of what came.
 *
 *     engine.js --port N --model ID --folder DIR
 *
 * `DIR/PORT.jsonl` gets a line per POST, before it is answered and after. `DIR/PORT.json` says what it does from now
 * on, `{models?, fault?}`: read at every change.
 *
 * @module
 */

import { parseArgs } from "node:util";
import { type Engine, startEngine } from "../fixtures/engine.ts";
import { headerOf, type RequestHead } from "../fixtures/http_wire.ts";
import type { EngineSetting } from "./rig.ts";

/** How fast it speaks: a stream of a hundred tokens lasts some seconds. */
const TOKENS_A_SECOND = 40;

const { values } = parseArgs({
  options: {
    port: { type: "string", default: "8001" },
    model: { type: "string", default: "org/model" },
    folder: { type: "string", default: "." },
  },
});
const log = `${values.folder}/${values.port}.jsonl`;
const words = `${values.folder}/${values.port}.json`;

function note(head: RequestHead, when: string): void {
  if (head.method !== "POST") return; // a probe
  const id = headerOf(head, "x-fixture-id") ?? null;
  const line = { at: Date.now(), id, target: head.target, when };
  Deno.writeTextFileSync(log, `${JSON.stringify(line)}\n`, { append: true });
}

async function obey(engine: Engine): Promise<void> {
  const text = await Deno.readTextFile(words).catch(() => "");
  if (text === "") return;
  const { models, fault } = JSON.parse(text) as EngineSetting;
  if (models !== undefined) engine.setModel(...models);
  if (fault !== undefined) engine.setFault(fault);
}

const engine = await startEngine({
  port: Number(values.port),
  models: [values.model],
  rate: TOKENS_A_SECOND,
  witness: note,
});
await Deno.remove(words).catch(() => {}); // what an earlier one was told is over
const stop = () => engine.close().then(() => Deno.exit(0));
Deno.addSignalListener("SIGTERM", stop);
console.log(`listening on ${engine.url}`);
let seen = 0;
for (;;) {
  const at = await Deno.stat(words).then(({ mtime }) => mtime?.getTime() ?? 0, () => 0);
  if (at !== seen) {
    seen = at;
    await obey(engine);
  }
  await new Promise((resolve) => setTimeout(resolve, 100));
}

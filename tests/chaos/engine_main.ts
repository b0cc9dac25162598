/**
 * The engine fixture, with a diary on disk: every request that came, by the marker its client gave
 * it. A line is written before the request is answered, so a kill loses none.
 *
 *     engine_main.ts --port 8001 --model org/model --diary FILE
 *
 * @module
 */

import { parseArgs } from "node:util";
import { startEngine } from "../fixtures/engine.ts";
import { headerOf } from "../fixtures/http_wire.ts";
import { MARKER_HEADER } from "./facts.ts";

async function main(): Promise<void> {
  const { values } = parseArgs({
    args: [...Deno.args],
    options: {
      port: { type: "string", default: "0" },
      hostname: { type: "string", default: "127.0.0.1" },
      model: { type: "string", default: "org/model" },
      rate: { type: "string", default: "25" },
      // Long enough that a kill falls between a request and the first word of its answer.
      ttft: { type: "string", default: "400" },
      diary: { type: "string" },
    },
  });
  const { port, hostname, model, diary, rate, ttft } = values;
  if (diary === undefined) throw new TypeError("--diary FILE is required");
  const encoder = new TextEncoder();
  const file = await Deno.open(diary, { create: true, append: true });
  const engine = await startEngine({
    port: Number(port),
    hostname,
    models: [model],
    rate: Number(rate),
    ttftMs: Number(ttft),
    witness: (head, when) => {
      const marker = headerOf(head, MARKER_HEADER);
      if (marker === undefined) return; // a probe
      file.writeSync(
        encoder.encode(`${JSON.stringify({ at: Date.now(), model, marker, when })}\n`),
      );
    },
  });
  Deno.addSignalListener("SIGTERM", () => Deno.exit(0));
  console.log(`listening on ${engine.url}`);
}

if (import.meta.main) await main();

/**
 * The load process: takes one job as JSON in its argument, prints what it saw as JSON, ends.
 *
 * @module
 */

import { loadCancels } from "./cancel_load.ts";
import type { Job, Seen } from "./job.ts";
import { loadJson } from "./json_load.ts";
import { loadStreams } from "./sse_load.ts";
import { loadUploads } from "./upload_load.ts";

function run({ target, work }: Job): Seen {
  switch (work.kind) {
    case "json":
      return loadJson(target, work);
    case "sse":
      return loadStreams(target, work);
    case "cancel":
      return loadCancels(target, work);
    case "uploads":
      return loadUploads(target, work);
  }
}

console.log(JSON.stringify(run(JSON.parse(Deno.args[0] ?? "") as Job)));
Deno.exit(0);

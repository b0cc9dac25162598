/**
 * Downloads one blob until it is killed, or done. Run by `tests/crash/killed_download_test.ts`.
 *
 *     download_child.ts URL SHA256 SIZE PATH
 *
 * @module
 */

import { systemClock } from "../host/clock.ts";
import { systemDownload } from "../host/download.ts";

const [url = "", sha256 = "", size, path = ""] = Deno.args;
const say = (text: string) => Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));
const download = systemDownload(systemClock);
const outcome = await download.blob({
  url,
  sha256,
  size: Number(size),
  path,
  deadlineMs: 60_000,
  idleMs: 30_000,
  onProgress: ({ phase, done }) => say(`${phase} ${done}`),
});
download.close();
say(outcome.kind === "ok" ? `ok ${outcome.resumed}` : outcome.code);

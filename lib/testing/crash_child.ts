/**
 * Writes numbers and says which of them are on the disk, until it is killed. Run by `crash_test.ts`.
 *
 *     crash_child.ts journal|file PATH FIRST
 *
 * @module
 */

import { systemFiles } from "../host/files.ts";
import { openJournal } from "../host/journal.ts";

const [what, path = "", first] = Deno.args;
const deadline = setTimeout(() => {
  throw new Error("nobody killed it");
}, 30_000);
/** Larger than a page, so that a write has a middle to die in. */
const filler = "x".repeat(10_000);
const opened = what === "journal" ? await openJournal(path, (value) => value) : null;
if (opened !== null && opened.kind !== "open") throw new Error(opened.kind);

for (let n = Number(first); n < 1_000_000; n++) {
  if (opened !== null) await opened.journal.append({ n, filler });
  else {
    const bytes = new TextEncoder().encode(JSON.stringify({ n, filler }));
    const done = await systemFiles.replaceFile(path, bytes, 0o600);
    if (done.kind !== "ok") throw new Error(done.cause);
  }
  Deno.stdout.writeSync(new TextEncoder().encode(`${n}\n`));
}
clearTimeout(deadline);

// needs: unshare ip tc mount ss ps curl stat setsid faketime
/**
 * One short walk of chaos, so that what walks for minutes elsewhere is tried here too.
 *
 * @module
 */

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { missingFor } from "../../scripts/needs.ts";

const MAIN = fileURLToPath(new URL("../chaos/main.ts", import.meta.url));
const ignore = Deno.build.os !== "linux" || Deno.uid() !== 0 ||
  missingFor(import.meta.url).length > 0;

Deno.test({
  name: "real, chaos: a walk of one seed on one host, without a violation",
  ignore,
  async fn() {
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "-A", "--frozen", "--cached-only", "--quiet", MAIN],
        ...["--seed", "real-1", "--minutes", "0.4", "--hosts", "1", "--quiet"],
      ],
      stdin: "null",
    }).output();
    const text = new TextDecoder();
    const said = text.decode(stdout) + text.decode(stderr);
    if (code === 3) return console.warn(`skipped: ${said.trim()}`);
    assert.equal(code, 0, said);
    assert.match(said, /^chaos seed real-1: no violation/m);
  },
});

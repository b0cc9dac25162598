import assert from "node:assert/strict";
import { unplaced } from "./unplaced.ts";

Deno.test("remarks: no path, known or quoted, and no token", () => {
  const places = new Map([["/opt/anvil", "root"], ["/opt/anvil/state", "state"], ["", "none"]]);
  const text = "ENOENT: No such file (os error 2): open '/opt/anvil/state/receiver.jsonl'";
  assert.equal(
    unplaced(text, places),
    "ENOENT: No such file (os error 2): open '<state>/receiver.jsonl'",
  );
  assert.equal(unplaced("readfile '/home/x/.ssh/id'", places), "readfile <path>");
  assert.equal(unplaced(String.raw`open "C:\Users\x"`, places), "open <path>");
  assert.ok(!unplaced(`anvil_${"a".repeat(43)}`, places).includes("aaaa"));
  assert.equal(unplaced("bundle_refused: it is cut", places), "bundle_refused: it is cut");
});

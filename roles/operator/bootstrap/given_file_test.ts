import assert from "node:assert/strict";
import { refuse } from "../../../lib/core/refusal.ts";
import { refuseGiven } from "./given_file.ts";

Deno.test("a file outside of what the operator may read is named by its flag, with a way out", () => {
  const refused = refuseGiven("--bundle", refuse("file_unreadable", "it was not let"));
  assert.equal(refused.code, "file_unreadable");
  assert.equal(refused.detail, "--bundle: it was not let");
  assert.match(refused.nextStep ?? "", /current folder or into the home/);
});

Deno.test("another refusal keeps its own next step", () => {
  const refused = refuseGiven("--plan", refuse("file_too_large", "over 64 KiB", "name a plan"));
  assert.deepEqual(refused, refuse("file_too_large", "--plan: over 64 KiB", "name a plan"));
});

import assert from "node:assert/strict";
import type { ProgramContext } from "../../../lib/terminal/program.ts";
import { report } from "./verb.ts";

/** What a report prints and exits with. */
function said(json: boolean, data: Parameters<typeof report>[1]["data"]) {
  let out = "";
  let exit = -1;
  const terminal = {
    out: (text: string) => void (out += text),
    err: () => {},
    isTerminal: false,
    color: false,
  };
  const context = {
    terminal,
    exit: (code: number) => void (exit = code),
  } as unknown as ProgramContext;
  report(context, { exit: 0, code: "would_wait", detail: "later", data }, json);
  return { out, exit };
}

Deno.test("report: what a verb tells besides never hides its code", () => {
  const { out, exit } = said(true, { code: null, detail: 7, staged: "x" });
  const { ok, data } = JSON.parse(out);
  assert.deepEqual([ok, exit, data], [true, 0, {
    code: "would_wait",
    detail: "later",
    staged: "x",
  }]);
  assert.equal(said(false, null).out, "would_wait: later\n");
});

import assert from "node:assert/strict";
import { elapsedText, RunView } from "./run_view.ts";

function rig(isTerminal: boolean, quiet = false, steps: readonly string[] = []) {
  let now = 0;
  let said = "";
  const terminal = {
    out: () => assert.fail("a view writes nothing to standard output"),
    err: (text: string) => void (said += text),
    isTerminal,
    color: false,
  };
  const view = new RunView(terminal, { monotonic: () => now }, { host: "h", quiet, steps });
  return {
    view,
    at: (ms: number) => {
      now = ms;
      return view;
    },
    said: () => said,
  };
}

Deno.test("run view: on a terminal one line changes in place, and stays when the next begins", () => {
  const { at, said } = rig(true, false, ["stop serve a", "start serve b"]);
  at(500).tell("000001-enter: stop serve a");
  at(12_000).tell("000001-enter: stop serve a");
  at(75_000).tell("000001-enter: start serve b");
  at(76_000).remark("something else");
  at(80_000).end();
  // As a terminal shows it: what follows a return writes over what was there.
  const shown = said().split("\n").map((line) => line.split("\r").at(-1)?.trimEnd());
  assert.deepEqual(shown, [
    "   1 min 15 s  [1/2] 000001-enter: stop serve a",
    "h: something else",
    "   1 min 20 s  [2/2] 000001-enter: start serve b",
    "",
  ]);
});

Deno.test("run view: in a pipe a line for each step, once; for a program nothing", () => {
  const pipe = rig(false);
  pipe.at(500).tell("a");
  pipe.at(900).tell("a");
  pipe.at(1000).tell("b\x1b[2J\nc");
  pipe.at(2000).end();
  assert.equal(pipe.said(), "h: 0.5 s: a\nh: 1.0 s: b\ufffd[2J c\n");
  for (const terminal of [true, false]) {
    const quiet = rig(terminal, true);
    quiet.at(1).tell("a");
    quiet.at(2).remark("b");
    quiet.at(3).end();
    assert.equal(quiet.said(), "");
  }
});

Deno.test("run view: no line is longer than a terminal, and a shorter one covers the last", () => {
  const { at, said } = rig(true);
  at(0).tell("x".repeat(300));
  at(1).end();
  for (const line of said().split(/[\r\n]/)) assert.ok(line.length <= 79, line);
});

Deno.test("elapsed: tenths, then seconds, then minutes; never below zero", () => {
  assert.deepEqual([-5, 0, 9940, 10_000, 59_999, 60_000, 3_600_000].map(elapsedText), [
    ...["0.0 s", "0.0 s", "9.9 s", "10 s", "59 s", "1 min 00 s", "60 min 00 s"],
  ]);
});

import assert from "node:assert/strict";
import { failedFiles, tallyLine, tallyOf } from "./test_summary.ts";

Deno.test("every shape of deno's summary is read", () => {
  const shapes: readonly (readonly [string, number, number, number, number])[] = [
    ["ok | 12 passed | 0 failed (1s)", 0, 12, 0, 0],
    ["ok | 1 passed (1 step) | 0 failed (9ms)", 0, 1, 0, 0],
    ["FAILED | 1 passed (1 step) | 2 failed (3 steps) | 1 ignored (13ms)", 1, 1, 2, 1],
    [
      "ok | 7 passed (20 steps) | 0 failed | 3 ignored (2 steps) | 4 filtered out (1m2s)",
      0,
      7,
      0,
      3,
    ],
    ["ok | 0 passed | 0 failed | 2 ignored (1ms)", 0, 0, 0, 2],
    [
      "\u001b[0m\u001b[32mok\u001b[0m | 5 passed | 0 failed \u001b[0m\u001b[38;5;245m(1s)\u001b[0m\r",
      0,
      5,
      0,
      0,
    ],
  ];
  for (const [line, exitCode, passed, failed, skipped] of shapes) {
    const output = `a ... ok (1ms)\n\n${line}\n\n`;
    assert.deepEqual(tallyOf({ output, exitCode }), { passed, failed, skipped }, line);
  }
});

Deno.test("the last summary counts: a test may print one of its own", () => {
  const output = "ok | 99 passed | 0 failed (1s)\nFAILED | 1 passed | 1 failed (1s)\n";
  assert.deepEqual(tallyOf({ output, exitCode: 1 }), { passed: 1, failed: 1, skipped: 0 });
});

Deno.test("an end without a summary, and a bad exit without a failure, are failures", () => {
  const crash = tallyOf({ output: "running 1 test from ./a_test.ts\n", exitCode: 137 });
  assert.equal(crash.failed, 1);
  assert.match(crash.remark ?? "", /137/);
  const leak = tallyOf({ output: "ok | 3 passed | 0 failed (1s)", exitCode: 1 });
  assert.deepEqual([leak.passed, leak.failed], [3, 1]);
  const silent = tallyOf({ output: "", exitCode: 0 });
  assert.equal(silent.failed, 1);
});

Deno.test("the line for .ci/run", () => {
  assert.equal(
    tallyLine("real", { passed: 1, failed: 2, skipped: 3 }),
    "real: 1 passed, 2 failed, 3 skipped",
  );
});

Deno.test("the files of failed tests, in parallel and one by one", () => {
  const parallel = "./a_test.ts => x ... ok (1ms)\n./lib/b_test.ts => y ... FAILED (2ms)\n" +
    "in front ..../lib/c_test.ts => z ... FAILED (2s)\n./lib/b_test.ts => w ... FAILED (1ms)\n";
  assert.deepEqual(failedFiles(parallel), ["./lib/b_test.ts", "./lib/c_test.ts"]);
  const serial =
    "running 2 tests from ./d_test.ts\nx ... ok (1ms)\ny ... \u001b[31mFAILED\u001b[0m (1ms)\n" +
    "running 1 test from ./e_test.ts\nz ... ok (1ms)\n";
  assert.deepEqual(failedFiles(serial), ["./d_test.ts"]);
  assert.deepEqual(failedFiles("ok | 1 passed | 0 failed (1ms)"), []);
});

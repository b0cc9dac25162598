import assert from "node:assert/strict";
import { done, fell } from "../../lib/dispatch/outcome.ts";
import { Progress } from "./progress.ts";

function shown(hosts: number, isTerminal: boolean, json: boolean): string {
  let err = "";
  const terminal = {
    out: () => assert.fail("standard output is the result's"),
    err: (text: string) => err += text,
    ...{ isTerminal, color: false },
  };
  const progress = new Progress(terminal, hosts, json);
  progress.tell(done("a", null));
  progress.tell(fell("b", "unreachable", "no_route", "no"));
  progress.end();
  return err;
}

Deno.test("progress: a line that changes on a terminal, a line per host in a pipe, none for programs", () => {
  const line = "2/12 hosts, 1 done, 1 not";
  assert.equal(
    shown(12, true, false),
    `\r1/12 hosts, 1 done, 0 not\r${line}\r${" ".repeat(line.length)}\r`,
  );
  assert.equal(shown(12, false, false), "a: done\nb: unreachable no_route\n");
  assert.equal(shown(12, true, true), "");
  assert.equal(shown(1, false, false), "");
});

import assert from "node:assert/strict";
import { done, fell, type Outcome } from "../../lib/dispatch/outcome.ts";
import type { Dispatched } from "./dispatch.ts";
import { serveList } from "./serve_text.ts";

const serve = (name: string, state: string) => ({ name, state });
const of = (...outcomes: readonly Outcome[]) =>
  serveList({ outcomes, silent: [] } as unknown as Dispatched).text;

Deno.test("serves list: problems first, then the hosts of one serve beside each other, and a sum", () => {
  const text = of(
    done("a", { serves: [serve("one", "running"), serve("two", "stopped")] }),
    done("b", { serves: [serve("one", "running"), serve("two", "of another version")] }),
    done("c", { serves: [serve("one", "foreign")] }),
    done("d", { serves: [] }),
    fell("e", "unreachable", "no_route", "no way there"),
  );
  const rows = text.split("\n").slice(1).flatMap((line) =>
    /^([a-e]) +(\S+)/.exec(line)?.slice(1, 3).join(" ") ?? []
  );
  assert.deepEqual(rows, ["e -", "c one", "b two", "a two", "a one", "b one", "d -"]);
  assert.match(
    text,
    /^5 serves on 5 hosts: 1 foreign, 1 stopped, 2 running; of 1 nothing was told$/m,
  );
});

Deno.test("serves list: one row needs no sum", () => {
  assert.doesNotMatch(of(done("a", { serves: [serve("one", "running")] })), / serves on /);
});

import assert from "node:assert/strict";
import { readOptions } from "./options.ts";
import { configText, denoWords } from "./router_start.ts";
import { plan, SCENARIOS, turns } from "./scenarios.ts";

Deno.test("options are read, scenarios keep their order", () => {
  const options = readOptions(["--only", "uploads,json", "--quick", "--rounds", "2"]);
  assert.ok(typeof options === "object");
  assert.deepEqual(options.only, ["json", "uploads"]);
  assert.equal(options.quick, true);
  assert.equal(options.rounds, 2);
  const plain = readOptions([]);
  assert.ok(typeof plain === "object");
  assert.deepEqual(plain.only, [...SCENARIOS]);
});

for (
  const args of [["--rounds", "0"], ["--rounds", "x"], ["--only", "speed"], ["--json"], ["--slow"]]
) {
  Deno.test(`a wrong command line is refused: ${args.join(" ")}`, () => {
    assert.equal(typeof readOptions(args), "string");
  });
}

Deno.test("relays take turns, and each round begins with the next one", () => {
  assert.deepEqual(turns(["a", "b", "c"], 0), ["a", "b", "c"]);
  assert.deepEqual(turns(["a", "b", "c"], 4), ["b", "c", "a"]);
  assert.deepEqual(turns([], 1), []);
});

Deno.test("a plan's rounds can be set for every scenario", () => {
  for (const scenario of SCENARIOS) assert.equal(plan(scenario, true, 7).rounds, 7);
});

Deno.test("the router task's own flags are taken, with its variables filled in", () => {
  const line = 'root=$PWD && cd "$INIT_CWD" && deno run --config "$root/deno.json" ' +
    '"--allow-read=$INIT_CWD,/etc/anvil" "$root/main.ts"';
  assert.deepEqual(denoWords(line, { root: "/r", INIT_CWD: "/with space" }), [
    "run",
    "--config",
    "/r/deno.json",
    "--allow-read=/with space,/etc/anvil",
    "/r/main.ts",
  ]);
  assert.equal(denoWords("deno run $OTHER", {}), null);
  assert.equal(denoWords("deno run a; rm b", {}), null);
  assert.equal(denoWords("", {}), null);
});

Deno.test("the bench's router config names the ports it was given", () => {
  const text = configText({ dir: "/d", port: 1, adminPort: 2, upstreamPort: 3 });
  assert.match(text, /data = "127\.0\.0\.1:1"/);
  assert.match(text, /admin = "127\.0\.0\.1:2"/);
  assert.match(text, /endpoint = "http:\/\/127\.0\.0\.1:3"/);
});

import assert from "node:assert/strict";
import { figures, markdownReport, plainReport, type Run } from "./report.ts";
import { counting, Results } from "./results.ts";

function run(): Run {
  const results = new Results();
  const add = (relay: string, round: number, value: number, problems: string[] = []) =>
    results.add({
      scenario: "rss",
      round,
      relay,
      numbers: counting({ numbers: { "idle.rss": value }, problems }),
      problems,
    });
  add("nginx", 0, 10e6);
  add("nginx", 1, 20e6);
  add("router", 0, 100e6);
  add("router", 1, 80e6);
  add("Portkey", 0, 90e6, ["status 500"]);
  add("haproxy", 0, 15e6);
  add("haproxy", 1, 15e6, ["connection refused"]);
  const introduce = (name: string, skipped: string | null = null) => ({
    name,
    setup: "set up",
    version: "1",
    skipped,
  });
  return {
    machine: {
      cores: 2,
      memoryGib: 8,
      cpu: "a cpu",
      kernel: "Linux 6.1",
      deno: "2.9.6",
      pins: { relay: 0, load: 1 },
      loadBefore: 0.1,
    },
    relays: [
      introduce("nginx"),
      introduce("haproxy"),
      introduce("Portkey"),
      introduce("router"),
      introduce("router X=1", "there is no such client"),
    ],
    results,
    command: "make bench",
    seconds: 12,
  };
}

Deno.test("figures show medians, paired ratios, invalid rows and rounds left out", () => {
  const { results, relays } = run();
  const names = relays.map(({ name }) => name);
  assert.deepEqual(figures(results, "rss", names), [
    ["median of the rounds", "nginx", "haproxy", "Portkey", "router"],
    ["idle RSS MB", "15.0", "15.0* (x1.50, 1.50-1.50)", "invalid", "90.0 (x7.00, 4.00-10.0)"],
  ]);
});

Deno.test("both reports name what was skipped, what was wrong, and how each bar came out", () => {
  for (const text of [plainReport(run()), markdownReport(run())]) {
    assert.match(text, /SKIPPED router X=1: there is no such client/);
    assert.match(text, /rss, Portkey: status 500/);
    assert.match(text, /rss, haproxy: connection refused/);
    assert.match(text, /met/);
    assert.match(text, /90\.0 MB \(80\.0 to 100\.0\)/);
  }
});

Deno.test("a scenario that was not run has no bars and no table", () => {
  assert.doesNotMatch(plainReport(run()), /SSE|Portkey: requests/);
});

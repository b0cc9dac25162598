import assert from "node:assert/strict";
import { graceProblem, MARGIN_SECONDS, readGrace } from "./grace.ts";

function seconds(name: string, text: string): number | string {
  const grace = readGrace(name, text);
  return grace.kind === "grace" ? grace.seconds : grace.code;
}

const unit = (line: string) => `[Unit]\nTimeoutStopSec=1\n[Service]\nExecStart=/x\n${line}\n`;
const ROUTER = { program: "router", work: "requests" } as const;
const compose = (line: string) => `services:\n  router:\n    image: x\n    ${line}\n`;
const plist = (body: string) =>
  `<plist><dict><key>Label</key><string>x</string>${body}</dict></plist>`;

Deno.test("grace: what each supervisor's file grants, its default included", () => {
  const cases: readonly (readonly [name: string, text: string, expected: number | string])[] = [
    ["a.service", unit("TimeoutStopSec=130"), 130],
    ["a.service", unit("TimeoutStopSec = 2min 10s"), 130],
    ["a.service", unit("TimeoutStopSec=infinity"), Infinity],
    ["a.service", unit("TimeoutStopSec=0"), Infinity],
    ["a.service", unit("TimeoutSec=40"), 40],
    ["a.service", unit("TimeoutStopSec=130\nTimeoutStopSec=7"), 7],
    ["a.service", unit("TimeoutStopSec=130\nTimeoutStopSec="), 90],
    ["a.service", unit("# TimeoutStopSec=130"), 90],
    ["a.service", unit("TimeoutStopSec=soon"), "grace_unreadable"],
    ["a.service", unit("TimeoutStopSec=1fortnight"), "grace_unreadable"],
    ["override.conf", unit("TimeoutStopSec=5"), 5],
    ["compose.yaml", compose("stop_grace_period: 2m10s"), 130],
    ["compose.yml", compose('stop_grace_period: "150s" # long'), 150],
    ["compose.yml", compose("# stop_grace_period: 150s"), 10],
    ["compose.yml", compose("restart: always"), 10],
    ["compose.yml", compose("stop_grace_period: 150"), "grace_unreadable"],
    ["compose.yml", compose("stop_grace_period: 150s") + "  b:\n    stop_grace_period: 3s\n", 3],
    ["a.plist", plist("<key>ExitTimeOut</key>\n<integer>130</integer>"), 130],
    ["a.plist", plist("<key>ExitTimeOut</key><integer>0</integer>"), Infinity],
    ["a.plist", plist("<!-- <key>ExitTimeOut</key><integer>130</integer> -->"), 20],
    ["a.plist", plist("<key>ExitTimeOut</key><string>130</string>"), "grace_unreadable"],
    ["a.toml", "", "supervisor_unknown"],
  ];
  for (const [name, text, expected] of cases) {
    assert.equal(seconds(name, text), expected, `${name}: ${text}`);
  }
});

Deno.test("grace: must be above the drain budget, and the refusal says by how much", () => {
  const at = (value: number) => {
    const grace = readGrace("a.service", unit(`TimeoutStopSec=${value}`));
    assert.ok(grace.kind === "grace");
    return graceProblem(grace, 120, ROUTER);
  };
  assert.equal(at(120 + MARGIN_SECONDS), null);
  for (const value of [1, 90, 120, 120 + MARGIN_SECONDS - 1]) {
    const problem = at(value);
    assert.equal(problem?.code, "grace_too_short");
    assert.match(problem?.detail ?? "", new RegExp(`TimeoutStopSec is ${value} s; .*120 s`));
    assert.match(problem?.nextStep ?? "", /125/);
  }
});

Deno.test("grace: the supervisor files of this tree last for the default drain budget", async () => {
  for (
    const name of [
      "systemd/anvil-router.service",
      "systemd/anvil-router@.service",
      "launchd/org.anvil.router.plist",
      "container/compose.yaml",
      "systemd/anvil-agent.service",
      "systemd/user/anvil-agent.service",
      "launchd/org.anvil.agent.plist",
    ]
  ) {
    const text = await Deno.readTextFile(new URL(`../../fleet/units/${name}`, import.meta.url));
    const grace = readGrace(name, text);
    assert.ok(grace.kind === "grace", name);
    assert.equal(grace.stated, true, name);
    const agent = name.includes("agent");
    const drained = agent ? { program: "agent", work: "operations" } as const : ROUTER;
    assert.equal(graceProblem(grace, agent ? 30 : 120, drained), null, name);
  }
});

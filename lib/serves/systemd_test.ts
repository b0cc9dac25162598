import assert from "node:assert/strict";
import { nativeServe } from "../../tests/fixtures/serves.ts";
import { FakeProcesses } from "../testing/fake_process.ts";
import type { ProcessFact } from "./os_facts.ts";
import { readUnit, secondsOf, systemd } from "./systemd.ts";
import { unitFile, windowsWord } from "./unit_file.ts";

const SERVE = nativeServe({ stop_grace_seconds: 90 });

const SHOWN = [
  "LoadState=loaded",
  "ActiveState=active",
  "SubState=running",
  "MainPID=4321",
  "InvocationID=0123456789abcdef0123456789abcdef",
  "NeedDaemonReload=no",
  "ExecStart={ path=/opt/engine/bin/engine ; argv[]=/opt/engine/bin/engine --port 8002 ; " +
  "ignore_errors=no ; start_time=[n/a] ; stop_time=[n/a] ; pid=0 ; code=(null) ; status=0/0 }",
  "WorkingDirectory=/opt/engine",
  "EnvironmentFiles=",
  "TimeoutStopUSec=1min 30s",
  "SendSIGKILL=no",
  "KillMode=control-group",
  "Result=success",
  "ExecMainCode=0",
  "ExecMainStatus=0",
  "ExecMainExitTimestamp=",
].join("\n");

Deno.test("systemd: a unit as declared has no difference", () => {
  assert.deepEqual(readUnit(SHOWN, SERVE), {
    loaded: true,
    differences: [],
    activity: "running",
    mainPid: 4321,
    life: "0123456789abcdef0123456789abcdef",
    exit: null,
  });
  assert.equal(readUnit("nothing", SERVE), null);
});

Deno.test("systemd: everything that would make a stop kill, or start something else, is named", () => {
  const wrong = (from: string, to: string) =>
    readUnit(SHOWN.replace(from, to), SERVE)?.differences.join("; ");
  assert.equal(wrong("--port 8002", "--port 1"), "ExecStart is not `argv`");
  assert.equal(wrong("=/opt/engine\n", "=/\n"), "WorkingDirectory is not `cwd`");
  assert.equal(
    wrong("SendSIGKILL=no", "SendSIGKILL=yes"),
    "SendSIGKILL is not `no`: a stop would kill",
  );
  assert.equal(wrong("control-group", "process"), "KillMode is not `control-group`");
  assert.equal(wrong("1min 30s", "infinity"), "TimeoutStopSec is not `stop_grace_seconds`");
  assert.equal(
    wrong("EnvironmentFiles=", "EnvironmentFiles=/x (ignore_errors=no)"),
    "EnvironmentFile is not `env_file`",
  );
  assert.match(wrong("Reload=no", "Reload=yes") ?? "", /daemon-reload/);
});

Deno.test("systemd: how it ended, by code, by signal, out of memory", () => {
  const exit = (code: number, status: number, result: string) =>
    readUnit(
      SHOWN.replace("ActiveState=active", "ActiveState=failed")
        .replace("ExecMainCode=0", `ExecMainCode=${code}`)
        .replace("ExecMainStatus=0", `ExecMainStatus=${status}`)
        .replace("Result=success", `Result=${result}`)
        .replace("ExecMainExitTimestamp=", "ExecMainExitTimestamp=Sun 2026-11-29 20:29:01 UTC"),
      SERVE,
    )?.exit;
  const at = Date.UTC(2026, 10, 29, 20, 29, 1);
  assert.deepEqual(exit(1, 3, "exit-code"), { code: 3, signal: null, at, outOfMemory: false });
  assert.deepEqual(exit(2, 9, "oom-kill"), {
    code: null,
    signal: "SIGKILL",
    at,
    outOfMemory: true,
  });
});

Deno.test("systemd: spans of time", () => {
  assert.deepEqual(["30s", "1min 30s", "1h", "infinity", "1.5s", ""].map(secondsOf), [
    30,
    90,
    3600,
    null,
    null,
    null,
  ]);
});

Deno.test("systemd: which processes are of a unit, under both kinds of control groups", () => {
  const { run } = new FakeProcesses(() => null);
  const of = (scope: string): ProcessFact => ({
    ...{ pid: 1, parent: 0, group: 1, startedAt: 0, residentMib: 1, isZombie: false },
    ...{ scope, commandLine: "" },
  });
  const unit = SERVE.unit;
  const user = `/user.slice/user-0.slice/user@0.service/app.slice/${unit}`;
  const table = [
    of(`0::${user}`),
    of(`9:name=systemd:/docker/abc${user},8:pids:/docker/abc`),
    of(`0::/system.slice/${unit}`),
    of(`0::/system.slice/${unit}/sub.scope`),
    of(`0::/system.slice/x-${unit}`),
    { ...of(`0::${user}`), isZombie: true },
    of(""),
  ];
  const found = (manager: "user" | "system") => {
    const port = systemd({
      run,
      manager: manager === "user" ? { kind: "user", uid: 0 } : { kind: "system" },
    });
    return port.members(SERVE, null, table).map((one) => table.indexOf(one));
  };
  assert.deepEqual(found("user"), [0, 1]);
  assert.deepEqual(found("system"), [2, 3]);
});

Deno.test("systemd: a manager that cannot be reached is unknown, not an absent unit", async () => {
  const stderr = "Failed to connect to bus: No medium found\n";
  const { run } = new FakeProcesses(() => ({ end: 1, stderr }));
  const port = systemd({ run, manager: { kind: "user", uid: 1000 } });
  const seen = await port.look(SERVE, new AbortController().signal);
  assert.ok(seen.kind === "unknown" && seen.code === "runtime_unreachable");
});

Deno.test("unit file: words are quoted, and specifiers and variables taken literally", () => {
  const text = unitFile(nativeServe({ argv: ["/opt/x", "a b", "100%", "$HOME", 'say "hi"', ""] }));
  assert.match(text, /^ExecStart=\/opt\/x "a b" 100%% \$\$HOME "say \\"hi\\"" ""$/m);
  assert.match(text, /^SendSIGKILL=no$/m);
  assert.match(text, /^TimeoutStopSec=5$/m);
  assert.doesNotMatch(text, /EnvironmentFile/);
});

Deno.test("unit file: arguments as a Windows program takes them apart", () => {
  assert.deepEqual(
    ["a", "a b", 'say "hi"', "C:\\dir with\\", "", "a\\b"].map(windowsWord),
    ["a", '"a b"', '"say \\"hi\\""', '"C:\\dir with\\\\"', '""', "a\\b"],
  );
});

Deno.test("unit file: a list and a task escape what XML would read", () => {
  const list = unitFile(nativeServe({ supervisor: "launchd", argv: ["/x", "<&>"] }));
  assert.match(list, /<string>&lt;&amp;&gt;<\/string>/);
  assert.match(list, /<key>ExitTimeOut<\/key><integer>5<\/integer>/);
  const task = unitFile(nativeServe({ supervisor: "windows-task", argv: ["C:\\x.exe", "a b"] }));
  assert.match(task, /<Arguments>&quot;a b&quot;<\/Arguments>/);
});

import assert from "node:assert/strict";
import { nativeServe } from "../../tests/fixtures/serves.ts";
import { FakeDisk } from "../testing/fake_disk.ts";
import { FakeProcesses } from "../testing/fake_process.ts";
import { launchd, readJob } from "./launchd.ts";

const SERVE = nativeServe({
  supervisor: "launchd",
  unit: "org.example.local",
  argv: ["/opt/engine/bin/engine", "--name", "a b"],
  cwd: "/opt/engine",
  stop_grace_seconds: 20,
});

/** A job; the two blocks at the end have a `state` and a `pid` of their own, one level deeper. */
const PRINTED = `gui/501/org.example.local = {
\tactive count = 1
\tpath = /Users/someone/Library/LaunchAgents/org.example.local.plist
\ttype = LaunchAgent
\tstate = running

\tprogram = /opt/engine/bin/engine
\targuments = {
\t\t/opt/engine/bin/engine
\t\t--name
\t\ta b
\t}

\tworking directory = /opt/engine

\tdomain = gui/501 [100041]
\tminimum runtime = 10
\texit timeout = 20
\truns = 2
\tpid = 35711
\tlast exit code = (never exited)

\tresource coalition = {
\t\tID = 4782
\t\tstate = active
\t\tpid = 1
\t}
}
`;

Deno.test("launchd: a running job is read at its own level", () => {
  assert.deepEqual(readJob(PRINTED, SERVE), {
    loaded: true,
    differences: [],
    activity: "running",
    mainPid: 35711,
    life: null,
    exit: null,
  });
  assert.equal(readJob("something else", SERVE), null);
});

Deno.test("launchd: how it ended, by code or by signal", () => {
  const ended = PRINTED.replace("state = running", "state = not running").replace(
    "\tpid = 35711\n",
    "",
  );
  const exit = (text: string) => readJob(text, SERVE)?.exit;
  assert.equal(exit(ended.replace("(never exited)", "78"))?.code, 78);
  const killed = ended.replace(
    /\tlast exit code.*\n/,
    "\tlast terminating signal = Terminated: 15\n",
  );
  assert.deepEqual([exit(killed)?.code, exit(killed)?.signal], [null, "SIGTERM"]);
  assert.equal(readJob(ended, SERVE)?.activity, "stopped");
});

Deno.test("launchd: each difference between job and manifest is named", () => {
  const other = { ...SERVE, argv: ["/opt/engine/bin/engine", "--name", "a", "b"] };
  assert.deepEqual(readJob(PRINTED, other)?.differences, ["ProgramArguments is not `argv`"]);
  const all = { ...other, cwd: "/", stop_grace_seconds: 5 };
  assert.equal(readJob(PRINTED, all)?.differences.length, 3);
});

Deno.test("launchd: no job, and no session, are two answers", async () => {
  const look = async (end: number) => {
    const { run } = new FakeProcesses(() => ({ end }));
    return await launchd({ run, files: new FakeDisk().files, uid: 501 }).look(
      SERVE,
      new AbortController().signal,
    );
  };
  const absent = await look(113);
  assert.ok(absent.kind === "seen" && !absent.value.loaded);
  const session = await look(125);
  assert.ok(session.kind === "unknown" && session.code === "runtime_unreachable");
  assert.equal((await look(1)).kind, "unknown");
});

import assert from "node:assert/strict";
import { processConformance, type ProgramName } from "../testing/process_conformance.ts";
import { runProcess } from "./process.ts";

const SCRIPTS: Readonly<Record<Exclude<ProgramName, "missing">, string>> = {
  speak: "printf out; printf err >&2; exit 3",
  die: "kill -TERM $$",
  hang: "printf begun; exec sleep 60",
  flood: "head -c 100000 /dev/zero",
  complain: "head -c 100000 /dev/zero >&2",
};
const env = { PATH: "/usr/local/bin:/usr/bin:/bin" };
const usual = { env, deadlineMs: 20_000, maxOutputBytes: 10_000 };

processConformance("real", {
  run: runProcess,
  program: (name) =>
    name === "missing" ? ["/nonexistent/program"] : ["/bin/sh", "-c", SCRIPTS[name]],
  env,
});

const unix = (name: string, fn: () => Promise<void>) =>
  Deno.test({ name, ignore: Deno.build.os === "windows", fn });

async function stdoutOf(ask: Parameters<typeof runProcess>[0]): Promise<string> {
  const outcome = await runProcess(ask);
  assert.ok(outcome.kind === "exited", outcome.kind);
  return new TextDecoder().decode(outcome.stdout);
}

unix("process: the environment is the one asked for and nothing else", async () => {
  const argv = ["/usr/bin/env"] as const;
  assert.equal(await stdoutOf({ ...usual, argv, env: { ONE: "1" } }), "ONE=1\n");
});

unix("process: arguments are no shell text, and stdin arrives whole", async () => {
  const argv = ["/usr/bin/printf", "%s|", "$HOME; `id`", "a b"] as const;
  assert.equal(await stdoutOf({ ...usual, argv }), "$HOME; `id`|a b|");
  const stdin = new Uint8Array(300_000).fill(120);
  assert.equal((await stdoutOf({ ...usual, argv: ["/usr/bin/wc", "-c"], stdin })).trim(), "300000");
});

unix("process: a child that does not read its stdin is no error", async () => {
  const stdin = new Uint8Array(1_000_000);
  assert.equal(await stdoutOf({ ...usual, argv: ["/bin/true"], stdin }), "");
});

unix("process: a grandchild that holds the pipe does not hold the answer", async () => {
  const argv = ["/bin/sh", "-c", "printf kept; (sleep 1; printf late) & exec sleep 60"] as const;
  const outcome = await runProcess({ ...usual, argv, deadlineMs: 300 });
  assert.ok(outcome.kind === "timed_out");
  assert.equal(new TextDecoder().decode(outcome.stdout), "kept");
});

unix("process: not executable is forbidden, not absent", async () => {
  const outcome = await runProcess({ ...usual, argv: ["/etc/passwd"] });
  assert.ok(outcome.kind === "failed_to_start");
  assert.equal(outcome.code, "program_forbidden");
});

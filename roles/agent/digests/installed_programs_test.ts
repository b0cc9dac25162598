import assert from "node:assert/strict";
import type { ProcessOutcome, RunProcess } from "../../../lib/core/process.ts";
import { DIGESTS_MS } from "../operations/digests.ts";
import { ASK_MS, lookAtPrograms, type ProgramParts } from "./installed_programs.ts";

const DIGEST = "b".repeat(64);
const ON = { deno: "2.9.6", platform: "linux-x86_64" };
const empty = new Uint8Array();
const exited = (code: number, text: string): ProcessOutcome => ({
  ...{ kind: "exited", code, stderr: empty },
  stdout: new TextEncoder().encode(text),
});
const GOOD = exited(0, JSON.stringify({ version: "0.1.0", build_digest: DIGEST }));

const look = (run: RunProcess, more: Partial<ProgramParts> = {}) =>
  lookAtPrograms({
    ...{ run, build: { name: "anvil-agent", version: "0.1.0", build_digest: null, ...ON } },
    ...{ router: ["/opt/anvil/anvil", "router"], adopter: ["anvil-adopter"], client: null },
    ...more,
  }, new AbortController().signal);

/** Name, whether the installed build is known, and why not, when both programs end so. */
async function told(outcome: ProcessOutcome): Promise<readonly string[]> {
  const programs = await look(() => Promise.resolve(outcome));
  return programs.slice(1).map(({ name, installed, code }) =>
    `${name} ${installed === null ? "-" : "told"} ${code ?? ""}`.trim()
  );
}

Deno.test("builds: a program that is late is silent, one that answers wrongly is unusable", async () => {
  assert.deepEqual(await told(GOOD), ["anvil-router told running_untold", "anvil-adopter told"]);
  const silent = ["anvil-router - program_silent", "anvil-adopter - program_silent"];
  assert.deepEqual(await told({ kind: "timed_out", stdout: empty, stderr: empty }), silent);
  const unusable = ["anvil-router - program_unusable", "anvil-adopter - program_unusable"];
  for (
    const outcome of [
      exited(1, ""),
      exited(0, "anvil-router 0.1.0"),
      exited(0, '{"version":"0.1.0","build_digest":"short"}'),
      { kind: "failed_to_start", code: "program_absent", cause: "no such file" },
    ] as readonly ProcessOutcome[]
  ) assert.deepEqual(await told(outcome), unusable);
});

Deno.test("builds: programs are asked side by side, each for less than the whole look may take", async () => {
  const asked: { readonly argv: readonly string[]; readonly deadlineMs: number }[] = [];
  const both = Promise.withResolvers<void>();
  const programs = await look(async ({ argv, deadlineMs }) => {
    asked.push({ argv, deadlineMs });
    if (asked.length === 2) both.resolve();
    await both.promise; // one after the other would never get here
    return GOOD;
  });
  assert.deepEqual(asked.map(({ argv }) => argv.join(" ")), [
    "/opt/anvil/anvil router --version --json",
    "anvil-adopter --version --json",
  ]);
  assert.ok(asked.every(({ deadlineMs }) => deadlineMs === ASK_MS));
  assert.ok(ASK_MS + 5000 < DIGESTS_MS, "the look at files has time beside them");
  assert.deepEqual(programs.map(({ installed }) => installed?.build_digest), [
    undefined,
    DIGEST,
    DIGEST,
  ]);
});

Deno.test("builds: what agent.toml does not name is not asked", async () => {
  const none = () => assert.fail("asked");
  const programs = await look(none, { router: null, adopter: null });
  assert.deepEqual(programs.map(({ name }) => name), ["anvil-agent"]);
});

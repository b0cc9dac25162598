import assert from "node:assert/strict";
import fc from "fast-check";
import { encodeFrame } from "./frames.ts";
import { readAnswer, readSshOutcome, sshArgv, type SshWay } from "./ssh.ts";

const WAY: SshWay = {
  node: "n1",
  address: "192.0.2.7",
  port: 22,
  user: "anvil-receiver",
  identityFile: "/home/u/.anvil/keys/id",
  knownHostsFile: "/home/u/.anvil/known",
  hostKeyType: "ssh-ed25519",
};
const ANSWER = {
  ok: false,
  protocol: 1,
  code: "wrong_node",
  operation_id: "none",
  phase: "none",
  error: "none",
  unfinished: false,
  current: "none",
  prior: "none",
} as const;
const none = new Uint8Array(0);
const exited = (stdout: Uint8Array, code = 0) =>
  ({ kind: "exited", code, stdout: Uint8Array.from(stdout), stderr: none }) as const;
const codeOf = (outcome: object) => "code" in outcome ? outcome.code : "ok";

Deno.test("ssh: no configuration, no agent, no command; the address is never an option", () => {
  const argv = sshArgv({ ...WAY, address: "-oProxyCommand=touch" });
  assert.deepEqual(argv.slice(-2), ["--", "-oProxyCommand=touch"]);
  const text = argv.join(" ");
  for (
    const part of [
      "-F none",
      "-T",
      "StrictHostKeyChecking=yes",
      "BatchMode=yes",
      "IdentityAgent=none",
    ]
  ) assert.ok(text.includes(part), part);
});

Deno.test("ssh: one whole answer, or a code that says what is not known", () => {
  const frame = encodeFrame(ANSWER);
  assert.deepEqual(readSshOutcome("activate", exited(frame, 1)), ANSWER);
  for (const stdout of [new Uint8Array([...frame, 0]), frame.subarray(0, 9), frame.subarray(1)]) {
    assert.equal(codeOf(readSshOutcome("status", exited(stdout))), "invalid_contract");
  }
  for (const verb of ["stage", "activate", "rollback"] as const) {
    assert.equal(codeOf(readSshOutcome(verb, exited(none, 255))), "may_have_executed");
    const late = { kind: "timed_out", stdout: none, stderr: none } as const;
    assert.equal(codeOf(readSshOutcome(verb, late)), "may_have_executed");
  }
  assert.equal(codeOf(readSshOutcome("identity", exited(none, 255))), "transport_failed");
  const absent = { kind: "failed_to_start", code: "program_absent", cause: "x" } as const;
  assert.equal(codeOf(readSshOutcome("stage", absent)), "precondition_failed");
  fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
    assert.equal(readAnswer(bytes), null);
  }));
});

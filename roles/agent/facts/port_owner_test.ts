import assert from "node:assert/strict";
import fc from "fast-check";
import { maskCommand } from "./mask_command.ts";
import { readPs, readSsOwners, readWin32 } from "./port_owner.ts";

const SOCKET = "LISTEN 0 128 127.0.0.1:8000 0.0.0.0:* ";

Deno.test("port owner: ss tells pids, or hides them; a name that reads as a pid is not believed", () => {
  const read = (users: string) => readSsOwners(`${SOCKET}${users}\n`, 8000);
  assert.deepEqual(readSsOwners("", 8000), []);
  assert.deepEqual(read(""), [{ address: "127.0.0.1", pids: null }]);
  assert.deepEqual(read('users:(("a b",pid=7,fd=3),("c",pid=9,fd=3))'), [
    { address: "127.0.0.1", pids: [7, 9] },
  ]);
  // A process that called itself `",pid=1,fd=9` in the hope of being taken for init.
  assert.equal(read('users:(("",pid=1,fd=9",pid=4242,fd=3))'), null);
  assert.equal(read('users:(("x),("y",pid=1,fd=9",pid=4242,fd=3))'), null);
  assert.equal(readSsOwners(`${SOCKET}\n`, 8001), null);
  assert.equal(readSsOwners("something else\n", 8000), null);
});

Deno.test("port owner: ps tells start and command", () => {
  const line = "   12 Sun Nov  1 08:15:00 2026 engine --model m  --port 8000\n";
  assert.deepEqual(readPs(line), [{
    pid: 12,
    started_at: "2026-11-01T08:15:00.000Z",
    command: "engine --model m  --port 8000",
  }]);
  for (const bad of ["x\n", "12 So. 1 Nov 08:15:00 2026 x\n", "12 Sun Nov  1 08:15:00 2026\n"]) {
    assert.equal(readPs(bad), null, bad);
  }
  assert.equal(readWin32('[{"ProcessId":1,"Started":"2026-11-01T08:15:00Z"}]'), null);
});

Deno.test("port owner: secrets in a command are masked, and what says which model is not", () => {
  const cases: [string, string][] = [
    ["serve m --api-key k1 k2 --port 1", "serve m --api-key [secret] --port 1"],
    ["serve --api-key=k1 more --port 1", "serve --api-key=[secret] --port 1"],
    ["x --hf-token hf_abc -v", "x --hf-token [secret] -v"],
    ["x --hf_token t", "x --hf_token [secret]"],
    ['x "--password" "my pass" --y', 'x "--password" [secret] --y'],
    ["HF_TOKEN=abc serve", "HF_TOKEN=[secret]"],
    ["x --max-tokens 5 --tokenizer t --max-num-batched-tokens 9", ""],
    ["x --served-model-name a --key-file k", ""],
    ["x https://u:p@192.0.2.1/m", "x [secret]192.0.2.1/m"],
    ["x sk-abcdefghijklmnopqrst", "x [secret]"],
    [`x anvil_${"a".repeat(43)}`, "x anvil_[secret]"],
    ["x abcdefghijklmnopqrstuvwxyzABCDEF0123", "x [secret]"],
    ["x /srv/models/Meta-Llama-3.1-70B-Instruct-AWQ-INT4 --revision 0123456789abcdef01234567", ""],
  ];
  for (const [command, masked] of cases) {
    assert.equal(maskCommand(command), masked === "" ? command : masked);
  }
  const word = fc.stringMatching(/^[A-Za-z0-9!#%&*+,./:;<>?@^_~]{6,40}$/);
  const flag = fc.constantFrom(
    "--api-key",
    "--token",
    "--hf-token",
    "-password",
    "--client-secret",
  );
  fc.assert(fc.property(flag, fc.array(word, { minLength: 1, maxLength: 3 }), fc.boolean(), (
    name,
    values,
    joined,
  ) => {
    const command = `engine -m x ${name}${joined ? "=" : " "}${values.join(" ")} --port 8000`;
    const masked = maskCommand(command);
    for (const value of values) assert.ok(!masked.includes(value) || "engine".includes(value));
    assert.ok(masked.endsWith("--port 8000"));
  }));
});

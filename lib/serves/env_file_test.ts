import assert from "node:assert/strict";
import { FakeDisk } from "../testing/fake_disk.ts";
import { readEnv } from "./env_file.ts";

const PATH = "/etc/anvil/primary.env";

async function told(text: string | null, env: string[], mode = 0o600): Promise<string> {
  const disk = new FakeDisk();
  if (text !== null) {
    disk.contents.set(PATH, { kind: "file", bytes: new TextEncoder().encode(text), mode });
  }
  const read = await readEnv(disk.files, { env, env_file: PATH });
  return read.kind === "refused"
    ? read.detail.replace("the file of this serve's variables: ", "")
    : read.values.map(([name, value]) => `${name}=${value.reveal()}`).join(" ");
}

Deno.test("env file: exactly the names of the manifest, values as they are", async () => {
  assert.equal(await told("# x\n\nB=2 = 3\nA=\n", ["A", "B"]), "A= B=2 = 3");
  assert.equal(await told("A=1\r\n", ["A"]), "A=1");
});

Deno.test("env file: what is wrong is said without a value", async () => {
  assert.equal(await told(null, ["A"]), "it is not there");
  assert.match(await told("A=secret", ["A"], 0o644), /mode 644/);
  assert.equal(await told("A=secret\nnonsense", ["A"]), "line 2 is not NAME=VALUE");
  assert.equal(await told("A=secret\nA=other", ["A"]), "line 2 names A again");
  assert.equal(await told("A=secret", ["A", "B"]), "it lacks B");
  assert.equal(await told("A=secret\nB=other", ["A"]), "the manifest does not name B");
});

Deno.test("env file: a serve without variables needs none", async () => {
  assert.deepEqual(await readEnv(new FakeDisk().files, { env: [] }), { kind: "ok", values: [] });
});

// needs: ssh sshd ssh-keygen
/**
 * One string stands in the token, in every path of the host, and so in the forced command; endpoints
 * have their ports. Whatever happens over the real way, none of it is in anything that is written.
 *
 * @module
 */

import assert from "node:assert/strict";
import { bundleScript } from "../../scripts/bundle/role_script.ts";
import { missingFor } from "../../scripts/needs.ts";
import { numberedBundle, startHost } from "../support/bootstrap_over_ssh.ts";

const ROOT = new URL("../../", import.meta.url);
const CANARY = "canary0af3";
const TOKEN = `anvil_${CANARY}${"x".repeat(43 - CANARY.length)}`;
const ignore = Deno.build.os !== "linux" || Deno.build.arch !== "x86_64" ||
  missingFor(import.meta.url).length > 0;

/** Every file below a folder, as text. */
async function textsIn(folder: string): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory) { for (const one of await textsIn(path)) found.set(...one); }
    else found.set(path, await Deno.readTextFile(path));
  }
  return found;
}

Deno.test({
  name: "bootstrap over OpenSSH: no endpoint, path, token or command in any output",
  ignore,
  fn: async () => {
    const script = await bundleScript(ROOT, "tests/crash/receiver_child.ts");
    await using at = await startHost(script, `${CANARY}-machine`, TOKEN);
    for (const one of [1, 2, 3] as const) {
      const { archive } = await numberedBundle(one);
      await Deno.writeFile(at.dir.at(`${one}.tar`), archive);
    }
    const id = (digit: number) => `boot-${`${digit}`.repeat(24)}`;
    const codeOf = (said: { problems: { code: string }[] }) => said.problems[0]?.code;

    // Every way in which it can say something: a success, each refusal of the way, a way back.
    await at.plan(1);
    assert.equal(await at.apply(1, id(1)), "accepted");
    assert.equal(codeOf(await at.boot("plan", 2)), "agent_available");
    await at.stopAgent();
    await at.plan(3);
    assert.equal(await at.apply(3, id(3)), "rolled_back");
    await at.stopAgent();
    const status = await at.boot("status", null, "--operation", id(3));
    assert.equal(status.data.phase, "rolled_back");
    const stranger = at.boot("plan", 2, "--key", at.way.strangerKey);
    assert.equal(codeOf(await stranger), "transport_failed");
    await Deno.chmod(at.host("receiver.toml"), 0o644);
    assert.equal(codeOf(await at.boot("plan", 2)), "config_unsafe");
    await Deno.chmod(at.host("receiver.toml"), 0o600);
    await at.plan(2);
    // The supervisor is gone: what the operating system says of that names its path.
    await Deno.rename(at.host("systemctl"), at.host("systemctl.away"));
    assert.equal(await at.apply(2, id(2)), "manual_recovery");
    const forced = await at.boot("rollback", null, "--operation", id(2), "--confirm");
    assert.equal(forced.code, 1);

    const log = await Deno.readTextFile(at.host("log"));
    assert.match(log, /file_not_private|systemctl|not found|No such/i, "the log says nothing");
    const written = new Map([
      ...at.said.map((text, index) => [`output ${index}`, text] as const),
      ...await textsIn(at.dir.at("home")),
      ...await textsIn(at.host("state")),
      [at.host("log"), log],
    ]);
    assert.ok(written.size > 20, `${written.size}`);
    const words = [
      ...[CANARY, TOKEN, at.dir.path, at.way.key, "127.0.0.1"],
      ...[`:${at.way.agent}`, `${at.way.ssh}`, "receiver.js"],
    ];
    for (const [where, text] of written) {
      for (const word of words) assert.ok(!text.includes(word), `${where} has ${word}: ${text}`);
    }
  },
});

// needs: unshare ip
import assert from "node:assert/strict";
import { commandPath, missingFor } from "../../scripts/needs.ts";
import { dispatchRig, toldOf } from "../support/dispatch.ts";
import { roleWords } from "../support/role_process.ts";

const missing = missingFor(import.meta.url);

/** A network of its own: the loopback, a net whose packets nobody takes, and no other way. */
const NETWORK = 'ip link set lo up && ip route add 10.9.0.0/24 dev lo && exec "$@"';

/** Runs a command there. */
async function inNetwork(cwd: string, words: readonly string[]) {
  const unshare = new Deno.Command(commandPath("unshare") ?? "unshare", {
    args: ["-rn", "sh", "-c", NETWORK, "sh", ...words],
    cwd,
    stdin: "null",
  });
  const { code, stdout, stderr } = await unshare.output();
  const text = new TextDecoder();
  return { code, out: text.decode(stdout), err: text.decode(stderr) };
}

/** Whether this machine makes networks for us; said aloud when it does not. */
async function networks(): Promise<boolean> {
  if (missing.length > 0) return false;
  const { code, err } = await inNetwork("/", ["true"]);
  if (code !== 0) console.warn(`skipped: no network namespace can be made here: ${err.trim()}`);
  return code === 0;
}

const possible = await networks();

Deno.test({
  name: "no way to a host, and a host that is silent: proofs that nothing was sent",
  ignore: !possible,
  async fn() {
    await using rig = await dispatchRig([["far", 9], ["lost", 10], ["shut", 11]]);
    const path = rig.folder.at("topology.toml");
    const text = await Deno.readTextFile(path);
    await Deno.writeTextFile(
      path,
      text.replace('127.0.0.1:9"', '10.8.0.1:9"').replace('127.0.0.1:10"', '10.9.0.2:10"'),
    );
    const words = await roleWords("operator", rig.folder.path);
    const said = await inNetwork(rig.folder.path, [
      Deno.execPath(),
      ...words,
      ...["op", "call", "lamp.light", "--target", "all", "--connect-timeout", "0.5", "--json"],
      "--recover-via-ssh",
      ...rig.flags,
    ]);
    const told = toldOf(said);
    assert.deepEqual(told.outcomes.map((one) => [one.host, one.outcome, one.code, one.not_sent]), [
      ["far", "unreachable", "no_route", true],
      ["lost", "unreachable", "connect_timeout", true],
      ["shut", "unreachable", "connection_refused", true],
    ]);
    // Each is a proof; there is only no SSH transport that may be used.
    assert.deepEqual(told.problems.slice(3).map(({ path, code }) => [path, code]), [
      ["far", "ssh_unavailable"],
      ["lost", "ssh_unavailable"],
      ["shut", "ssh_unavailable"],
    ]);
  },
});

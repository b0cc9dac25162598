import assert from "node:assert/strict";
import { adopterRig, adopterToml } from "../support/adopter_rig.ts";
import { runRole } from "../support/role_process.ts";

/** Somebody who accepts connections, as a service that is well does. */
function service() {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const accepting = (async () => {
    for await (const conn of listener) conn.close();
  })();
  return {
    port: (listener.addr as Deno.NetAddr).port,
    stop: async () => {
      listener.close();
      await accepting;
    },
  };
}

Deno.test("adopter, process: bootstrapped, offered the same, adopted: known good is what runs; down: it is not", async () => {
  await using rig = await adopterRig();
  const host = await rig.host();
  const { folder } = host;
  const well = service();
  const toml = adopterToml(folder, rig.url).replace('adopt = "rolling"', 'adopt = "stage-only"')
    .replace(/\[\[gates\]\][\s\S]*/, "") +
    `[[probes]]\nname = "service"\nkind = "tcp"\naddress = "127.0.0.1:${well.port}"\n`;
  await Deno.writeTextFile(`${folder}/adopter.toml`, toml);
  const target = await rig.publish("one");
  assert.ok(target?.kind === "bundle");
  await rig.bootstrap(host, target.digest);
  const run = async (...args: string[]) => {
    const done = await runRole("adopter", folder, [
      ...args,
      ...["--json", "--config", "adopter.toml"],
    ], 60_000);
    assert.notEqual(done.stdout, "", done.stderr);
    return { exit: done.code, data: JSON.parse(done.stdout).data };
  };
  const pointer = () => Deno.stat(`${folder}/store/current`);
  const before = await pointer();
  assert.equal((await run("offer", "--timer")).data.code, "offered");
  assert.equal((await run("stage", "--timer")).data.code, "already_current");
  const early = await run("status");
  assert.deepEqual([early.data.current, early.data.proven], [target.digest, null]);
  assert.equal((await run("plan")).data.code, "would_prove");

  const adopted = await run("adopt", "--timer");
  assert.deepEqual([adopted.exit, adopted.data.code, adopted.data.ending], [
    ...[0, "proven", "known-good"],
  ]);
  const { data: status } = await run("status");
  assert.equal(status.proven.path, status.current);
  assert.deepEqual([status.proven.rev, status.state, status.freshness], [
    ...["one", "known-good", "fresh"],
  ]);
  const { data: told } = await run("receipts", "--kind", "known-good");
  assert.equal(told.receipts.length, 1);
  assert.deepEqual([told.receipts[0].path, told.receipts[0].code], [target.digest, "proven"]);
  const after = await pointer();
  assert.deepEqual([after.ino, after.mtime], [before.ino, before.mtime], "the pointer was moved");
  assert.equal((await run("adopt", "--timer")).data.code, "already_current");

  // Begun anew on a host whose service does not answer.
  await well.stop();
  await Deno.remove(`${folder}/state`, { recursive: true });
  assert.equal((await run("offer", "--timer")).data.code, "offered");
  const bad = await run("adopt", "--timer");
  assert.deepEqual([bad.exit, bad.data.code], [1, "current_not_good"], JSON.stringify(bad));
  const marker = await Deno.readTextFile(`${folder}/failures/anvil-adopter-activate.failure`);
  assert.match(marker, /code: current_not_good\n/);
  assert.equal((await run("status")).data.proven, null);
});

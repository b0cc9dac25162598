import assert from "node:assert/strict";
import { publish } from "../../roles/publisher/publish.ts";
import { publishAsk } from "../fixtures/publisher_rig.ts";
import { adopterRig, adopterToml } from "../support/adopter_rig.ts";
import { type Finished, roleWords, runRole } from "../support/role_process.ts";

/** A bundle host without units, gates or probes that start programs we may not. */
async function hostFolder(rig: Awaited<ReturnType<typeof adopterRig>>, policy = "stage-only") {
  const host = await rig.host();
  const text = adopterToml(host.folder, rig.url)
    .replace('units = ["thing.service"]', "units = []")
    .replace('adopt = "rolling"', `adopt = "${policy}"`)
    .replaceAll(/argv = \["\/bin\/sh".*\]/g, `argv = ["${host.folder}/probe"]`);
  for (const program of ["probe", "gate"]) {
    await Deno.writeTextFile(`${host.folder}/${program}`, "#!/bin/sh\nexit 0\n", { mode: 0o755 });
  }
  await Deno.writeTextFile(`${host.folder}/adopter.toml`, text);
  return host.folder;
}

const run = (folder: string, ...args: string[]): Promise<Finished> =>
  runRole("adopter", folder, [...args, "--config", "adopter.toml"]);

Deno.test("adopter, process: exit codes, with only the permissions of its task", async () => {
  await using rig = await adopterRig();
  const folder = await hostFolder(rig);
  const checked = await run(folder, "check");
  assert.deepEqual([checked.code, checked.stderr], [0, ""], checked.stderr);
  const early = await run(folder, "status");
  assert.equal(early.code, 1);
  assert.match(early.stderr, /summary_unreadable/);
  assert.match((await run(folder, "offer")).stdout, /^no-candidate/);
  await rig.publish("one");
  const offered = await run(folder, "offer", "--json");
  assert.equal(offered.code, 0, offered.stderr);
  assert.equal(JSON.parse(offered.stdout).data.code, "offered");
  const staged = await run(folder, "stage", "--timer");
  assert.deepEqual([staged.code, staged.stdout.split(":")[0]], [0, "staged"], staged.stderr);
  // Two people at once: the second is told, and it is no failure.
  const lock = await Deno.open(`${folder}/state/lock`, { read: true, write: true });
  await lock.lock(true);
  const second = await run(folder, "adopt");
  lock.close();
  assert.deepEqual([second.code, second.stdout.split(":")[0]], [0, "busy"]);
  assert.equal(
    JSON.parse(await Deno.readTextFile(`${folder}/state/contention.json`)).verb,
    "adopt",
  );
  const unexplained = await run(folder, "adopt", "--despite-gates");
  assert.equal(unexplained.code, 2);
  assert.match(unexplained.stderr, /why_missing/);
  const held = await run(folder, "adopt", "--timer");
  assert.match(held.stdout, /^policy/);
  const status = await run(folder, "status", "--json");
  assert.equal(status.code, 0, status.stderr);
  const { data } = JSON.parse(status.stdout);
  assert.equal(data.state, "closure-ready");
  assert.equal(data.staged.rev, "one");
  assert.equal((await run(folder, "pause", "--reason", "x")).code, 0);
  assert.match((await run(folder, "adopt")).stdout, /^paused/);
  assert.equal((await run(folder, "resume")).code, 0);
  assert.equal((await run(folder, "receipts")).code, 0);
});

Deno.test("adopter, process: a wrong configuration shows every problem, and nothing is touched", async () => {
  await using rig = await adopterRig();
  const folder = await hostFolder(rig);
  await Deno.writeTextFile(
    `${folder}/adopter.toml`,
    'schema = 1\nhost = "UPPER"\nbackend = "bundle"\n',
  );
  const refused = await run(folder, "offer");
  assert.equal(refused.code, 2);
  for (const path of ["host", "state", "publisher", "bundle"]) {
    assert.match(refused.stderr, new RegExp(`: ${path}: `), path);
  }
  await assert.rejects(() => Deno.stat(`${folder}/state`));
});

Deno.test("adopter, process: who may not read the state sees the summary, is told so, and gets 1", async () => {
  await using rig = await adopterRig();
  const folder = await hostFolder(rig);
  await rig.publish("one");
  await run(folder, "offer");
  const [verb = "", ...words] = await roleWords("adopter", folder);
  // What the operating system refuses to another user, the runtime refuses here.
  const { code, stdout } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...[verb, `--deny-read=${folder}/state`, ...words],
      ...["status", "--json", "--config", "adopter.toml"],
    ],
    cwd: folder,
    stdin: "null",
    stderr: "null",
  }).output();
  const text = new TextDecoder().decode(stdout);
  assert.equal(code, 1, text);
  const { ok, data } = JSON.parse(text);
  assert.equal(ok, false);
  assert.equal(data.offered.rev, "one");
  assert.deepEqual(data.unreadable, ["journal.jsonl", "receipts.json", "state"]);
});

Deno.test("adopter, process: the next revision is refused when another host is meant", async () => {
  await using rig = await adopterRig();
  const folder = await hostFolder(rig);
  const tree = await rig.tree("one", 1);
  const done = await publish(rig.ports, rig.config, publishAsk(tree, "one", { host: "gpu-b" }));
  assert.equal(done.kind, "published");
  const public_ = `${rig.config.root}/public/candidates`;
  await Deno.copyFile(`${public_}/gpu-b.json`, `${public_}/gpu-a.json`);
  const refused = await run(folder, "offer");
  assert.deepEqual([refused.code, refused.stderr.includes("wrong_host")], [1, true]);
});

import assert from "node:assert/strict";
import { sha256 } from "../../lib/host/digest.ts";
import { FakeDisk } from "../../lib/testing/fake_disk.ts";
import { fakeDirectories } from "../../lib/testing/fake_directories.ts";
import { everyMoment } from "../../lib/testing/every_moment.ts";
import { FakeClock } from "../../lib/testing/fake_clock.ts";
import { keepCopy, KEPT_COPIES } from "../../lib/serves/machines/dated_copy.ts";
import { type ArrowRig, arrowRig, ROUTER } from "../support/arrow_rig.ts";

const HERE = ["--target", "host:gpu-a"];
const hex = (text: string) => sha256(text).toHex();

async function canonical({ repo }: ArrowRig): Promise<string> {
  return await Deno.readTextFile(`${repo}/topology.toml`);
}

const VIEW = 'command_host = "gpu-a"\ncommand_runtime = "native"\n';

/** The operation itself, as any client may call it. */
async function call(rig: ArrowRig, input: unknown, dryRun = false) {
  const body = { input, dry_run: dryRun, confirm: !dryRun };
  const key = dryRun ? {} : { key: `key-${crypto.randomUUID()}` };
  const told = await rig.agent.call("config.install", body, key);
  return { status: told.status, code: told.code, result: told.body["result"] as never };
}

Deno.test("config install: a topology travels as the host's view, with a copy and a receipt", async () => {
  await using rig = await arrowRig();
  const text = await canonical(rig);
  const install = ["config", "install", "topology.toml", ...HERE];
  const planned = await rig.run(...install);
  assert.deepEqual([planned.code, /confirm_required/.test(planned.err)], [1, true]);
  assert.match(planned.out, /^\+command_host = "gpu-a"$/m);
  assert.match(planned.out, /^from +no file$/m);
  await assert.rejects(Deno.stat(`${rig.live}/topology.toml`), Deno.errors.NotFound);
  const done = await rig.run(...install, "--confirm");
  assert.equal(done.code, 0, done.err);
  assert.equal(await Deno.readTextFile(`${rig.live}/topology.toml`), VIEW + text);

  const edited = VIEW + text.replace("simulated", "other");
  await rig.write("topology.toml", edited);
  const { code, data } = await rig.told(...install, "--confirm");
  assert.equal(code, 0);
  const outcomes = data["outcomes"] as readonly { result: Record<string, unknown> }[];
  const result = outcomes[0]?.result ?? {};
  assert.deepEqual([result["from"], result["to"], result["changed"]], [
    hex(edited),
    hex(VIEW + text),
    true,
  ]);
  const copy = `${rig.live}/state/backups/topology.toml/${result["backup"]}/topology.toml`;
  assert.equal(await Deno.readTextFile(copy), edited);
  const receipt = JSON.parse(await Deno.readTextFile(String(result["receipt"])));
  assert.deepEqual(
    [receipt.arrow, receipt.path, receipt.live_sha256, receipt.home_sha256, receipt.outcome],
    ["install", "topology.toml", hex(edited), hex(VIEW + text), "done"],
  );
  assert.deepEqual([receipt.backup, receipt.commit], [result["backup"], rig.commit]);
  const again = await rig.run(...install, "--confirm");
  assert.match(again.out, /it stands there already; nothing was done/);
  const docker = await rig.run(...install, "--runtime", "docker");
  assert.match(docker.out, /^\+command_runtime = "docker"$/m);
});

Deno.test("config.install: judged on the host, and never over what was not looked at", async () => {
  await using rig = await arrowRig();
  const text = await canonical(rig);
  const view = VIEW + text;
  const topology = (input: object) => ({ kind: "topology", text: view, expected: null, ...input });
  const code = async (input: object, dryRun = false) => (await call(rig, input, dryRun)).code;
  assert.equal(await code(topology({ text })), "view_of_another");
  assert.equal(await code(topology({ text: view.replace("gpu-a", "gpu-b") })), "view_of_another");
  assert.equal(await code(topology({ text: `${view}x = 1\n` })), "config_invalid");
  assert.equal(await code(topology({ text: "x = \n" })), "config_invalid");
  const leak = topology({ text: `${view}# anvil_AAAABBBBCCCCDDDDEEEE\n` });
  assert.equal(await code(leak), "config_holds_secret");
  assert.equal(
    await code({ kind: "serves", text: "schema = 1\n", expected: null }),
    "topology_absent",
  );
  assert.equal(await code(topology({ expected: hex("x") })), "config_changed");
  await assert.rejects(Deno.stat(`${rig.live}/topology.toml`), Deno.errors.NotFound);
  assert.equal((await call(rig, topology({}))).status, 200);
  assert.equal(await code(topology({ text: `${view}\n`, expected: null })), "config_changed");
  assert.equal(await code({ kind: "serves", text: "x = 1\n", expected: null }), "config_invalid");
  assert.equal(await code({ kind: "router", text: "x = 1\n", expected: null }), "input_invalid");
  await Deno.remove(`${rig.live}/topology.toml`);
  await Deno.symlink("elsewhere.toml", `${rig.live}/topology.toml`);
  assert.equal(await code(topology({})), "config_unreadable");
  assert.deepEqual([...Deno.readDirSync(rig.live)].filter(({ name }) => /tmp/.test(name)), []);
});

Deno.test("config.install: what is edited while it runs is kept, and told", async () => {
  await using rig = await arrowRig();
  const text = await canonical(rig);
  const old = `${VIEW}${text}`;
  await rig.write("topology.toml", old);
  const said = await rig.run("config", "install", "topology.toml", ...HERE, "--confirm");
  assert.match(said.out, /already/);
  const next = `${old}# by hand\n`;
  const file = rig.dir.at("topology.toml");
  await Deno.writeTextFile(file, `${old}# reviewed\n`);
  const install = ["config", "install", file, ...HERE, "--confirm"];
  await rig.write("topology.toml", next);
  const stale = await rig.run(...install, "--expected", hex(old));
  assert.equal(stale.code, 1);
  assert.match(stale.err, /config_changed: observed [0-9a-f]{12}, expected [0-9a-f]{12}: nothing/);
  assert.equal(await Deno.readTextFile(`${rig.live}/topology.toml`), next);
  assert.equal((await rig.run(...install)).code, 0);
});

Deno.test("config.install: a full disk or a folder that takes nothing leaves the old file", async () => {
  await using rig = await arrowRig();
  const view = VIEW + await canonical(rig);
  await rig.write("topology.toml", view);
  await Deno.mkdir(`${rig.live}/state/backups`, { recursive: true });
  await Deno.writeTextFile(`${rig.live}/state/backups/topology.toml`, "in the way");
  const told = await call(rig, { kind: "topology", text: `${view}#\n`, expected: hex(view) });
  assert.equal(told.code, "backup_not_kept");
  assert.equal(await Deno.readTextFile(`${rig.live}/topology.toml`), view);
});

Deno.test("config install: names, paths and homes that do not fit are refused before anything is asked", async () => {
  await using rig = await arrowRig();
  const code = async (file: string) => {
    const { code, problems } = await rig.told("config", "install", file, ...HERE);
    return [code, problems[0]?.["code"]];
  };
  assert.deepEqual(await code("agent.toml"), [1, "not_installable"]);
  assert.deepEqual(await code("nothing.toml"), [1, "not_installable"]);
  assert.deepEqual(await code("serves.toml"), [1, "file_not_declared"]);
  assert.deepEqual(await code("./nothing.toml"), [2, "file_absent"]);
  const token = `anvil_${"Q1w2".repeat(10)}abc`;
  const file = rig.dir.at("router.toml");
  await Deno.writeTextFile(file, `${ROUTER}key = "${token}"\n`);
  const leak = await rig.run("config", "install", file, ...HERE, "--confirm");
  assert.match(leak.err, /^router.toml:5:8: listen.key: secret_in_file/);
  assert.ok(!`${leak.out}${leak.err}`.includes(token));
  const empty = await rig.told(
    ...["config", "install", "router.toml", ...HERE, "--home", rig.dir.at("none")],
    ...["--topology", `${rig.repo}/topology.toml`, "--tokens", `${rig.home}/tokens`],
  );
  assert.deepEqual(empty.problems[0]?.["code"], "home_empty");
});

Deno.test("config backups: newest first, by digest; what is damaged or unfinished says so", async () => {
  await using rig = await arrowRig();
  const view = VIEW + await canonical(rig);
  const backups = ["config", "backups", "topology.toml", ...HERE];
  const none = await rig.run(...backups);
  assert.deepEqual([none.code, none.out], [0, "gpu-a keeps no copy of topology.toml\n"]);
  await rig.write("topology.toml", view);
  for (const text of [`${view}# one\n`, `${view}# two\n`, view]) {
    const expected = hex(await Deno.readTextFile(`${rig.live}/topology.toml`));
    assert.equal((await call(rig, { kind: "topology", text, expected })).status, 200);
  }
  const folder = `${rig.live}/state/backups/topology.toml`;
  const [first = "", second = "", third = ""] = [...Deno.readDirSync(folder)]
    .map(({ name }) => name).toSorted();
  await Deno.writeTextFile(`${folder}/${second}/topology.toml`, "rotten\n");
  await Deno.remove(`${folder}/${third}/topology.toml`);
  await Deno.mkdir(`${folder}/of-somebody-else`);
  const { code, data } = await rig.told(...backups);
  assert.equal(code, 0);
  const outcomes = data["outcomes"] as readonly { result: Record<string, unknown> }[];
  const rows = outcomes[0]?.result["backups"] as readonly Record<string, unknown>[];
  assert.deepEqual(rows.map((one) => [one["name"], one["standing"], one["code"]]), [
    [third, null, "backup_unfinished"],
    [second, false, "backup_damaged"],
    [first, true, null],
  ]);
  assert.deepEqual([rows[2]?.["sha256"], rows[2]?.["size"]], [hex(view), view.length]);
  assert.ok(!JSON.stringify(data).includes("command_host"), "no content");
  const { out } = await rig.run(...backups);
  assert.match(out, /^at +sha256 +bytes +name +note\n/i);
  assert.match(out, new RegExp(`${first} +stands there now$`, "m"));
  await Deno.remove(folder, { recursive: true });
  await Deno.writeTextFile(folder, "in the way");
  const unreadable = await rig.run(...backups);
  assert.equal(unreadable.code, 1);
  assert.match(unreadable.err, /backups_unreadable/);
  const wrong = await rig.run("config", "backups", "clients.toml", ...HERE);
  assert.equal(wrong.code, 2);
});

Deno.test("dated copies: the newest are kept, and one that is there already is not made again", async () => {
  const disk = new FakeDisk();
  const clock = new FakeClock();
  const ports = { clock, files: disk.files, directories: fakeDirectories(disk), root: "/disk/b" };
  const names: string[] = [];
  for (let at = 0; at < KEPT_COPIES + 5; at++) {
    clock.jump(1000);
    const kept = await keepCopy(ports, "router.toml", `schema = ${at}\n`);
    const twice = await keepCopy(ports, "router.toml", `schema = ${at}\n`);
    assert.ok(kept.kind === "kept" && twice.kind === "kept");
    assert.equal(kept.name, twice.name);
    names.push(kept.name);
  }
  const list = await ports.directories.list("/disk/b/router.toml", 1000);
  assert.ok(list.kind === "ok");
  assert.deepEqual(list.entries.map(({ name }) => name), names.slice(-KEPT_COPIES));
});

Deno.test("dated copies: a crash anywhere leaves a copy that is whole, or none of that name", async () => {
  const moments = await everyMoment(async (disk) => {
    const clock = new FakeClock();
    const ports = { clock, files: disk.files, directories: fakeDirectories(disk), root: "/disk/b" };
    const kept = await keepCopy(ports, "router.toml", "schema = 1\n");
    assert.ok(kept.kind === "kept", JSON.stringify(kept));
    const file = disk.contents.get(`/disk/b/router.toml/${kept.name}/router.toml`);
    assert.ok(file?.kind === "file");
    assert.equal(new TextDecoder().decode(file.bytes), "schema = 1\n");
  });
  assert.ok(moments >= 4, String(moments));
});

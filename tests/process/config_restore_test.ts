import assert from "node:assert/strict";
import { sha256 } from "../../lib/host/digest.ts";
import { commitFiles } from "../fixtures/git_repo.ts";
import { seen } from "../support/change_host.ts";
import { type GatewayRig, withGateway } from "../support/gateway_rig.ts";
import { roleCommand } from "../support/role_process.ts";

const HERE = ["--target", "host:gpu-a"];
const RESTORE = ["config", "restore", ...HERE, "--confirm"];

const hex = (text: string) => sha256(text).toHex();

interface Receipt {
  readonly [key: string]: unknown;
  readonly arrow: string;
  readonly outcome: string;
}

async function receipts(home: string): Promise<readonly Receipt[]> {
  const names = [...Deno.readDirSync(`${home}/arrows`)].map(({ name }) => name).toSorted();
  return await Promise.all(
    names.map(async (name) =>
      JSON.parse(await Deno.readTextFile(`${home}/arrows/${name}/receipt.json`))
    ),
  );
}

/** A router that runs with a second alias, by an install; what it had before, and has now. */
async function installed({ folder, repo, materialize, operator }: GatewayRig) {
  const old = await Deno.readTextFile(`${folder}/router.toml`);
  const next = old.replace(
    '"llm.primary" = "primary"',
    '"llm.primary" = "primary"\n"llm.second" = "primary"',
  );
  await materialize(await commitFiles(repo, { "hosts/gpu-a/router.toml": next }));
  const done = await operator("config", "install", "router.toml", ...HERE, "--confirm");
  assert.equal(done.code, 0, done.stderr);
  return { old, next };
}

/** Runs the operator until it has sent its call, and kills it there; the key it sent. */
async function killedOnceSent({ gateway, home }: GatewayRig): Promise<string> {
  const command = await roleCommand("operator", gateway, [...RESTORE, "--home", home]);
  await using child = command.spawn();
  let said = "";
  for await (const piece of child.stderr.pipeThrough(new TextDecoderStream())) {
    said += piece;
    const [, key] = /^key: (\S+)\n/m.exec(said) ?? [];
    if (key === undefined) continue;
    child.kill("SIGKILL");
    await child.stdout.cancel();
    return key;
  }
  await child.stdout.cancel();
  throw new Error(`it sent nothing: ${said}`);
}

Deno.test("config restore: no receipt, nothing is sent; killed once sent, the receipt says so", async () => {
  await withGateway(async (rig) => {
    const { folder, home, operator, host } = rig;
    const { old, next } = await installed(rig);
    const file = `${folder}/router.toml`;
    const restarts = () => host.supervisor.happened.filter((one) => one === "restart").length;
    assert.equal(restarts(), 1);

    const listed = await operator("config", "backups", "router.toml", ...HERE);
    assert.equal(listed.code, 0, listed.stderr);
    const row = new RegExp(
      `^\\d{4}-\\d\\d-\\d\\dT\\S+Z +${hex(old).slice(0, 12)} +${old.length} +\\S+-${
        hex(old).slice(0, 12)
      }$`,
      "m",
    );
    assert.match(listed.stdout, row);

    const planned = await operator("config", "restore", ...HERE);
    assert.equal(planned.code, 1, "a plan alone is no success");
    assert.match(planned.stdout, /^-"llm.second" = "primary"$/m);
    assert.match(planned.stdout, /^back +what 000001-install replaced$/m);
    assert.match(planned.stderr, /confirm_required/);

    // A file where the receipts' folder should be: not even root writes into that.
    await Deno.rename(`${home}/arrows`, `${home}/aside`);
    await Deno.writeTextFile(`${home}/arrows`, "in the way");
    for (const more of [[], ["--json"]]) {
      const unwritten = await operator(...RESTORE, ...more);
      assert.equal(unwritten.code, 1, unwritten.stdout);
      assert.doesNotMatch(unwritten.stderr, /^key:/m);
    }
    assert.equal(await Deno.readTextFile(file), next);
    assert.equal(restarts(), 1, "nothing was sent");
    await Deno.remove(`${home}/arrows`);
    await Deno.rename(`${home}/aside`, `${home}/arrows`);

    const key = await killedOnceSent(rig);
    const [, sent] = await receipts(home);
    assert.deepEqual(sent, {
      ...{ schema: 1, arrow: "restore", host: "gpu-a", file: "router.toml", path: null },
      ...{ live_sha256: hex(next), home_sha256: hex(old), generation: null, commit: null },
      ...{ patch_sha256: sent?.["patch_sha256"], withheld: null, outcome: "sent", code: null },
      ...{ change: null, backup: null, at: sent?.["at"], by: sent?.["by"] },
    });
    assert.match(String(sent?.["patch_sha256"]), /^[0-9a-f]{64}$/);
    const doctor = await operator("doctor", "--offline");
    assert.match(doctor.stdout, /^unfinished +fail +gpu-a +config restore of router.toml at /m);

    // The host did what it was asked, and is asked the same again: once is enough.
    const joined = await operator(...RESTORE, "--key", key);
    assert.equal(joined.code, 0, joined.stderr);
    assert.match(joined.stdout, /^router.toml on gpu-a: reached by 000002-restore/m);
    assert.match(joined.stdout, /^receipt .*-restore-gpu-a-router.toml\/receipt.json$/m);
    assert.equal(await Deno.readTextFile(file), old);
    assert.equal((await seen(host.place.ports))["llm.primary"], "org/model");
    assert.equal(restarts(), 2, "sent twice, done once");
    const [, , known] = await receipts(home);
    assert.deepEqual(
      [known?.arrow, known?.outcome, known?.["change"], known?.["home_sha256"]],
      ["restore", "done", "000002-restore", null],
    );
  });
});

Deno.test("config restore: with --json too the receipt has what was put back, and --by who", async () => {
  await withGateway(async (rig) => {
    const { folder, home, operator } = rig;
    const { old, next } = await installed(rig);
    const done = await operator(...RESTORE, "--json", "--by", "ann");
    assert.equal(done.code, 0, done.stderr);
    assert.equal(JSON.parse(done.stdout).data.outcomes[0].result.change, "000002-restore");
    assert.equal(await Deno.readTextFile(`${folder}/router.toml`), old);
    const [, receipt] = await receipts(home);
    assert.deepEqual(
      [receipt?.outcome, receipt?.["home_sha256"], receipt?.["live_sha256"], receipt?.["by"]],
      ["done", hex(old), hex(next), "ann"],
    );
    const told = await operator("config", "backups", "router.toml", ...HERE, "--json");
    const { backups } = JSON.parse(told.stdout).data.outcomes[0].result;
    assert.deepEqual(
      backups.map((one: Record<string, unknown>) => [one["sha256"], one["standing"], one["code"]]),
      [[hex(next), false, null], [hex(old), true, null]],
    );
  });
});

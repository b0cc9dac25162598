import assert from "node:assert/strict";
import { sha256 } from "../../lib/host/digest.ts";
import { runProgram } from "../../lib/terminal/program.ts";
import { NAME, operatorApp } from "../../roles/operator/app.ts";
import { commitFiles } from "../fixtures/git_repo.ts";
import { operatorAt } from "../fixtures/operator_cli.ts";
import { openStream, seen } from "../support/change_host.ts";
import { type GatewayRig, withGateway } from "../support/gateway_rig.ts";

const HERE = ["--target", "host:gpu-a"];
const ROUTER = "hosts/gpu-a/router.toml";

const hex = (text: string) => sha256(text).toHex();

/** Reviews `text` and makes it live in the home. */
async function review({ repo, materialize }: GatewayRig, text: string): Promise<string> {
  const commit = await commitFiles(repo, { [ROUTER]: text });
  await materialize(commit);
  return commit;
}

async function receipts(home: string) {
  const names = [...Deno.readDirSync(`${home}/arrows`)].map(({ name }) => name).toSorted();
  return await Promise.all(
    names.map(async (name) =>
      JSON.parse(await Deno.readTextFile(`${home}/arrows/${name}/receipt.json`))
    ),
  );
}

/** The operator in this process: `onSaid` hears every word before the next thing is done. */
async function hooked(home: string, args: readonly string[], onSaid: (text: string) => void) {
  let err = "";
  const build = { name: NAME, version: "0", build_digest: null, deno: "0", platform: "test" };
  const code = await runProgram(operatorApp(operatorAt(home)), build, args, {
    out: () => {},
    err: (text) => {
      err += text;
      onSaid(text);
    },
    isTerminal: false,
    color: false,
  });
  return { code, err };
}

Deno.test("config install: from the home to a router that runs with it, over real processes", async () => {
  await withGateway(async (rig) => {
    const { folder, home, operator, host } = rig;
    const file = `${folder}/router.toml`;
    const old = await Deno.readTextFile(file);
    const next = old.replace(
      '"llm.primary" = "primary"',
      '"llm.primary" = "primary"\n"llm.second" = "primary"',
    );
    const commit = await review(rig, next);

    const planned = await operator("config", "install", "router.toml", ...HERE);
    assert.equal(planned.code, 1, planned.stderr);
    assert.match(planned.stdout, /^\+"llm.second" = "primary"$/m);
    assert.match(planned.stdout, /^install router.toml on gpu-a: 5 steps$/m);
    assert.match(planned.stderr, /confirm_required/);
    assert.equal(await Deno.readTextFile(file), old, "a plan writes nothing");
    await assert.rejects(Deno.stat(`${home}/arrows`), Deno.errors.NotFound);

    // Somebody edits the live file after the plan was looked at.
    await Deno.writeTextFile(file, `${old}# by hand\n`);
    const confirm = ["config", "install", "router.toml", ...HERE, "--confirm"];
    const stale = await operator(...confirm, "--expected", hex(old));
    assert.equal(stale.code, 1);
    assert.match(stale.stderr, /^gpu-a: config_changed: /m);
    assert.equal(await Deno.readTextFile(file), `${old}# by hand\n`, "what was edited is there");
    await Deno.writeTextFile(file, old);

    // And in the very moment between the plan and the run.
    const raced = await hooked(home, [...confirm], (text) => {
      if (text.includes("install router.toml on gpu-a: 5 steps")) {
        Deno.writeTextFileSync(file, `${old}# in between\n`);
      }
    });
    assert.equal(raced.code, 1, raced.err);
    assert.match(raced.err, /^gpu-a: config_changed: /m);
    assert.equal(await Deno.readTextFile(file), `${old}# in between\n`);
    await Deno.writeTextFile(file, old);
    assert.ok(!host.supervisor.happened.includes("restart"), "nothing restarted so far");

    const stream = await openStream(host.place.ports, 20);
    const done = await operator(...confirm, "--expected", hex(old));
    assert.equal(done.code, 0, done.stderr);
    assert.match(done.stdout, /^router.toml on gpu-a: reached by 000001-install, 5 steps$/m);
    assert.match(done.stdout, /^receipt .*-install-gpu-a-router.toml\/receipt.json$/m);
    assert.ok(await stream(), "a stream was cut by the restart");
    assert.equal(await Deno.readTextFile(file), next);
    assert.deepEqual(host.supervisor.happened.filter((one) => one === "restart"), ["restart"]);
    assert.equal((await seen(host.place.ports))["llm.primary"], "org/model");

    const backups = [...Deno.readDirSync(`${folder}/agent-state/backups/router.toml`)];
    assert.deepEqual(backups.map(({ name }) => name.split("-")[1]), [hex(old).slice(0, 12)]);
    const kept = `${folder}/agent-state/backups/router.toml/${backups[0]?.name}/router.toml`;
    assert.equal(await Deno.readTextFile(kept), old);

    const told = await receipts(home);
    const [refused, installed] = told;
    assert.deepEqual([told.length, refused.outcome, refused.code], [
      2,
      "refused",
      "config_changed",
    ]);
    assert.deepEqual(installed, {
      ...{ schema: 1, arrow: "install", host: "gpu-a", file: "router.toml", path: ROUTER },
      ...{ live_sha256: hex(old), home_sha256: hex(next), commit },
      generation: installed.generation,
      patch_sha256: refused.patch_sha256,
      ...{ outcome: "done", code: null, withheld: null, change: "000001-install", backup: null },
      ...{ at: installed.at, by: installed.by },
    });
    const again = await operator(...confirm);
    assert.match(again.stdout, /it is so already; nothing was done/);
    const adopted = await operator("home", "adopt", "router.toml", ...HERE);
    assert.match(adopted.stdout, /: no patch\n$/);
  });
});

Deno.test("config install: what does not run is put back, and what is wrong is not sent", async () => {
  await withGateway(async (rig) => {
    const { folder, operator, host, home } = rig;
    const file = `${folder}/router.toml`;
    const old = await Deno.readTextFile(file);
    const confirm = ["config", "install", "router.toml", ...HERE, "--confirm"];

    await review(rig, old.replace("[limits]", "[limits]\nno_such_key = 1"));
    const invalid = await operator(...confirm);
    assert.equal(invalid.code, 1);
    assert.match(invalid.stderr, /^gpu-a: config_invalid: .*limits/m);
    assert.ok(!host.supervisor.happened.includes("restart"));

    const secret = `anvil_${"S3cr".repeat(10)}abc`;
    await Deno.writeTextFile(`${rig.gateway}/router.toml`, `${old}# ${secret}\n`);
    const leak = await operator("config", "install", "./router.toml", ...HERE, "--confirm");
    assert.equal(leak.code, 2);
    assert.match(leak.stderr, /^router.toml:\d+:1: \$: secret_in_file: /);
    assert.ok(!`${leak.stdout}${leak.stderr}`.includes(secret));

    // Valid, and its port is taken: the router does not come up with it.
    using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = taken.addr as Deno.NetAddr;
    await review(rig, old.replace(/^data = .*$/m, `data = "127.0.0.1:${port}"`));
    const back = await operator(...confirm);
    assert.equal(back.code, 1);
    assert.match(
      back.stderr,
      /change_returned: 000001-install was taken back, everything is as it/,
    );
    assert.equal(await Deno.readTextFile(file), old);
    assert.equal((await seen(host.place.ports))["llm.primary"], "org/model");
    const [receipt] = await receipts(home);
    assert.deepEqual([receipt.outcome, receipt.code], ["refused", "change_returned"]);
  });
});

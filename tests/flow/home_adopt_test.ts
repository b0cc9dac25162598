import assert from "node:assert/strict";
import { sha256 } from "../../lib/host/digest.ts";
import { systemFiles } from "../../lib/host/files.ts";
import { commitFiles, gitIn } from "../fixtures/git_repo.ts";
import { operatorAt } from "../fixtures/operator_cli.ts";
import { snapshot } from "../fixtures/home_rig.ts";
import { TOKENS } from "../support/agent.ts";
import { type ArrowRig, arrowRig, ROUTER } from "../support/arrow_rig.ts";
import { runProgram } from "../../lib/terminal/program.ts";
import { NAME, operatorApp } from "../../roles/operator/app.ts";

const AT = ["--target", "host:gpu-a"];
const EDITED = ROUTER.replace("8080", "8090") + "\n# edited at night\n";

function adopt({ told }: ArrowRig, ...words: readonly string[]) {
  return told("home", "adopt", ...words, ...AT);
}

Deno.test("home adopt: a live edit becomes a patch that git applies to the materialised commit", async () => {
  await using rig = await arrowRig(undefined, { path: "our fleet" });
  await rig.write("router.toml", EDITED);
  const before = await snapshot(rig.repo);
  const { code, data } = await adopt(rig, "router.toml");
  assert.equal(code, 0);
  const { folder, patch, at, by, ...receipt } = data;
  assert.deepEqual(receipt, {
    ...{ changed: true, schema: 1, arrow: "adopt", host: "gpu-a", file: "router.toml" },
    path: "our fleet/hosts/gpu-a/router.toml",
    live_sha256: sha256(EDITED).toHex(),
    home_sha256: sha256(ROUTER).toHex(),
    generation: data["generation"],
    commit: rig.commit,
    patch_sha256: sha256(String(patch)).toHex(),
    ...{
      outcome: "done",
      code: null,
      withheld: null,
      change: null,
      backup: null,
      added: 3,
      removed: 1,
    },
  });
  assert.match(String(at), /^\d{4}-\d\d-\d\dT/);
  assert.equal(by, "tester");
  assert.deepEqual(await snapshot(rig.repo), before, "nothing is applied");
  const file = `${folder}/change.patch`;
  assert.equal(await Deno.readTextFile(file), patch);
  await gitIn(rig.repo, "apply", file);
  const applied = await Deno.readTextFile(`${rig.repo}/our fleet/hosts/gpu-a/router.toml`);
  assert.equal(applied, EDITED);
  // Reviewed, committed, materialized: there is nothing left to adopt.
  await commitFiles(rig.repo, {});
  const words = ["home", "materialize", "--repo", rig.repo, "--rev", "HEAD", "--path", "our fleet"];
  assert.equal((await rig.run(...words)).code, 0);
  const again = await rig.run("home", "adopt", "router.toml", ...AT);
  assert.match(again.out, /^gpu-a: router.toml is as commit [0-9a-f]{12} says: no patch\n$/);
  const { data: same } = await adopt(rig, "router.toml");
  assert.deepEqual([same["changed"], same["live_sha256"] === same["home_sha256"]], [false, true]);
});

Deno.test("home adopt: of a topology the host's view is taken out, and only its own", async () => {
  await using rig = await arrowRig();
  const canonical = await Deno.readTextFile(`${rig.repo}/topology.toml`);
  const view = (host: string) => `command_host = "${host}"\ncommand_runtime = "docker"\n`;
  await rig.write("topology.toml", view("gpu-a") + canonical);
  assert.equal((await adopt(rig, "topology.toml")).data["changed"], false);
  await rig.write("topology.toml", view("gpu-a") + canonical.replace("simulated", "other"));
  const { data } = await adopt(rig, "topology.toml");
  assert.match(String(data["patch"]), /^-fleet = "simulated"\n\+fleet = "other"$/m);
  assert.doesNotMatch(String(data["patch"]), /command_host/);
  for (const text of [canonical, view("gpu-b") + canonical]) {
    await rig.write("topology.toml", text);
    const { code, problems } = await adopt(rig, "topology.toml");
    assert.deepEqual([code, problems[0]?.["code"]], [1, "view_unknown"]);
  }
});

Deno.test("home adopt: a secret in the file is told by line, column and key, and never crosses", async () => {
  await using rig = await arrowRig();
  const secret = `anvil_${"Q1w2".repeat(10)}abc`;
  const ours = "our-own-words-of-old";
  await Deno.writeTextFile(`${rig.home}/tokens/other`, `${ours}\n`, { mode: 0o600 });
  const cases: readonly (readonly [text: string, place: string])[] = [
    [`${ROUTER}key = "${secret}"\n`, "listen.key:5:8"],
    [`${ROUTER}# Authorization: Bearer abcdefghijklmn\n`, "$:5:1"],
    [`${ROUTER}a = 1\npassword = "swordfish"\n`, "listen.password:6:13"],
    ["x = '''\n-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----'''\n", "x:1:1"],
    [`${ROUTER}salt = "q8Zt1RkP0vLx7YbN3mWc5HdJ9sGf2aEu"\n`, "listen.salt:5:9"],
    // Known by their hash alone: a client of the agent, and an entry of this operator's store.
    [`${ROUTER}a = "${TOKENS.reader}"\n`, "listen.a:5:6"],
    [`${ROUTER}b = "${ours}"\n`, "listen.b:5:6"],
  ];
  for (const [text, place] of cases) {
    await rig.write("router.toml", text);
    const said = await rig.run("home", "adopt", "router.toml", ...AT);
    const { problems } = await adopt(rig, "router.toml");
    const [first] = problems;
    assert.deepEqual(
      [said.code, first?.["code"], `${first?.["path"]}:${first?.["line"]}:${first?.["column"]}`],
      [2, "secret_in_file", place],
    );
    assert.match(said.err, /^gpu-a:router.toml:\d+:\d+: /);
    for (const one of [secret, ours, "swordfish", "q8Zt1RkP", TOKENS.reader, "abcdefghijklmn"]) {
      assert.ok(!`${said.out}${said.err}${JSON.stringify(problems)}`.includes(one), one);
    }
  }
  await assert.rejects(Deno.stat(`${rig.home}/arrows`), Deno.errors.NotFound);
});

Deno.test("home adopt: what is not declared, not read, absent or unreadable is refused", async () => {
  await using rig = await arrowRig({
    "hosts/gpu-a/router.toml": ROUTER,
    "hosts/gpu-a/notes.txt": "x\n",
  });
  const code = async (...words: string[]) => {
    const { code, problems } = await adopt(rig, ...words);
    return [code, problems[0]?.["code"]];
  };
  await rig.write("serves.toml", "schema = 1\n");
  assert.deepEqual(await code("serves.toml"), [1, "file_not_declared"]);
  assert.deepEqual(await code("clients.toml"), [1, "file_not_declared"]);
  assert.deepEqual(await code("notes.txt"), [1, "file_not_read"]);
  assert.deepEqual(await code("router.toml"), [1, "live_absent"]);
  await Deno.symlink("serves.toml", `${rig.live}/router.toml`);
  assert.deepEqual(await code("router.toml"), [1, "live_unreadable"]);
  await Deno.remove(`${rig.live}/router.toml`);
  await Deno.writeFile(`${rig.live}/router.toml`, new Uint8Array([0xff, 0x0a]));
  assert.deepEqual(await code("router.toml"), [1, "file_withheld"]);
  await Deno.writeFile(`${rig.live}/router.toml`, new Uint8Array([0xef, 0xbb, 0xbf, 0x0a]));
  assert.deepEqual(await code("router.toml"), [1, "live_garbled"]);
  const path = await rig.run("home", "adopt", "../router.toml", ...AT);
  assert.equal(path.code, 2);
  const other = await rig.told("home", "adopt", "router.toml", "--target", "host:gpu-b");
  assert.deepEqual([other.code, other.problems[0]?.["code"]], [1, "file_not_declared"]);
  const all = await rig.told("home", "adopt", "router.toml", "--target", "all");
  assert.deepEqual(all.problems[0]?.["code"], "one_host_only");
  const token = `${rig.home}/tokens/gpu-a`;
  await Deno.writeTextFile(token, TOKENS.reader);
  const denied = await rig.run("home", "adopt", "router.toml", ...AT);
  assert.deepEqual([denied.code, /scope_missing/.test(denied.err)], [1, true]);
});

Deno.test("home adopt: a file that is edited between reading and writing is told by its digests", async () => {
  await using rig = await arrowRig();
  await rig.write("router.toml", EDITED);
  const at = operatorAt(rig.home);
  let digests = 0;
  // The patch is made, and then the editor saves once more.
  const ports = {
    ...at.ports,
    sha256: (data: Uint8Array | string) => {
      if (data === EDITED && ++digests === 1) {
        Deno.writeTextFileSync(`${rig.live}/router.toml`, `${EDITED}# and more\n`);
      }
      return at.ports.sha256(data);
    },
  };
  let err = "";
  const build = { name: NAME, version: "0", build_digest: null, deno: "0", platform: "test" };
  const words = ["home", "adopt", "router.toml", ...AT];
  const code = await runProgram(operatorApp({ ...at, ports }), build, words, {
    out: () => {},
    err: (text) => err += text,
    isTerminal: false,
    color: false,
  });
  const [was, now] = [EDITED, `${EDITED}# and more\n`].map((text) =>
    sha256(text).toHex().slice(0, 12)
  );
  assert.equal(code, 1);
  assert.match(err, new RegExp(`^live_changed: router.toml was ${was} .* it is ${now} now`));
  await assert.rejects(Deno.stat(`${rig.home}/arrows`), Deno.errors.NotFound);
});

Deno.test("home adopt: receipts are private, and the oldest go", async () => {
  await using rig = await arrowRig();
  await rig.write("router.toml", EDITED);
  await Deno.mkdir(`${rig.home}/arrows`, { recursive: true });
  for (let number = 0; number < 300; number++) {
    const name = `2020010${number % 10}T${
      String(number).padStart(6, "0")
    }000Z-adopt-gpu-a-router.toml`;
    await Deno.mkdir(`${rig.home}/arrows/${name}`);
  }
  const { data } = await adopt(rig, "router.toml");
  const left = [...Deno.readDirSync(`${rig.home}/arrows`)];
  assert.equal(left.length, 256);
  assert.ok(left.some(({ name }) => String(data["folder"]).endsWith(name)), "the newest is kept");
  for (const name of ["change.patch", "receipt.json"]) {
    const privacy = await systemFiles.checkPrivate(`${data["folder"]}/${name}`);
    assert.equal(privacy.kind, Deno.build.os === "windows" ? "unknown" : "private");
  }
});

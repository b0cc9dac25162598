// needs: docker dockerd debootstrap tar ssh sshd ssh-keygen

import assert from "node:assert/strict";
import type { Manifest } from "../../lib/generation/manifest.ts";
import { writeArchive } from "../../lib/generation/write_archive.ts";
import { sha256 } from "../../lib/host/digest.ts";
import { joined } from "../../lib/testing/bundle_rig.ts";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { buildPrograms, type Content, manifestOf } from "../../scripts/bundle/contents.ts";
import { shLauncher, STABLE_LAUNCHER } from "../../scripts/bundle/launchers.ts";
import { type Config, readRoleTasks } from "../../scripts/bundle/role_tasks.ts";
import { TARGETS } from "../../scripts/bundle/runtimes.ts";
import { commandPath, missingFor } from "../../scripts/needs.ts";
import { operator } from "../fixtures/operator_cli.ts";
import { DockerRig } from "../support/docker_rig.ts";
import { freePort } from "../support/free_port.ts";
import { startSshd } from "../support/sshd_rig.ts";
import { SystemdRig } from "../support/systemd_rig.ts";
import { until } from "../support/wait.ts";

const ROOT = new URL("../../", import.meta.url);
const TARGET = TARGETS.find(({ name }) => name === "linux-x64");
const ignore = Deno.build.os !== "linux" || Deno.build.arch !== "x86_64" || Deno.uid() !== 0 ||
  missingFor(import.meta.url).length > 0;

/** Agents of this tree, with the container's own deno in place of a runtime of 100 MB. */
async function bundles(folder: string) {
  assert.ok(TARGET !== undefined);
  const config = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT))) as Config;
  const tasks = (await readRoleTasks(ROOT, config))
    .filter(({ role }) => role === "agent" || role === "receiver");
  const programs = await buildPrograms(ROOT, tasks, config.unstable, {
    commit: null,
    builtAt: null,
  });
  const contentsWith = (change: (script: string) => string) => {
    const contents = new Map<string, Content>();
    const put = (path: string, text: string, executable = false) =>
      contents.set(path, { bytes: new TextEncoder().encode(text), executable });
    put("runtime/deno", '#!/bin/sh\nexec /usr/local/bin/deno "$@"\n', true);
    put("launch/anvil", STABLE_LAUNCHER, true);
    for (const task of tasks) {
      put(`bin/anvil-${task.role}`, shLauncher(task, config.unstable, "linux"), true);
      put(`lib/anvil-${task.role}.js`, change(programs.scripts.get(task.role) ?? ""));
    }
    return contents;
  };
  const write = async (name: string, digest: string, change: (script: string) => string) => {
    const contents = contentsWith((script) =>
      change(script.replaceAll(programs.build.digest, digest))
    );
    const build = { digest, commit: null };
    const manifest: Manifest = manifestOf({ build }, TARGET, ["agent", "receiver"], contents);
    const contentOf = (path: string) => Promise.resolve(contents.get(path)?.bytes as Uint8Array);
    const archive = joined(await Array.fromAsync(writeArchive(sha256, manifest, contentOf)));
    await Deno.writeFile(`${folder}/${name}.tar`, archive);
    return { file: `${folder}/${name}.tar`, digest };
  };
  const same = (script: string) => script;
  const broken = (script: string) => `throw new Error("a bad release");\n${script}`;
  return {
    one: await write("one", "1".repeat(64), same),
    two: await write("two", "2".repeat(64), same),
    bad: await write("bad", "3".repeat(64), broken),
  };
}

Deno.test({
  name: "bootstrap: bare host, second version, bad version; OpenSSH and systemd",
  ignore,
  fn: async (t) => {
    await using dir = await tempDir();
    const started = await DockerRig.start();
    if (typeof started === "string") return console.warn(`skipped: ${started}`);
    await using docker = started;
    const { one, two, bad } = await bundles(dir.path);
    const installed = dir.at("receiver");
    await Deno.mkdir(installed);
    const untar = ["-xf", one.file, "-C", installed];
    assert.ok((await new Deno.Command("tar", { args: untar }).output()).success);
    const booted = await SystemdRig.start(docker, [`${installed}:/opt/anvil-receiver:ro`]);
    if (typeof booted === "string") return console.warn(`skipped: ${booted}`);
    await using host = booted;

    const port = freePort();
    await host.write(
      "/etc/anvil/receiver.toml",
      'schema = 1\nnode = "n1"\nbootstrap_authorized = true\nroot = "/opt/anvil"\n' +
        'state = "/var/lib/anvil/receiver"\nsupervisor = "systemd-user"\nunit = "anvil-agent.service"\n',
      "600",
    );
    await host.write(
      "/etc/anvil/agent.toml",
      `schema = 1\nnode = "n1"\nroles = []\nlisten = "127.0.0.1:${port}"\n` +
        'state = "/var/lib/anvil/agent"\n[auth]\nclients = "clients.toml"\n',
    );
    await host.write(
      "/root/.config/systemd/user/anvil-agent.service",
      "[Service]\nType=exec\nWorkingDirectory=/var/lib/anvil\n" +
        "ExecStart=/opt/anvil/anvil agent run /etc/anvil/agent.toml\nRestart=no\n",
    );
    await host.text("mkdir", "-p", "/var/lib/anvil/agent", "/opt/anvil");
    await host.text("cp", "/opt/anvil-receiver/launch/anvil", "/opt/anvil/anvil");
    await host.text("systemctl", "--user", "daemon-reload");
    const agent = "/opt/anvil-receiver/bin/anvil-agent";
    const add = `cd /etc/anvil && ${agent} tokens add clients.toml op --scope '*:read' --out token`;
    await host.text("sh", "-c", add);
    await Deno.mkdir(dir.at("tokens"), { mode: 0o700 });
    const token = await host.text("cat", "/etc/anvil/token");
    await Deno.writeTextFile(dir.at("tokens/n1"), `${token}\n`, { mode: 0o600 });

    // What an agent of this version answers there, as a host that has one would tell.
    await host.text(
      ...["systemd-run", "--user", "--unit=seed", "--working-directory=/var/lib/anvil"] as const,
      ...[agent, "run", "/etc/anvil/agent.toml"],
    );
    const health = async () => {
      const headers = { authorization: `Bearer ${token}`, "x-anvil-node": "n1" };
      const answer = await fetch(`http://127.0.0.1:${port}/health`, { headers });
      const said = await answer.json() as Readonly<Record<string, string>>;
      assert.equal(answer.status, 200, JSON.stringify(said));
      return said;
    };
    let why: unknown;
    const answers = () => health().then(() => true, (error) => (why = error, false));
    await until("the seed answers", answers, 60_000).catch((cause) => {
      throw new Error(`${why}`, { cause });
    });
    const catalogue = (await health())["catalogue_digest"] ?? "";
    await host.text("systemctl", "--user", "stop", "seed");

    const inside =
      `${commandPath("docker")} -H unix://${docker.socket} exec -i ${host.container} ` +
      "/opt/anvil-receiver/bin/anvil-receiver serve /etc/anvil/receiver.toml";
    await using sshd = await startSshd(dir, inside);
    await Deno.writeTextFile(
      dir.at("topology.toml"),
      'schema = 1\nfleet = "f"\noperator = "n1"\n[hosts.n1]\nos = "linux"\narch = "x64"\nroles = []\n' +
        'address = "127.0.0.1"\navailability = "continuous"\n' +
        `[[transports]]\nhost = "n1"\nkind = "agent"\nendpoint = "http://127.0.0.1:${port}"\n` +
        'expected_node = "n1"\ntoken = "n1"\n' +
        `[[transports]]\nhost = "n1"\nkind = "ssh"\naddress = "127.0.0.1"\nport = ${sshd.port}\n` +
        `user = "${sshd.user}"\nknown_host = "${sshd.knownHost}"\nrecovery_capable = true\n`,
    );
    await Deno.mkdir(dir.at("home"), { mode: 0o700 });
    const flags = [
      ...["--topology", dir.at("topology.toml"), "--tokens", dir.at("tokens")],
      ...["--target", "host:n1", "--key", sshd.key, "--json"],
    ];
    const boot = async (verb: string, ...more: string[]) => {
      const said = await operator(dir.at("home"), "bootstrap", verb, ...flags, ...more);
      // Nothing of the way is ever printed.
      for (const word of [token, sshd.key, "/opt/anvil", "/etc/anvil", `${sshd.port}`]) {
        assert.ok(!said.out.includes(word) && !said.err.includes(word), `${verb} prints ${word}`);
      }
      assert.notEqual(said.out, "", said.err);
      return { code: said.code, ...JSON.parse(said.out) };
    };
    const planOf = ({ file }: { file: string }) => [
      ...["--bundle", file, "--receiver-build", one.digest],
      ...["--expect-catalogue", catalogue, "--recover-via-ssh"],
    ];
    const apply = async (bundle: { file: string }) => {
      const planned = await boot("plan", ...planOf(bundle));
      assert.equal(planned.code, 0, JSON.stringify(planned));
      await Deno.writeTextFile(dir.at("plan.json"), JSON.stringify(planned.data.plan));
      const more = ["--plan", dir.at("plan.json"), "--confirm", "--accept-seconds", "20"];
      return await boot("apply", ...planOf(bundle), ...more);
    };
    const phases = (said: { data: { phases: { phase: string }[] } }) =>
      said.data.phases.map(({ phase }) => phase);
    const stop = () => host.text("systemctl", "--user", "stop", "anvil-agent");

    await t.step("missing scope: nobody is asked", async () => {
      assert.equal((await boot("plan", ...planOf(one))).problems[0].code, "scope_missing");
      await Deno.writeTextFile(
        dir.at("home/grants.toml"),
        'schema = 1\n[[grants]]\nscope = "node-admin:bootstrap"\nhosts = ["n1"]\n',
        { mode: 0o600 },
      );
    });

    await t.step("missing local authorisation: a plan says so, and is not applied", async () => {
      const allow = (word: string) =>
        host.text(
          ...["sed", "-i", `s/^bootstrap_authorized.*/bootstrap_authorized = ${word}/`] as const,
          "/etc/anvil/receiver.toml",
        );
      await allow("false");
      const refused = await apply(one);
      assert.deepEqual([refused.code, refused.problems[0].code], [1, "not_authorized"]);
      assert.equal(await host.text("sh", "-c", "ls /opt/anvil"), "anvil");
      await allow("true");
      const unasked = await boot("apply", ...planOf(one), "--plan", dir.at("plan.json"));
      assert.equal(unasked.problems[0].code, "receiver_mismatch"); // the configuration is another
    });

    await t.step("a plan is the same twice, and changes nothing", async () => {
      const plans = [await boot("plan", ...planOf(one)), await boot("plan", ...planOf(one))];
      assert.equal(plans[0].code, 0, JSON.stringify(plans[0]));
      assert.deepEqual(plans[0], plans[1]);
      assert.equal(await host.text("sh", "-c", "ls /opt/anvil"), "anvil");
      const unasked = planOf(one).filter((word) => word !== "--recover-via-ssh");
      assert.equal((await boot("plan", ...unasked)).problems[0].code, "ssh_not_asked_for");
      const wrong = planOf(one).map((word) => word === one.digest ? two.digest : word);
      assert.equal((await boot("plan", ...wrong)).problems[0].code, "receiver_mismatch");
    });

    await t.step("the bare host gets its agent", async () => {
      const done = await apply(one);
      assert.equal(done.code, 0, JSON.stringify(done));
      assert.equal(phases(done).at(-1), "accepted");
      assert.equal((await health())["build_digest"], one.digest);
      // From now on the agent is there, and the receiver is not asked.
      assert.equal((await boot("plan", ...planOf(two))).problems[0].code, "agent_available");
    });

    await t.step("a plan that was made for something else is refused", async () => {
      await stop();
      const other = await boot("apply", ...planOf(two), "--plan", dir.at("plan.json"), "--confirm");
      assert.deepEqual([other.code, other.problems[0].code], [1, "digest_mismatch"]);
    });

    await t.step("the second version, then a bad one that is rolled back", async () => {
      const done = await apply(two);
      assert.equal(done.code, 0, JSON.stringify(done));
      assert.equal((await health())["build_digest"], two.digest);
      await stop();
      const back = await apply(bad);
      assert.equal(back.code, 1, JSON.stringify(back));
      assert.equal(phases(back).at(-1), "rolled_back", JSON.stringify(back));
      assert.equal((await health())["build_digest"], two.digest);
      const receipts = [...Deno.readDirSync(dir.at("home/bootstrap/receipts"))];
      assert.equal(receipts.length, 3);
    });
  },
});

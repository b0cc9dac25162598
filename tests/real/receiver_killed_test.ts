// needs: ssh sshd ssh-keygen
/**
 * A bootstrap whose receiver is killed at every moment of its journal, over a real sshd. From the kill
 * on the host is away, so the attempt ends where it can; then the host is back, and the operator goes
 * on with the same operation.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Manifest } from "../../lib/generation/manifest.ts";
import { manifestDigest } from "../../lib/generation/manifest.ts";
import { sha256 } from "../../lib/host/digest.ts";
import { runProgram } from "../../lib/terminal/program.ts";
import { archiveOf, bundleOf } from "../../lib/testing/bundle_rig.ts";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { NAME, operatorApp } from "../../roles/operator/app.ts";
import { bundleScript } from "../../scripts/bundle/role_script.ts";
import { missingFor } from "../../scripts/needs.ts";
import { operatorAt } from "../fixtures/operator_cli.ts";
import { freePort } from "../support/free_port.ts";
import { startSshd } from "../support/sshd_rig.ts";

const ROOT = new URL("../../", import.meta.url);
const ignore = Deno.build.os !== "linux" || Deno.build.arch !== "x86_64" ||
  missingFor(import.meta.url).length > 0;
const CATALOGUE = "c".repeat(64);
const ID = `boot-${"7".repeat(24)}`;
const GRANTS = 'schema = 1\n[[grants]]\nscope = "node-admin:bootstrap"\nhosts = ["n1"]\n';
/** Looks at an agent that does not come, before it is given up. */
const LOOKS = "3";

/** Bundles by the number that is their build digest's only digit. 3 does not run. */
async function bundle(number: 1 | 2 | 3) {
  const plain = bundleOf({ "bin/anvil-agent!": `${number}\n` }, "0.1.0");
  const manifest: Manifest = {
    ...plain.manifest,
    build: { digest: `${number}`.repeat(64), commit: null },
    platform: { os: "linux", arch: "x64" },
    roles: ["agent"],
  };
  const archive = await archiveOf({ ...plain, manifest });
  return { archive, digest: manifestDigest(sha256, manifest) };
}

/** Notes which generation it started; one whose agent says 3 dies at once. */
const SYSTEMCTL = `#!/bin/sh
cd "$(dirname "$0")" || exit 1
case "$2" in
restart)
  agent=opt/generations/$(cat opt/current)/bin/anvil-agent
  rm -f running
  cat "$agent" >> starts
  [ "$(cat "$agent")" = 3 ] || cp "$agent" running ;;
is-active) exit 0 ;;
esac
`;

/** A host behind a real sshd, its agent played by this process, and an operator. */
async function rig(script: string) {
  const dir = await tempDir();
  const host = (name: string) => dir.at(`machine/${name}`);
  await Deno.mkdir(dir.at("machine"));
  await Deno.writeTextFile(dir.at("receiver.js"), script);
  await Deno.writeTextFile(
    host("receiver.toml"),
    `schema = 1\nnode = "n1"\nbootstrap_authorized = true\nroot = "${host("opt")}"\n` +
      `state = "${host("state")}"\nsupervisor = "systemd-user"\nunit = "anvil-agent.service"\n`,
    { mode: 0o600 },
  );
  await Deno.writeTextFile(host("systemctl"), SYSTEMCTL, { mode: 0o755 });
  const command = [Deno.execPath(), "run", "-A", "--quiet", "--no-check", "--no-config"];
  const sshd = await startSshd(
    dir,
    // Away is away at once: no runtime is started for it.
    [
      "test",
      "!",
      "-e",
      host("away"),
      "&&",
      "exec",
      ...command,
      dir.at("receiver.js"),
      dir.at("machine"),
    ].join(" "),
  );
  const port = freePort();
  await Deno.mkdir(dir.at("tokens"), { mode: 0o700 });
  await Deno.writeTextFile(dir.at("tokens/n1"), `anvil_${"a".repeat(43)}\n`, { mode: 0o600 });
  await Deno.writeTextFile(dir.at("grants.toml"), GRANTS, { mode: 0o600 });
  await Deno.writeTextFile(
    dir.at("topology.toml"),
    'schema = 1\nfleet = "f"\noperator = "n1"\n[hosts.n1]\nos = "linux"\narch = "x64"\nroles = []\n' +
      'address = "127.0.0.1"\navailability = "continuous"\n' +
      `[[transports]]\nhost = "n1"\nkind = "agent"\nendpoint = "http://127.0.0.1:${port}"\n` +
      'expected_node = "n1"\ntoken = "n1"\n' +
      `[[transports]]\nhost = "n1"\nkind = "ssh"\naddress = "127.0.0.1"\nport = ${sshd.port}\n` +
      `user = "${sshd.user}"\nknown_host = "${sshd.knownHost}"\nrecovery_capable = true\n`,
  );
  const running = () => Deno.readTextFile(host("running")).then((text) => text.trim(), () => null);

  /** The agent, up as long as the supervisor's file says so: a port that refuses otherwise. */
  let agent: Deno.HttpServer | null = null;
  const follow = async () => {
    const wanted = await running() !== null;
    if (wanted && agent === null) {
      agent = Deno.serve({ hostname: "127.0.0.1", port, onListen: () => {} }, async ({ url }) => {
        const headers = { "x-anvil-node": "n1" };
        if (new URL(url).pathname === "/livez") return new Response(null, { headers });
        const build_digest = (await running() ?? "0").repeat(64);
        const health = { node: "n1", version: "0.1.0", build_digest, protocol: 1 };
        return Response.json({ ...health, catalogue_digest: CATALOGUE }, { headers });
      });
    } else if (!wanted && agent !== null) {
      const ended = agent;
      agent = null;
      await ended.shutdown();
    }
  };

  const real = operatorAt(dir.at("home"));
  const { clock } = real.ports;
  // A second of waiting for the agent is a moment here, in which the agent may come or go.
  const sleep = async (ms: number, signal?: AbortSignal) => {
    await follow();
    await clock.sleep(ms === 1000 ? 5 : ms, signal);
  };
  const patient = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    sleep,
  };
  const app = operatorApp({
    ...real,
    ports: {
      ...real.ports,
      clock: patient,
    },
  });
  const build = { name: NAME, version: "0", build_digest: null, deno: "0", platform: "test" };
  const boot = async (verb: string, number: 1 | 2 | 3, ...more: string[]) => {
    await follow();
    let out = "";
    let err = "";
    const args = [
      ...["bootstrap", verb, "--topology", dir.at("topology.toml"), "--tokens", dir.at("tokens")],
      ...["--target", "host:n1", "--key", sshd.key, "--recover-via-ssh", "--json"],
      ...["--grants", dir.at("grants.toml")],
      ...["--bundle", dir.at(`${number}.tar`), "--receiver-build", "b".repeat(64)],
      ...["--expect-catalogue", CATALOGUE, ...more],
    ];
    const terminal = { isTerminal: false, color: false };
    const code = await runProgram(app, build, args, {
      ...terminal,
      out: (text) => out += text,
      err: (text) => err += text,
    });
    assert.notEqual(out, "", err);
    return { code, ...JSON.parse(out) };
  };
  return {
    dir,
    host,
    running,
    plan: async (number: 1 | 2 | 3) => {
      const planned = await boot("plan", number);
      assert.equal(planned.code, 0, JSON.stringify(planned));
      await Deno.writeTextFile(dir.at(`${number}.json`), JSON.stringify(planned.data.plan));
    },
    /** How it ended: the last phase of the receipt, or the code of a refusal. */
    apply: async (number: 1 | 2 | 3, id: string): Promise<string> => {
      const said = await boot(
        ...["apply", number, "--plan", dir.at(`${number}.json`), "--confirm"] as const,
        ...["--accept-seconds", LOOKS, "--operation", id],
      );
      return said.data?.phases.at(-1).phase ?? said.problems[0].code;
    },
    /** The agent dies, as before a bootstrap. */
    stopAgent: async () => {
      await Deno.remove(host("running"));
      await follow();
    },
    /** The host as it was when it was copied to `name`. */
    keep: (name: string) => copy(dir.at("machine"), dir.at(name)),
    restore: async (name: string) => {
      for (const one of ["machine", "home"]) {
        await Deno.remove(dir.at(one), { recursive: true }).catch(() => {});
      }
      await copy(dir.at(name), dir.at("machine"));
      await follow();
    },
    [Symbol.asyncDispose]: async () => {
      await agent?.shutdown();
      await sshd[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

async function copy(from: string, to: string): Promise<void> {
  assert.ok((await new Deno.Command("cp", { args: ["-a", from, to] }).output()).success);
}

/** How an apply that was killed may end when the host is back and it is given again. */
interface Case {
  readonly number: 2 | 3;
  /** Moments before this one are the other case's. */
  readonly from: string;
  readonly moments: number;
  readonly runs: string;
  readonly endings: readonly string[];
}

const CASES: Readonly<Record<string, Case>> = {
  "a good version": {
    number: 2,
    from: "",
    moments: 10,
    runs: "2",
    endings: ["accepted"],
  },
  "a bad version, on its way back": {
    number: 3,
    from: "after offer rollback",
    moments: 7,
    runs: "1",
    // The one before may answer already: then it is known by its build, and the receiver is not asked.
    endings: ["rolled_back"],
  },
};

async function killedEverywhere(name: string, script: string): Promise<void> {
  const wanted = CASES[name];
  assert.ok(wanted !== undefined);
  const { number, from, runs, endings } = wanted;
  await using at = await rig(script);
  const digests = new Map<string, string>();
  for (const one of [1, 2, 3] as const) {
    const { archive, digest } = await bundle(one);
    await Deno.writeFile(at.dir.at(`${one}.tar`), archive);
    digests.set(`${one}`, digest);
  }
  await at.plan(1);
  assert.equal(await at.apply(1, `boot-${"1".repeat(24)}`), "accepted");
  await at.stopAgent();
  await at.plan(number);
  await at.keep("before");

  // A life without a death names the moments.
  await Deno.writeTextFile(at.host("die"), "999");
  assert.equal(await at.apply(number, ID), number === 2 ? "accepted" : "rolled_back");
  const moments = (await Deno.readTextFile(at.host("moments"))).trim().split("\n");
  const first = from === "" ? 0 : moments.indexOf(from);
  assert.notEqual(first, -1, moments.join());

  const seen = new Map<string, number>();
  let deaths = 0;
  for (let moment = first; moment < moments.length; moment++) {
    await at.restore("before");
    await Deno.writeTextFile(at.host("die"), `${moment}`);
    const killed = await at.apply(number, ID);
    const told = `${moments[moment]}: ${killed}`;
    // Whoever got no answer promises nothing: the receipt stays open, or the agent settles it.
    assert.notEqual(await Deno.stat(at.host("away")).catch(() => null), null, `${told}: lives`);
    assert.ok(["planned", "installed", "rollback_started", ...endings].includes(killed), told);
    if (endings.includes(killed)) assert.equal(await at.running(), runs, told);
    await Deno.remove(at.host("away"));

    const end = await at.apply(number, ID);
    const ended = `${told}, then ${end}`;
    assert.ok(endings.includes(end), ended);
    assert.equal(await at.running(), runs, ended);
    const current = (await Deno.readTextFile(at.host("opt/current"))).trim();
    assert.equal(current, digests.get(runs), ended);
    seen.set(end, (seen.get(end) ?? 0) + 1);
    deaths++;
  }
  console.log(`receiver killed, ${name}: ${deaths} moments, ${JSON.stringify([...seen])}`);
  assert.equal(deaths, wanted.moments, moments.join());
}

Deno.test({
  name:
    "receiver over OpenSSH: kill -9 at every moment of its journal, then the same operation again",
  ignore,
  fn: async () => {
    const script = await bundleScript(ROOT, "tests/crash/receiver_child.ts");
    await Promise.all(Object.keys(CASES).map((name) => killedEverywhere(name, script)));
  },
});

/**
 * A host behind a real sshd: its receiver is the program of `tests/crash/receiver_child.ts`, its
 * supervisor a script, its agent this process; and an operator who bootstraps it.
 *
 * @module
 */

import assert from "node:assert/strict";
import { type Manifest, manifestDigest } from "../../lib/generation/manifest.ts";
import { sha256 } from "../../lib/host/digest.ts";
import { runProgram } from "../../lib/terminal/program.ts";
import { archiveOf, bundleOf } from "../../lib/testing/bundle_rig.ts";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { NAME, operatorApp } from "../../roles/operator/app.ts";
import { operatorAt } from "../fixtures/operator_cli.ts";
import { type NodeReply, problem } from "../fixtures/node.ts";
import { freePort } from "./free_port.ts";
import { startSshd } from "./sshd_rig.ts";

const CATALOGUE = "c".repeat(64);
const TOKEN = `anvil_${"a".repeat(43)}`;
const GRANTS = 'schema = 1\n[[grants]]\nscope = "node-admin:bootstrap"\nhosts = ["n1"]\n';
/** Looks at an agent that does not come, before it is given up. */
const LOOKS = "3";

/** Bundles by the number that is their build digest's only digit. 3 does not run. */
export async function numberedBundle(number: 1 | 2 | 3) {
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
export async function startHost(script: string, name = "machine", token = TOKEN) {
  const dir = await tempDir();
  const host = (file: string) => dir.at(`${name}/${file}`);
  await Deno.mkdir(dir.at(name));
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
      dir.at(name),
    ].join(" "),
  );
  const port = freePort();
  await Deno.mkdir(dir.at("tokens"), { mode: 0o700 });
  await Deno.writeTextFile(dir.at("tokens/n1"), `${token}\n`, { mode: 0o600 });
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

  /** What it says instead of the truth. */
  const agentSays = { node: "n1", status: null as number | null, build: null as string | null };
  /** The agent, up as long as the supervisor's file says so: a port that refuses otherwise. */
  let agent: Deno.HttpServer | null = null;
  const follow = async () => {
    const wanted = await running() !== null;
    if (wanted && agent === null) {
      agent = Deno.serve({ hostname: "127.0.0.1", port, onListen: () => {} }, async ({ url }) => {
        const headers = { "x-anvil-node": agentSays.node };
        if (new URL(url).pathname === "/livez") return new Response(null, { headers });
        if (agentSays.status !== null) {
          const { kind: _, body, ...rest } = problem(
            agentSays.status,
            agentSays.status === 401 ? "token_unknown" : "scope_missing",
          ) as Extract<
            NodeReply,
            { kind: "answer" }
          >;
          return new Response(body, { ...rest, headers: { ...rest.headers, ...headers } });
        }
        const build_digest = agentSays.build ?? (await running() ?? "0").repeat(64);
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
  /** Everything the operator printed. */
  const said: string[] = [];
  const boot = async (verb: string, number: 1 | 2 | 3 | null, ...more: string[]) => {
    await follow();
    let out = "";
    let err = "";
    const args = [
      ...["bootstrap", verb, "--topology", dir.at("topology.toml"), "--tokens", dir.at("tokens")],
      ...["--target", "host:n1", "--recover-via-ssh", "--json"],
      ...(more.includes("--key") ? [] : ["--key", sshd.key]),
      ...["--grants", dir.at("grants.toml")],
      ...(number === null ? [] : [
        ...["--bundle", dir.at(`${number}.tar`), "--receiver-build", "b".repeat(64)],
        ...["--expect-catalogue", CATALOGUE],
      ]),
      ...more,
    ];
    const terminal = { isTerminal: false, color: false };
    const code = await runProgram(app, build, args, {
      ...terminal,
      out: (text) => out += text,
      err: (text) => err += text,
    });
    said.push(out, err);
    assert.notEqual(out, "", err);
    return { code, ...JSON.parse(out) };
  };
  return {
    dir,
    host,
    said,
    boot,
    agentSays,
    way: { agent: port, ssh: sshd.port, key: sshd.key, strangerKey: sshd.strangerKey },
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
    /** The host as it was when it was copied to `kept`. */
    keep: (kept: string) => copy(dir.at(name), dir.at(kept)),
    restore: async (kept: string) => {
      for (const one of [name, "home"]) {
        await Deno.remove(dir.at(one), { recursive: true }).catch(() => {});
      }
      await copy(dir.at(kept), dir.at(name));
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

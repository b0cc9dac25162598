// needs: ssh sshd ssh-keygen

import assert from "node:assert/strict";
import { encodeFrame } from "../../lib/bootstrap/frames.ts";
import {
  knownHostsText,
  MOST_ANSWER_BYTES,
  readSshOutcome,
  sshArgv,
} from "../../lib/bootstrap/ssh.ts";
import type { Verb } from "../../lib/bootstrap/codes.ts";
import type { Json } from "../../lib/core/canonical_json.ts";
import { manifestDigest } from "../../lib/generation/manifest.ts";
import { sha256 } from "../../lib/host/digest.ts";
import { runProcess } from "../../lib/host/process.ts";
import { archiveOf, bundleOf, joined } from "../../lib/testing/bundle_rig.ts";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { missingFor } from "../../scripts/needs.ts";
import { freePort } from "../support/free_port.ts";
import { roleWords } from "../support/role_process.ts";
import { startSshd } from "../support/sshd_rig.ts";

const CANARY = "canary-0af3";
const BUNDLE = bundleOf({ "bin/anvil-agent!": "agent", "lib/a.js": "x" });
const ID = `boot-${"0".repeat(24)}`;
const ignore = Deno.build.os !== "linux" || missingFor(import.meta.url).length > 0;
const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

/** A receiver behind a real sshd. */
async function rig() {
  const dir = await tempDir();
  const folder = dir.at(CANARY);
  await Deno.mkdir(folder);
  const config = `schema = 1\nnode = "n1"\nbootstrap_authorized = true\nroot = "${folder}/opt"\n` +
    `state = "${folder}/state"\nsupervisor = "systemd-user"\nunit = "anvil-agent.service"\n`;
  await Deno.writeTextFile(`${folder}/receiver.toml`, config, { mode: 0o600 });
  // The flags of the task, with the folders of this test in place of the real ones.
  const words = (await roleWords("receiver", folder)).map((word) =>
    word.replaceAll("/etc/anvil", folder).replaceAll("/opt/anvil", folder)
      .replaceAll("/var/lib/anvil/receiver", folder)
  );
  const command = [Deno.execPath(), ...words, "serve", `${folder}/receiver.toml`].join(" ");
  const cache = Deno.env.get("DENO_DIR");
  const environment = cache === undefined ? "" : `DENO_DIR=${cache} `;
  const sshd = await startSshd(dir, `${environment}${command}`);
  const known = async (name: string, key: string) => {
    await Deno.writeTextFile(dir.at(name), knownHostsText("n1", key));
    return dir.at(name);
  };
  return {
    folder,
    strangerKey: sshd.strangerKey,
    way: {
      node: "n1",
      address: "127.0.0.1",
      port: sshd.port,
      user: sshd.user,
      identityFile: sshd.key,
      knownHostsFile: await known("known", sshd.knownHost),
      hostKeyType: "ssh-ed25519",
    },
    otherHost: await known("known-other", sshd.otherHost),
    configDigest: sha256(config).toHex(),
    [Symbol.asyncDispose]: async () => {
      await sshd[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

type Rig = Awaited<ReturnType<typeof rig>>;

/** Runs the client as it is, with `more` arguments behind the address. */
async function ssh(
  way: Rig["way"],
  stdin: Uint8Array,
  more: readonly string[] = [],
  before: readonly string[] = [],
) {
  const [program, ...args] = sshArgv(way);
  return await runProcess({
    argv: [program, ...before, ...args, ...more],
    env: { PATH: "/usr/bin:/bin", HOME: "/nonexistent", LC_CANARY: CANARY },
    stdin: Uint8Array.from(stdin),
    deadlineMs: 30_000,
    maxOutputBytes: MOST_ANSWER_BYTES,
  });
}

async function ask(
  way: Rig["way"],
  request: { readonly [key: string]: Json },
  rest = new Uint8Array(0),
) {
  const frame = encodeFrame({ protocol: 1, ...request });
  const outcome = await ssh(way, joined([frame, rest]));
  assert.ok("stdout" in outcome);
  assert.ok(!text(outcome.stdout).includes(CANARY) && !text(outcome.stderr).includes(CANARY));
  return readSshOutcome(request["verb"] as Verb, outcome);
}

const codeOf = (answer: object) => "code" in answer ? answer.code : "ok";

Deno.test({
  name: "receiver over OpenSSH: five verbs, and nothing else",
  ignore,
  fn: async (t) => {
    await using at = await rig();
    const { way, configDigest } = at;
    const digest = manifestDigest(sha256, BUNDLE.manifest);
    const archive = await archiveOf(BUNDLE);
    const stage = {
      verb: "stage",
      expected_node: "n1",
      operation_id: ID,
      plan_sha256: "d".repeat(64),
      config_digest: configDigest,
      manifest_digest: digest,
      bundle_length: archive.length,
    };

    await t.step("identity, stage, activate, status and rollback", async () => {
      const identity = await ask(way, { verb: "identity", expected_node: "n1" });
      assert.ok("ok" in identity && identity.ok, JSON.stringify(identity));
      assert.equal(identity.identity?.config_digest, configDigest);
      assert.equal(identity.identity?.build_digest, "source");
      assert.equal(codeOf(await ask(way, { verb: "identity", expected_node: "n2" })), "wrong_node");
      const staged = await ask(way, stage, archive as Uint8Array<ArrayBuffer>);
      assert.ok("ok" in staged && staged.ok, JSON.stringify(staged));
      assert.equal(await Deno.readTextFile(`${at.folder}/opt/generations/${digest}/lib/a.js`), "x");
      // No unit of that name runs here: the pointer moves, the supervisor's word is passed on.
      const activate = {
        verb: "activate",
        operation_id: ID,
        manifest_digest: digest,
        config_digest: configDigest,
      };
      const active = await ask(way, activate);
      assert.ok("phase" in active && active.phase === "activated", JSON.stringify(active));
      assert.equal(codeOf(active), "restart_failed");
      assert.equal(await Deno.readTextFile(`${at.folder}/opt/current`), `${digest}\n`);
      const rollback = {
        verb: "rollback",
        operation_id: ID,
        config_digest: configDigest,
        trigger_error_code: "restart_failed",
      };
      assert.equal(codeOf(await ask(way, rollback)), "no_prior_generation");
      const status = await ask(way, { verb: "status", operation_id: ID });
      assert.ok("phase" in status && status.phase === "manual_recovery", JSON.stringify(status));
    });

    await t.step("a command, a subsystem and an environment change nothing", async () => {
      const frame = encodeFrame({ protocol: 1, verb: "identity", expected_node: "n1" });
      for (const more of [["cat", "/etc/passwd"], ["rm -rf /"], ["receiver", "shell"]]) {
        const outcome = await ssh(way, frame, more);
        const answer = readSshOutcome("identity", outcome);
        assert.ok("ok" in answer && answer.ok, `${more}: ${JSON.stringify(answer)}`);
      }
      const sftp = await ssh(way, new TextEncoder().encode("\0\0\0\x05\x01\0\0\0\x03"), ["sftp"], [
        "-s",
      ]);
      assert.equal(codeOf(readSshOutcome("status", sftp)), "invalid_contract");
      const sent = await ssh(way, frame, [], [
        "-o",
        "SendEnv=LC_CANARY",
        "-o",
        "SetEnv=SSH_ORIGINAL_COMMAND=sh",
      ]);
      assert.equal(codeOf(readSshOutcome("identity", sent)), "ok");
      const shell = await ssh(way, new TextEncoder().encode("id\nexit\n"));
      assert.equal(codeOf(readSshOutcome("status", shell)), "invalid_contract");
    });

    await t.step("no terminal and no forwarding", async () => {
      const frame = encodeFrame({ protocol: 1, verb: "identity", expected_node: "n1" });
      // Asked for in earnest: without the words of ours that say no.
      const [program, ...args] = sshArgv(way).filter((word) => word !== "-T");
      const asked = args.map((word) => word === "RequestTTY=no" ? "RequestTTY=force" : word);
      const terminal = await runProcess({
        argv: [program ?? "", "-o", "LogLevel=INFO", ...asked],
        env: { PATH: "/usr/bin:/bin", HOME: "/nonexistent", TERM: "dumb" },
        stdin: Uint8Array.from(frame),
        deadlineMs: 30_000,
        maxOutputBytes: MOST_ANSWER_BYTES,
      });
      assert.ok("stderr" in terminal);
      assert.match(text(terminal.stderr), /PTY allocation request failed/);
      const forwarded = await ssh(way, frame, [], [
        ...["-o", "ClearAllForwardings=no", "-o", "ExitOnForwardFailure=yes"],
        ...["-R", `${freePort()}:127.0.0.1:9`],
      ]);
      assert.ok(forwarded.kind === "exited" && forwarded.code === 255);
      assert.equal(forwarded.stdout.length, 0);
    });

    await t.step("another host key and another user key get nowhere", async () => {
      const request = { verb: "identity", expected_node: "n1" };
      const other = await ask({ ...way, knownHostsFile: at.otherHost }, request);
      assert.equal(codeOf(other), "transport_failed");
      const stranger = await ask({ ...way, identityFile: at.strangerKey }, request);
      assert.equal(codeOf(stranger), "transport_failed");
      assert.equal(codeOf(await ask({ ...way, port: freePort() }, stage)), "may_have_executed");
    });

    await t.step("a configuration that others may read, or that has two names", async () => {
      const config = `${at.folder}/receiver.toml`;
      const request = { verb: "identity", expected_node: "n1" };
      await Deno.chmod(config, 0o644);
      assert.equal(codeOf(await ask(way, request)), "config_unsafe");
      await Deno.chmod(config, 0o600);
      await Deno.link(config, `${at.folder}/second`);
      assert.equal(codeOf(await ask(way, request)), "config_unsafe");
      await Deno.remove(`${at.folder}/second`);
      assert.equal(codeOf(await ask(way, request)), "ok");
    });
  },
});

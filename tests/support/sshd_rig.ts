/**
 * A real sshd on loopback whose one key runs one command and nothing else.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { TempDir } from "../../lib/testing/temp_dir.ts";
import { commandPath } from "../../scripts/needs.ts";
import { freePort } from "./free_port.ts";
import { until } from "./wait.ts";

/** It, and how it is reached. */
export interface SshdRig extends AsyncDisposable {
  readonly port: number;
  /** The account: the one this test runs as. */
  readonly user: string;
  /** The private key that is let in, and one that is not. */
  readonly key: string;
  readonly strangerKey: string;
  /** The host's key as a topology pins it, and one that it does not have. */
  readonly knownHost: string;
  readonly otherHost: string;
}

/** Starts one whose keys and files are in `dir`; `command` is what every login runs. */
export async function startSshd(dir: TempDir, command: string): Promise<SshdRig> {
  const port = freePort();
  for (const name of ["host", "other", "user", "stranger"]) {
    const args = ["-q", "-t", "ed25519", "-N", "", "-f", dir.at(name)];
    assert.ok((await new Deno.Command(commandPath("ssh-keygen") ?? "", { args }).output()).success);
  }
  const key = await Deno.readTextFile(dir.at("user.pub"));
  await Deno.writeTextFile(
    dir.at("authorized_keys"),
    `command="${command.replaceAll('"', '\\"')}",restrict ${key}`,
    { mode: 0o600 },
  );
  const config = [
    `ListenAddress 127.0.0.1:${port}`,
    `HostKey ${dir.at("host")}`,
    `AuthorizedKeysFile ${dir.at("authorized_keys")}`,
    `PidFile ${dir.at("pid")}`,
    "AuthenticationMethods publickey",
    "PermitRootLogin prohibit-password",
    "UsePAM no",
    "StrictModes no", // the folder is below /tmp
    "Subsystem sftp internal-sftp",
    "AcceptEnv *",
    "SetEnv SHLVL=2", // bash reads the account's own .bashrc for sshd otherwise, whatever that takes
  ];
  await Deno.writeTextFile(dir.at("sshd_config"), config.map((line) => `${line}\n`).join(""));
  if (Deno.uid() === 0) await Deno.mkdir("/run/sshd", { recursive: true, mode: 0o755 });
  const sshd = new Deno.Command(commandPath("sshd") ?? "", {
    args: ["-D", "-e", "-f", dir.at("sshd_config")],
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const errors = new Response(sshd.stderr).text();
  await until("sshd listens", async () => {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return true;
    } catch {
      return false;
    }
  }, 20_000);
  const publicKey = async (name: string) =>
    (await Deno.readTextFile(dir.at(`${name}.pub`))).split(" ").slice(0, 2).join(" ");
  const { stdout } = await new Deno.Command("id", { args: ["-un"] }).output();
  return {
    port,
    user: new TextDecoder().decode(stdout).trim(),
    key: dir.at("user"),
    strangerKey: dir.at("stranger"),
    knownHost: await publicKey("host"),
    otherHost: await publicKey("other"),
    [Symbol.asyncDispose]: async () => {
      sshd.kill("SIGTERM");
      await sshd.status;
      await errors;
    },
  };
}

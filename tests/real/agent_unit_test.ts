// needs: dockerd docker debootstrap tar
import assert from "node:assert/strict";
import { missingFor } from "../../scripts/needs.ts";
import { agentClientsToml, TOKENS } from "../support/agent.ts";
import { DockerRig } from "../support/docker_rig.ts";
import { freePort } from "../support/free_port.ts";
import { roleWords } from "../support/role_process.ts";
import { SystemdRig } from "../support/systemd_rig.ts";
import { until } from "../support/wait.ts";

const missing = missingFor(import.meta.url);
const UNIT = new URL("../../fleet/units/systemd/anvil-agent.service", import.meta.url);

/** Where deno keeps what was fetched. */
async function denoDir(): Promise<string> {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  return JSON.parse(new TextDecoder().decode(stdout)).denoDir;
}

const ROOT = new URL("../../", import.meta.url).pathname.replace(/\/$/, "");
/** Where the source is inside: the unit hides /home and has a /tmp of its own. */
const SOURCE = "/opt/source";

/** The program that the unit names: the role from source, with its task's own flags. */
async function launcher(): Promise<string> {
  const words = (await roleWords("agent", "/etc/anvil"))
    .map((word) => word.replace(ROOT, SOURCE));
  const quoted = words.map((word) => `'${word}'`).join(" ");
  return `#!/bin/sh\nexport DENO_DIR=/opt/deno\nexec /usr/local/bin/deno ${quoted} "$@"\n`;
}

Deno.test({
  name: "real, agent: its unit under systemd: starts, sees, may do no more, stops clean",
  ignore: missing.length > 0 || Deno.build.os !== "linux" || Deno.uid() !== 0,
  fn: async () => {
    await using docker = await skipped(DockerRig.start());
    if (docker === null) return;
    await using rig = await skipped(
      SystemdRig.start(docker, [`${await denoDir()}:/opt/deno:ro`, `${ROOT}:${SOURCE}:ro`]),
    );
    if (rig === null) return;
    const port = freePort();
    await rig.write("/usr/bin/anvil-agent", await launcher(), "755");
    await rig.text("useradd", "--system", "--shell", "/usr/sbin/nologin", "anvil-agent");
    await rig.write(
      "/etc/anvil/agent.toml",
      `schema = 1\nnode = "gpu-a"\nroles = ["serving"]\nlisten = "127.0.0.1:${port}"\n` +
        'state = "/var/lib/anvil/agent"\n[auth]\nclients = "clients.toml"\n',
    );
    await rig.write("/etc/anvil/clients.toml", agentClientsToml(), "600");
    await rig.text("chown", "anvil-agent:", "/etc/anvil/clients.toml");
    await rig.write("/etc/systemd/system/anvil-agent.service", await Deno.readTextFile(UNIT));
    await rig.text("systemctl", "daemon-reload");
    await rig.text("systemctl", "start", "anvil-agent").catch(async (error: Error) => {
      const log = await rig.text("journalctl", "-n", "30", "-o", "cat", "--no-pager");
      throw new Error(`${error.message}\n${log}`);
    });
    const ask = async (name: string, input: unknown) => {
      const answer = await fetch(`http://127.0.0.1:${port}/v1/operations/${name}`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${TOKENS.all}`,
          "x-anvil-node": "gpu-a",
          "content-type": "application/json",
        },
        body: JSON.stringify({ input }),
      });
      return (await answer.json()).result;
    };
    await until("the agent answers", async () => {
      const alive = await fetch(`http://127.0.0.1:${port}/livez`).catch(() => null);
      await alive?.body?.cancel();
      return alive?.status === 200;
    }, 60_000);
    const facts = await ask("node.facts", {});
    for (const name of ["memory", "disk", "listening"]) {
      assert.equal(facts[name].why, null, `${name}: ${JSON.stringify(facts[name])}`);
    }
    const { owner } = await ask("node.port-owner", { port });
    assert.equal(owner.why, null, JSON.stringify(owner));
    assert.match(owner.value[0].command, /run \/etc\/anvil\/agent\.toml$/);
    const { files } = await ask("config.inventory", {});
    const states = (files as { kind: string; state: string }[]).map((one) => one.state);
    assert.deepEqual(states, ["present", "present", "absent", "absent", "absent"]);
    const pid = await rig.text("systemctl", "show", "-P", "MainPID", "anvil-agent");
    const status = await rig.text("cat", `/proc/${pid}/status`);
    assert.match(status, /^CapEff:\s+0+$/m);
    assert.match(status, /^NoNewPrivs:\s+1$/m);
    assert.match(status, /^Seccomp:\s+2$/m);
    await rig.text("systemctl", "stop", "anvil-agent");
    const ended = await rig.text("systemctl", "show", "-P", "Result", "anvil-agent");
    const code = await rig.text("systemctl", "show", "-P", "ExecMainStatus", "anvil-agent");
    assert.deepEqual([ended, code], ["success", "0"]);
  },
});

/** Null, said aloud, where a rig cannot be had here. */
async function skipped<Rig extends object>(starting: Promise<Rig | string>): Promise<Rig | null> {
  const rig = await starting;
  if (typeof rig !== "string") return rig;
  console.log(`skipped: ${rig}`);
  return null;
}
